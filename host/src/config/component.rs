//! From what is written to what is valid: one `[[component]]`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::json;
use super::keys;
use super::library;
use super::mistake::{BrokenComponent, Mistake, Oddity, Problem, Scope, Warning};
use super::node::Node;
use super::origin::Location;
use super::raw::{RawComponent, RawConfig};
use super::reader::Reader;
use super::settings::{
    ComponentConfig, Isolation, OnFailure, OnStuck, QuarantineConfig, plugin_name,
};
use super::similar::nearest;

const NAME: &str = "a name for the component";
const INDEX: &str = "an integer from 0 to 99";
const MAX_INDEX: u8 = 99;
const QUARANTINE_FAILURES: &str = "an integer from 0 to 100";
/// The times of so many failures are kept.
const MAX_QUARANTINE_FAILURES: u32 = 100;

/// What came of one component.
pub(super) struct Verdict {
    /// Where the files begin to speak of it.
    pub(super) location: Location,
    /// As written, valid or not.
    name: Option<String>,
    index: Option<u8>,
    required: bool,
    enabled: bool,
    outcome: Result<ComponentConfig, Vec<Mistake>>,
}

impl Verdict {
    /// What the component would be to the runtime; `None` if it never comes before it.
    pub(super) fn plugin(&self) -> Option<String> {
        let name = self.name.as_ref().filter(|_| self.enabled)?;
        Some(plugin_name(self.index?, name))
    }

    /// Turns the component down for one more reason.
    pub(super) fn refuse(&mut self, problem: Problem) -> Mistake {
        let mistake = Mistake {
            scope: Scope::Component(self.name.clone()),
            location: self.location.clone(),
            key: String::new(),
            problem,
        };
        match &mut self.outcome {
            Ok(_) => self.outcome = Err(vec![mistake.clone()]),
            Err(mistakes) => mistakes.push(mistake.clone()),
        }
        mistake
    }

    pub(super) fn into_result(self) -> Result<ComponentConfig, BrokenComponent> {
        self.outcome.map_err(|mistakes| BrokenComponent {
            name: self.name,
            index: self.index,
            required: self.required,
            mistakes,
        })
    }
}

/// Judges one component. `dirs` is `None` when it is not known what the admin meant by
/// `component_dirs`. `None` comes back for what is no component after all.
pub(super) fn judge(
    raw: &RawComponent,
    dirs: Option<&[PathBuf]>,
    config: &RawConfig,
    mistakes: &mut Vec<Mistake>,
    warnings: &mut Vec<Warning>,
) -> Option<Verdict> {
    let mut own = Vec::new();
    let draft = Draft::read(raw, dirs, config, &mut own)?;
    if !raw.damage.is_empty() {
        // What else is wrong with it may be due to the damage, which was told already.
        return Some(draft.verdict(raw, config, raw.damage.clone()));
    }
    if draft.is_leftover(raw) && own.is_empty() {
        warnings.push(Warning {
            scope: Scope::Component(draft.name),
            location: raw.table.location.clone(),
            key: String::new(),
            oddity: Oddity::NothingToDisable,
        });
        return None;
    }
    if !own.is_empty() {
        own.retain(|mistake| config.is_telling(mistake));
        if own.is_empty() {
            return None;
        }
    }
    mistakes.extend_from_slice(&own);
    Some(draft.verdict(raw, config, own))
}

/// The keys of a component as far as they are right.
struct Draft {
    name: Option<String>,
    index: Option<u8>,
    library: Option<PathBuf>,
    enabled: bool,
    required: bool,
    settings: Settings,
}

/// What has a default.
struct Settings {
    timeout: Option<Duration>,
    sync_timeout: Option<Duration>,
    on_failure: OnFailure,
    on_stuck: OnStuck,
    quarantine: QuarantineConfig,
    isolation: Isolation,
    config: Map<String, Value>,
}

impl Draft {
    fn read(
        raw: &RawComponent,
        dirs: Option<&[PathBuf]>,
        config: &RawConfig,
        mistakes: &mut Vec<Mistake>,
    ) -> Option<Self> {
        let scope = Scope::Component(raw.table.string("name").map(str::to_owned));
        let mut reader = Reader::new(&raw.table, "component", &keys::COMPONENT, scope, mistakes)?;
        let enabled = reader.boolean("enabled").unwrap_or(true);
        let draft = Self {
            name: read_name(&mut reader),
            index: read_index(&mut reader),
            library: read_library(&mut reader, dirs, enabled),
            enabled,
            required: reader.boolean("required").unwrap_or(false),
            settings: read_settings(&mut reader),
        };
        if !draft.is_leftover(raw) {
            note_missing(&mut reader, raw, config);
        }
        Some(draft)
    }

    /// A drop-in switches the component off, and whatever defined it is no longer there.
    fn is_leftover(&self, raw: &RawComponent) -> bool {
        !self.enabled && raw.only_changes()
    }

    /// Whether it is to be off even if all was well: a later file that is wrong, or cannot be read,
    /// may have meant to switch it on.
    fn stays_off(&self, raw: &RawComponent, config: &RawConfig, mistakes: &[Mistake]) -> bool {
        let keys = raw.table.as_table();
        let Some(switch) = keys.and_then(|keys| keys.get("enabled")) else {
            return false;
        };
        let off_at = config.place(&switch.location);
        !self.enabled
            && mistakes
                .iter()
                .all(|it| config.place(&it.location) <= off_at)
    }

    /// A component that is switched off stays listed, as long as it can be named, whatever else is
    /// wrong with it.
    fn verdict(self, raw: &RawComponent, config: &RawConfig, mistakes: Vec<Mistake>) -> Verdict {
        let sound = mistakes.is_empty() || self.stays_off(raw, config, &mistakes);
        let outcome = match (&self.name, self.index, self.library) {
            (Some(name), Some(index), Some(library)) if sound => Ok(ComponentConfig {
                name: name.clone(),
                index,
                library,
                enabled: self.enabled,
                timeout: self.settings.timeout,
                sync_timeout: self.settings.sync_timeout,
                on_failure: self.settings.on_failure,
                on_stuck: self.settings.on_stuck,
                quarantine: self.settings.quarantine,
                required: self.required,
                isolation: self.settings.isolation,
                config: self.settings.config,
                origin: raw.table.origin(),
            }),
            _ => Err(mistakes),
        };
        Verdict {
            location: raw.table.location.clone(),
            name: raw.table.string("name").map(str::to_owned),
            index: self.index,
            required: self.required && self.enabled,
            enabled: self.enabled,
            outcome,
        }
    }
}

fn read_name(reader: &mut Reader<'_>) -> Option<String> {
    let name = reader.string("name", NAME)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
    let valid = !name.is_empty() && name.bytes().all(allowed);
    let bad = || Problem::BadName {
        found: name.to_owned(),
    };
    reader.accept("name", valid.then(|| name.to_owned()).ok_or_else(bad))
}

fn read_index(reader: &mut Reader<'_>) -> Option<u8> {
    reader.number("index", 0..=MAX_INDEX, INDEX)
}

/// The library of a disabled component need not be there.
fn read_library(
    reader: &mut Reader<'_>,
    dirs: Option<&[PathBuf]>,
    enabled: bool,
) -> Option<PathBuf> {
    let text = reader.string("library", library::EXPECTED)?;
    reader.accept("library", library::check(text))?;
    let found = match dirs {
        Some(dirs) => library::find(text, dirs),
        None => Ok(text.into()),
    };
    match found {
        Err(_) if !enabled => Some(text.into()),
        found => reader.accept("library", found),
    }
}

fn read_settings(reader: &mut Reader<'_>) -> Settings {
    let timeout = reader.duration("timeout");
    let sync_timeout = reader.duration("sync_timeout");
    let on_failure = reader.word(
        "on_failure",
        &["ignore", "fail"],
        &[OnFailure::Ignore, OnFailure::Fail],
    );
    let on_stuck = reader.word(
        "on_stuck",
        &["leave", "restart-host"],
        &[OnStuck::Leave, OnStuck::RestartHost],
    );
    let isolation = reader
        .word(
            "isolation",
            &["in-process", "process"],
            &[Ok(Isolation::InProcess), Err(())],
        )
        .and_then(|known| {
            let available = known.map_err(|()| Problem::ProcessIsolation);
            reader.accept("isolation", available)
        });
    Settings {
        timeout,
        sync_timeout,
        on_failure: on_failure.unwrap_or_default(),
        on_stuck: on_stuck.unwrap_or_default(),
        quarantine: read_quarantine(reader),
        isolation: isolation.unwrap_or_default(),
        config: read_config(reader),
    }
}

fn read_quarantine(reader: &mut Reader<'_>) -> QuarantineConfig {
    let default = QuarantineConfig::default();
    let Some(mut reader) = reader.inner("quarantine", &keys::QUARANTINE) else {
        return default;
    };
    QuarantineConfig {
        failures: reader
            .number("failures", 0..=MAX_QUARANTINE_FAILURES, QUARANTINE_FAILURES)
            .unwrap_or(default.failures),
        window: reader.duration("window").unwrap_or(default.window),
    }
}

fn read_config(reader: &mut Reader<'_>) -> Map<String, Value> {
    let Some(table) = reader.table("config") else {
        return Map::new();
    };
    let mut misfits = Vec::new();
    let object = json::object(table, "config", &mut misfits);
    for misfit in misfits {
        reader.note(&misfit.location, &misfit.key, misfit.problem);
    }
    object
}

fn note_missing(reader: &mut Reader<'_>, raw: &RawComponent, config: &RawConfig) {
    let name = raw.table.string("name");
    for (key, expected) in [
        ("name", NAME),
        ("index", INDEX),
        ("library", library::EXPECTED),
    ] {
        if reader.get(key).is_some() {
            continue;
        }
        let problem = match name {
            Some(name) if raw.only_changes() => Problem::NothingToChange {
                expected,
                nearest: nearest(name, defined_names(config)).map(str::to_owned),
            },
            _ => Problem::Missing { expected },
        };
        reader.note_missing(key, problem);
    }
}

/// The names of all components that have a library.
fn defined_names(config: &RawConfig) -> impl Iterator<Item = &str> {
    let defined = |node: &Node| {
        node.as_table()
            .is_some_and(|keys| keys.contains_key("library"))
    };
    config
        .components
        .iter()
        .map(|component| &component.table)
        .filter(move |table| defined(table))
        .filter_map(|table| table.string("name"))
}
