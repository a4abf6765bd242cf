//! Writes what happens to pods and containers, as JSON, YAML or text.
//!
//! `docs/components/logger.md` tells users about records and settings. A runtime waits for each
//! event, so the way of an event has two parts:
//!
//! * on the thread that the runtime waits for, `component` asks `selection` whether the pod is of
//!   interest, and copies the encoded request into `queue`, or counts it as dropped if there is no
//!   room;
//! * on a thread of its own, `writer` takes events out, `render` decodes each, hides what `redact`
//!   names and gives it a `format`, and `sink` or `file` writes it.
//!
//! `demonstration` makes the adjustments that show what a component can do.

mod component;
mod demonstration;
mod events;
mod file;
mod format;
mod message;
mod names;
mod patterns;
mod queue;
mod redact;
mod render;
mod selection;
mod settings;
mod sink;
mod synchronized;
mod writer;

pub use component::Logger;
pub use format::Format;
pub use settings::RawSettings;
