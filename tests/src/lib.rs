//! What the tests of nri-host stand on.

pub mod artifacts;
pub mod cache;
pub mod containerd;
pub mod debian;
pub mod fake_runtime;
pub mod go;
pub mod host;
pub mod kubernetes;
pub mod patience;
pub mod pods;
pub mod prometheus;
pub mod reference;
pub mod terminal;
pub mod tier;
