//! `[component.config]`.

use std::path::PathBuf;

use nri_plugin_api::{ConfigMistakes, Error, MethodSet};
use serde::Deserialize;

use crate::events;
use crate::queue::Limits;
use crate::sink::{FileSink, HostLog};

/// Room for nearly every event.
const DEFAULT_MAX_EVENT_BYTES: usize = 32 << 10;

/// Below it there is no room for names and ids.
const MIN_MAX_EVENT_BYTES: usize = 1 << 10;

/// Some seconds of a very busy node.
const DEFAULT_QUEUE: usize = 1024;

const MAX_QUEUE: usize = 1 << 20;

const DEFAULT_QUEUE_BYTES: usize = 16 << 20;

/// The settings as they are written. `docs/components/logger.md` has more about each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawSettings {
    /// Where lines are appended. By default they go to the host's log.
    pub file: Option<PathBuf>,
    /// The events to write: names, or the groups `all`, `pod` and `container`, in none of which is
    /// `ValidateContainerAdjustment`.
    pub events: Vec<String>,
    /// How many events may wait to be written.
    pub queue: usize,
    /// How many bytes the events that wait may have, as the runtime encoded them.
    pub queue_bytes: usize,
    /// How long a line may be, in bytes; in the host's log it is 8 KiB at most. Of longer events only
    /// names and ids are written.
    pub max_event_bytes: usize,
}

impl Default for RawSettings {
    fn default() -> Self {
        Self {
            file: None,
            events: vec!["all".to_owned()],
            queue: DEFAULT_QUEUE,
            queue_bytes: DEFAULT_QUEUE_BYTES,
            max_event_bytes: DEFAULT_MAX_EVENT_BYTES,
        }
    }
}

/// The settings, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `None`: the host's log.
    pub(crate) file: Option<FileSink>,
    pub(crate) methods: MethodSet,
    pub(crate) limits: Limits,
    pub(crate) max_event_bytes: usize,
}

impl Settings {
    /// Checks the settings, and opens the file.
    ///
    /// # Errors
    ///
    /// All mistakes at once, by key.
    pub(crate) fn check(raw: &RawSettings) -> Result<Self, Error> {
        let mut mistakes = ConfigMistakes::new();
        let methods = methods(&raw.events, &mut mistakes);
        if !(1..=MAX_QUEUE).contains(&raw.queue) {
            mistakes.add("queue", format!("expected 1 to {MAX_QUEUE}"));
        }
        if raw.queue_bytes == 0 {
            mistakes.add("queue_bytes", "expected at least 1");
        }
        if raw.max_event_bytes < MIN_MAX_EVENT_BYTES {
            let message = format!("expected at least {MIN_MAX_EVENT_BYTES}");
            mistakes.add("max_event_bytes", message);
        }
        let file = match raw.file.as_deref().map(FileSink::open).transpose() {
            Ok(file) => file,
            Err(error) => {
                mistakes.add("file", Error::from(error).to_string());
                None
            }
        };
        mistakes.into_result()?;
        let max_line = file.as_ref().map_or(HostLog::MAX_LINE, |_| usize::MAX);
        Ok(Self {
            file,
            methods,
            limits: Limits {
                entries: raw.queue,
                bytes: raw.queue_bytes,
            },
            max_event_bytes: raw.max_event_bytes.min(max_line),
        })
    }
}

fn methods(names: &[String], mistakes: &mut ConfigMistakes) -> MethodSet {
    if names.is_empty() {
        mistakes.add("events", "names no event: leave it out to have \"all\"");
    }
    let mut methods = Vec::new();
    for (i, name) in names.iter().enumerate() {
        match events::parse(name) {
            Ok(named) => methods.extend(named.iter()),
            Err(error) => mistakes.add(format!("events[{i}]"), error.to_string()),
        }
    }
    methods.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::RawSettings;

    #[test]
    fn the_drop_in_shows_every_setting_with_its_default() {
        let drop_in = include_str!("../../../config/conf.d/90-logger.toml");
        let (_, settings) = drop_in.split_once("\n[component.config]\n").unwrap();
        let keys = |line: &&str| line.starts_with(|c: char| c.is_ascii_lowercase());
        let lines = settings.lines().filter_map(|line| line.strip_prefix('#'));
        let shown: String = lines.filter(keys).map(|line| format!("{line}\n")).collect();
        let mut shown: RawSettings = toml::from_str(&shown).unwrap();
        // The default is no file; the key shows where one could be.
        assert!(shown.file.take().is_some());
        assert_eq!(shown, RawSettings::default());
        for key in ["events", "queue", "queue_bytes", "max_event_bytes"] {
            assert!(settings.contains(&format!("\n#{key} = ")), "{key}");
        }
    }
}
