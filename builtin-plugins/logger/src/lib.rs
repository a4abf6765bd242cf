//! Writes what happens to pods and containers as lines of JSON.
//!
//! `docs/components/logger.md` tells users about lines and settings. A runtime waits for each
//! event, so the way of an event has two parts:
//!
//! * on the thread that the runtime waits for, `component` copies the encoded request into
//!   `queue`, or counts it as dropped if there is no room;
//! * on a thread of its own, `writer` takes events out, `line` decodes each, hides what
//!   `redact` names and makes it JSON, and `sink` writes it.

mod component;
mod events;
mod line;
mod queue;
mod redact;
mod settings;
mod sink;
mod synchronized;
mod writer;

pub use component::Logger;
pub use settings::RawSettings;
