//! Against real containerd with real containers.

mod cdi;
mod components;
mod doctor;
mod documented;
mod faults;
mod harness;
mod hooks;
mod in_a_pod;
mod injected;
mod log;
mod logger;
mod updates;
