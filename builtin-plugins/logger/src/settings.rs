//! `[component.config]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nri_plugin_api::{ConfigMistakes, Error, MethodSet};
use serde::Deserialize;

use crate::demonstration::Demonstration;
use crate::events;
use crate::file::{FileSink, Rotation};
use crate::format::Format;
use crate::queue::Limits;
use crate::redact::Redaction;
use crate::render::Renderer;
use crate::selection::Selection;
use crate::sink::{HostLog, Sink};

/// Room for nearly every event.
const DEFAULT_MAX_EVENT_BYTES: usize = 32 << 10;

/// Below it there may be no room for names and ids.
const MIN_MAX_EVENT_BYTES: usize = 4 << 10;

/// More than a runtime can send in one message.
const MAX_MAX_EVENT_BYTES: usize = 64 << 20;

/// Days of a usual node.
const DEFAULT_ROTATE_BYTES: u64 = 100 << 20;

/// Smaller files would be renamed with nearly each event.
const MIN_ROTATE_BYTES: u64 = 4 << 10;

const DEFAULT_ROTATE_KEEP: u32 = 4;

/// Each of them is renamed in each rotation.
const MAX_ROTATE_KEEP: u32 = 1000;

/// Some seconds of a very busy node.
const DEFAULT_QUEUE: usize = 1024;

const MAX_QUEUE: usize = 1 << 20;

const DEFAULT_QUEUE_BYTES: usize = 16 << 20;

/// Annotations that have the whole specification of the pod in them, with its variables.
const COPIES_OF_PODS: [&str; 2] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "io.kubernetes.cri-o.Annotations",
];

/// The settings as they are written. `docs/components/logger.md` has more about each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawSettings {
    /// The events to write: names, or the groups `all`, `pod` and `container`, in none of which is
    /// `ValidateContainerAdjustment`.
    pub events: Vec<String>,
    /// Globs of namespaces whose pods are written about.
    pub namespaces: Vec<String>,
    /// Globs of namespaces whose pods are not.
    pub exclude_namespaces: Vec<String>,
    /// The labels that a pod must have, and globs of their values.
    pub labels: BTreeMap<String, String>,
    /// The form of events.
    pub format: Format,
    /// Where events are appended. By default they go to the host's log.
    pub file: Option<PathBuf>,
    /// The length of the file, in bytes, at which a new one takes its place. 0: never.
    pub rotate_bytes: u64,
    /// How many old files are kept.
    pub rotate_keep: u32,
    /// Globs of names of environment variables whose values are hidden.
    pub redact_env: Vec<String>,
    /// Globs of keys of annotations whose values are hidden.
    pub redact_annotations: Vec<String>,
    /// How long an event may be, in bytes; in the host's log it is 8 KiB at most. Of longer events
    /// only names and ids are written.
    pub max_event_bytes: usize,
    /// How many events may wait to be written.
    pub queue: usize,
    /// How many bytes the events that wait may have, as the runtime encoded them.
    pub queue_bytes: usize,
    /// An annotation that each new container gets, to show how.
    pub add_annotation: Option<String>,
    /// The same, also if the container has it already.
    pub set_annotation: Option<String>,
    /// An environment variable that each new container gets, to show how.
    pub add_env: Option<String>,
    /// The same, also if another component set it already.
    pub set_env: Option<String>,
}

impl Default for RawSettings {
    fn default() -> Self {
        Self {
            events: vec!["all".to_owned()],
            namespaces: vec!["*".to_owned()],
            exclude_namespaces: Vec::new(),
            labels: BTreeMap::new(),
            format: Format::Json,
            file: None,
            rotate_bytes: DEFAULT_ROTATE_BYTES,
            rotate_keep: DEFAULT_ROTATE_KEEP,
            redact_env: vec!["*".to_owned()],
            redact_annotations: COPIES_OF_PODS.map(str::to_owned).to_vec(),
            max_event_bytes: DEFAULT_MAX_EVENT_BYTES,
            queue: DEFAULT_QUEUE,
            queue_bytes: DEFAULT_QUEUE_BYTES,
            add_annotation: None,
            set_annotation: None,
            add_env: None,
            set_env: None,
        }
    }
}

/// The settings, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) events: MethodSet,
    pub(crate) selection: Selection,
    pub(crate) renderer: Renderer,
    pub(crate) sink: Box<dyn Sink>,
    pub(crate) limits: Limits,
    pub(crate) demonstration: Option<Demonstration>,
}

impl Settings {
    /// Checks the settings, and opens the file. In a trial it is not made.
    ///
    /// # Errors
    ///
    /// All mistakes at once, by key.
    pub(crate) fn check(raw: &RawSettings, is_trial: bool) -> Result<Self, Error> {
        let mut mistakes = ConfigMistakes::new();
        let events = events(&raw.events, &mut mistakes);
        let selection = Selection::read(
            &raw.namespaces,
            &raw.exclude_namespaces,
            &raw.labels,
            &mut mistakes,
        );
        let redaction = Redaction::read(&raw.redact_env, &raw.redact_annotations, &mut mistakes);
        let limits = limits(raw, &mut mistakes);
        let demonstration = Demonstration::read(raw, &mut mistakes);
        let file = file(raw, is_trial, &mut mistakes);
        mistakes.into_result()?;
        let max_record = file.as_ref().map_or(HostLog::MAX_LINE, |_| usize::MAX);
        Ok(Self {
            events,
            selection,
            renderer: Renderer {
                format: raw.format,
                max_bytes: raw.max_event_bytes.min(max_record),
                redaction,
            },
            sink: match file {
                Some(file) => Box::new(file),
                None => Box::new(HostLog),
            },
            limits,
            demonstration,
        })
    }
}

fn events(names: &[String], mistakes: &mut ConfigMistakes) -> MethodSet {
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

fn limits(raw: &RawSettings, mistakes: &mut ConfigMistakes) -> Limits {
    if !(1..=MAX_QUEUE).contains(&raw.queue) {
        mistakes.add("queue", format!("expected 1 to {MAX_QUEUE}"));
    }
    if raw.queue_bytes == 0 {
        mistakes.add("queue_bytes", "expected at least 1");
    }
    if !(MIN_MAX_EVENT_BYTES..=MAX_MAX_EVENT_BYTES).contains(&raw.max_event_bytes) {
        let message = format!("expected {MIN_MAX_EVENT_BYTES} to {MAX_MAX_EVENT_BYTES}");
        mistakes.add("max_event_bytes", message);
    }
    Limits {
        entries: raw.queue,
        bytes: raw.queue_bytes,
    }
}

/// Opens the file, if there is to be one.
fn file(raw: &RawSettings, is_trial: bool, mistakes: &mut ConfigMistakes) -> Option<FileSink> {
    if (1..MIN_ROTATE_BYTES).contains(&raw.rotate_bytes) {
        let message = format!("expected at least {MIN_ROTATE_BYTES}, or 0 for no rotation");
        mistakes.add("rotate_bytes", message);
    }
    if raw.rotate_keep > MAX_ROTATE_KEEP {
        mistakes.add("rotate_keep", format!("expected 0 to {MAX_ROTATE_KEEP}"));
    }
    let Some(path) = &raw.file else {
        if raw.format == Format::Yaml {
            let message = "\"yaml\" needs a file: in the host's log an event has one line";
            mistakes.add("format", message);
        }
        return None;
    };
    let could_be_made = || !path.exists() && path.parent().is_some_and(Path::is_dir);
    if is_trial && path.is_absolute() && could_be_made() {
        return None;
    }
    let rotation = (raw.rotate_bytes > 0).then_some(Rotation {
        bytes: raw.rotate_bytes,
        keep: raw.rotate_keep,
    });
    match FileSink::open(path, rotation) {
        Ok(file) => Some(file),
        Err(error) => {
            mistakes.add("file", Error::from(error).to_string());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::testing;

    use super::RawSettings;

    /// Keys that are off by default: the drop-in shows what could stand there.
    const EXAMPLES: [&str; 6] = [
        "labels",
        "file",
        "add_annotation",
        "set_annotation",
        "add_env",
        "set_env",
    ];

    #[test]
    fn the_drop_in_shows_every_setting_with_its_default() {
        let drop_in = include_str!("../../../config/conf.d/90-logger.toml");
        let shown = toml::from_str(&testing::shown_settings(drop_in)).unwrap();
        testing::assert_shows_defaults::<RawSettings>(shown, &EXAMPLES);
    }
}
