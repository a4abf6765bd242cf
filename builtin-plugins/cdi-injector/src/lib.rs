//! Gives containers the CDI devices that their pods ask for by annotation, as far as the node's
//! administrator allows it. The runtime applies them where it can; elsewhere the component resolves
//! them itself, from the CDI files, into what NRI can express.
//!
//! `docs/components/cdi-injector.md` tells users about it. Here:
//!
//! * [`spec`]: what CDI files say;
//! * [`index`], `catalog` and `watch`: the devices of all files, kept up to date by a thread, so that
//!   no request waits for a file;
//! * `annotation` and `allow`: what a pod asks for, and whether it may have it;
//! * `runtime`: who applies it; `edits`, `host_node` and `translate`: the component's own way;
//! * `health` and `commands`: what administrators are shown, and can ask.

mod allow;
mod annotation;
mod catalog;
mod commands;
mod component;
mod edits;
mod health;
mod host_node;
pub mod index;
mod problems;
mod runtime;
mod settings;
pub mod spec;
mod translate;
mod watch;

pub use allow::RawAllowance;
pub use component::CdiInjector;
pub use settings::{Mode, OnUnsupported, RawSettings};
