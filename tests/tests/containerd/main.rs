//! Against real containerd with real containers.

mod harness;
