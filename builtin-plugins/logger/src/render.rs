//! From an event to what is written of it.

use std::fmt::{self, Display};
use std::time::SystemTime;

use nri_plugin_api::Method;
use serde::Serialize;

use crate::format::{self, Format};
use crate::message::Loggable;
use crate::queue::{Entry, Event};
use crate::redact::Redaction;
use crate::synchronized::Synchronized;

/// What is left of an event that is too long.
#[derive(Serialize)]
struct Truncated<T> {
    #[serde(flatten)]
    names: T,
    truncated: bool,
    /// How long the record would have been.
    bytes: usize,
}

/// An event that is not what its method promises.
#[derive(Serialize)]
struct Unreadable {
    error: String,
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error={:?}", self.error)
    }
}

#[derive(Serialize)]
struct Dropped {
    count: u64,
}

impl Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "count={}", self.count)
    }
}

/// How the request of one method becomes a record.
pub(crate) type Render = fn(&Renderer, SystemTime, &[u8]) -> Vec<u8>;

/// Makes records, which have no line break at their end, and none in them but in YAML.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    pub(crate) format: Format,
    /// The length of the longest record, in bytes.
    pub(crate) max_bytes: usize,
    pub(crate) redaction: Redaction,
}

impl Renderer {
    /// The record of an event.
    pub(crate) fn event(&self, entry: &Entry) -> Vec<u8> {
        let time = entry.time;
        match &entry.event {
            Event::Request { render, payload } => render(self, time, payload),
            Event::Synchronized(names) => self.synchronized(time, names),
        }
    }

    /// The record that tells of events without one.
    pub(crate) fn dropped(&self, time: SystemTime, count: u64) -> Vec<u8> {
        self.short(time, "dropped", &Dropped { count })
    }

    fn synchronized(&self, time: SystemTime, names: &Synchronized) -> Vec<u8> {
        let event = Method::Synchronize.name();
        self.bounded(time, event, names, || names.counts())
    }

    /// The record of a request, whose message is `M`.
    pub(crate) fn request<M: Loggable>(&self, time: SystemTime, payload: &[u8]) -> Vec<u8> {
        let event = M::METHOD.name();
        match M::parse_from_bytes(payload) {
            Ok(mut message) => {
                message.redact(&self.redaction);
                self.bounded(time, event, &message, || message.names())
            }
            Err(error) => {
                let error = error.to_string();
                self.short(time, event, &Unreadable { error })
            }
        }
    }

    /// The record with all, or with the names only if it would be too long or is a line of text.
    fn bounded<N: Serialize + Display>(
        &self,
        time: SystemTime,
        event: &str,
        all: impl Serialize,
        names: impl FnOnce() -> N,
    ) -> Vec<u8> {
        let Some(full) = self.structured(time, event, all) else {
            return format::text(time, event, names());
        };
        if full.len() <= self.max_bytes {
            return full;
        }
        let truncated = Truncated {
            names: names(),
            truncated: true,
            bytes: full.len(),
        };
        self.structured(time, event, truncated).unwrap_or(full)
    }

    /// A record that is never too long.
    fn short<T: Serialize + Display>(&self, time: SystemTime, event: &str, all: &T) -> Vec<u8> {
        let structured = self.structured(time, event, all);
        structured.unwrap_or_else(|| format::text(time, event, all))
    }

    /// A record in a format that has all of a message.
    fn structured(&self, time: SystemTime, event: &str, all: impl Serialize) -> Option<Vec<u8>> {
        match self.format {
            Format::Json => Some(format::json(time, event, all)),
            Format::Yaml => Some(format::yaml(time, event, all)),
            Format::Text => None,
        }
    }
}
