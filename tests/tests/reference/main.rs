//! Against the reference implementation of the runtime's side of NRI.

mod harness;
