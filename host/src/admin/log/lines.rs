//! The lines that are kept of each component, and how they come here: as a layer of the host's log.
//!
//! What is about a component carries its name in the field `component`, whoever says it. Components'
//! own threads log too: each component has a lock of its own, which is held for moments.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::fields::{COMPONENT, Fields};
use crate::lock::lock;

/// Most lines that are kept of one component.
pub const MAX_LINES: usize = 200;
/// Most bytes of text that are kept of one component.
pub const MAX_BYTES: usize = 64 << 10;
/// Longest text of a line in bytes; the rest of it is cut off.
pub const MAX_LINE: usize = 8 << 10;
/// Most components that lines are kept of: more than a node has. Names come and go with the
/// configuration; the one that has been silent for longest makes way.
const MAX_COMPONENTS: usize = 64;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When it was logged, in microseconds since 1970. Later lines have greater ones: of several at
    /// once, and of those after the clock was set back, it is a little more than the time.
    pub time_us: u64,
    /// The component's index and name.
    pub component: String,
    /// error, warn, info, debug or trace.
    pub level: Cow<'static, str>,
    /// The message and the fields that came with it.
    pub text: String,
}

/// The last lines of each component. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LogLines(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    newest_us: AtomicU64,
    rings: RwLock<BTreeMap<String, Arc<Mutex<Ring>>>>,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<Line>>,
    bytes: usize,
    newest_us: u64,
    /// Time of the newest line that has made way; 0: none has.
    dropped_us: u64,
}

impl LogLines {
    /// The time of the newest line of all.
    ///
    /// A component gets the time of a line while its lines are locked: who asks for this first, and
    /// then for [`components`](Self::components) and their lines, has all that are not newer.
    pub(super) fn newest_us(&self) -> u64 {
        self.0.newest_us.load(Ordering::Relaxed)
    }

    /// The components that there are lines of.
    pub(super) fn components(&self) -> Vec<String> {
        let rings = self.0.rings.read().unwrap_or_else(PoisonError::into_inner);
        rings.keys().cloned().collect()
    }

    /// The lines of a component after a time, but none after `newest_us`, oldest first; and whether
    /// others, also after it, have made way for them.
    pub(super) fn after(
        &self,
        component: &str,
        time_us: u64,
        newest_us: u64,
    ) -> (Vec<Arc<Line>>, bool) {
        // A line of a host before this one, and the clock was set back: all are after it.
        let time_us = if time_us <= newest_us { time_us } else { 0 };
        let rings = self.0.rings.read().unwrap_or_else(PoisonError::into_inner);
        let Some(ring) = rings.get(component) else {
            return (Vec::new(), false);
        };
        let ring = lock(ring);
        let first = ring.lines.partition_point(|line| line.time_us <= time_us);
        let end = ring.lines.partition_point(|line| line.time_us <= newest_us);
        let lines = ring.lines.range(first..end).cloned().collect();
        (lines, ring.dropped_us > time_us)
    }

    fn keep(&self, component: String, level: Level, mut text: String) {
        text.truncate(text.floor_char_boundary(MAX_LINE));
        // What it has room for beyond its end is not counted.
        text.shrink_to_fit();
        let ring = self.ring(&component);
        let mut ring = lock(&ring);
        ring.push(Line {
            time_us: self.next_time_us(),
            component,
            level: Cow::Borrowed(name(level)),
            text,
        });
    }

    fn ring(&self, component: &str) -> Arc<Mutex<Ring>> {
        {
            let rings = self.0.rings.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(ring) = rings.get(component) {
                return Arc::clone(ring);
            }
        }
        let mut rings = self.0.rings.write().unwrap_or_else(PoisonError::into_inner);
        if rings.len() >= MAX_COMPONENTS && !rings.contains_key(component) {
            let silent = rings.iter().min_by_key(|(_, ring)| lock(ring).newest_us);
            if let Some(silent) = silent.map(|(component, _)| component.clone()) {
                rings.remove(&silent);
            }
        }
        Arc::clone(rings.entry(component.to_owned()).or_default())
    }

    /// Now, or what comes after the newest line.
    fn next_time_us(&self) -> u64 {
        let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let now_us = u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX);
        let after = |newest_us: u64| now_us.max(newest_us + 1);
        let newest_us = &self.0.newest_us;
        let before = newest_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |newest_us| {
            Some(after(newest_us))
        });
        after(before.unwrap_or_else(|newest_us| newest_us))
    }
}

impl Ring {
    fn push(&mut self, line: Line) {
        self.newest_us = line.time_us;
        self.bytes += line.text.len();
        self.lines.push_back(Arc::new(line));
        while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= oldest.text.len();
            self.dropped_us = oldest.time_us;
        }
    }
}

fn name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

impl<S: Subscriber> Layer<S> for LogLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().fields().field(COMPONENT).is_none() {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(component) = fields.component {
            self.keep(component, *event.metadata().level(), fields.text);
        }
    }
}

#[cfg(test)]
mod tests;
