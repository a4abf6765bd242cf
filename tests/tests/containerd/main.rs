//! Against real containerd with real containers.

mod cdi;
mod components;
mod faults;
mod harness;
mod hooks;
mod injected;
mod log;
mod logger;
mod updates;
