//! The real `nri-host doctor` on nodes that were prepared: each has one thing wrong, and the advice
//! is followed where it is about files.

#![expect(clippy::unwrap_used, reason = "a test may end by a panic")]

mod node;

mod devices;
mod host;
mod manners;
mod requirements;
mod runtimes;
mod socket;
mod tables;
