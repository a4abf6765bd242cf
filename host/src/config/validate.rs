//! From what is written to what is valid: `[runtime]`, `[host]`, and the whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracing::level_filters::LevelFilter;

use super::component::{self, Verdict};
use super::effective::{Effective, Sources};
use super::keys;
use super::mistake::{BrokenComponent, Mistake, Oddity, Problem, Scope, Warning};
use super::node::Node;
use super::origin::Location;
use super::raw::RawConfig;
use super::reader::Reader;
use super::settings::{ADMIN_SOCKET_NAME, ComponentConfig, Config, HostConfig, RuntimeConfig};
use super::{Given, Loaded, Overrides};

pub(super) const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
const LOG_FILTERS: [LevelFilter; 6] = [
    LevelFilter::OFF,
    LevelFilter::ERROR,
    LevelFilter::WARN,
    LevelFilter::INFO,
    LevelFilter::DEBUG,
    LevelFilter::TRACE,
];

/// The longest path that fits into a socket address, without its NUL.
const MAX_SOCKET_PATH: usize = 107;

/// What came of judging all files.
#[derive(Clone)]
pub(super) struct Judged {
    config: Config,
    sources: Sources,
    mistakes: Vec<Mistake>,
    warnings: Vec<Warning>,
    broken: Vec<BrokenComponent>,
}

impl Judged {
    pub(super) fn into_loaded(self) -> Loaded {
        let is_usable = !self.mistakes.iter().any(|m| m.scope == Scope::Host);
        Loaded {
            config: is_usable.then_some(self.config),
            mistakes: self.mistakes,
            warnings: self.warnings,
            broken: self.broken,
        }
    }

    pub(super) fn into_effective(self) -> Effective {
        Effective::new(self.config, self.sources, &self.mistakes, &self.broken)
    }
}

/// Judges all that was read.
pub(super) fn validate(mut raw: RawConfig, overrides: &Overrides) -> Judged {
    let mut mistakes = std::mem::take(&mut raw.mistakes);
    let mut warnings = std::mem::take(&mut raw.warnings);
    let runtime = runtime(raw.runtime.as_ref(), overrides, &mut mistakes);
    let (host, dirs_known) = host(raw.host.as_ref(), overrides, &mut mistakes);
    let dirs = dirs_known.then_some(host.component_dirs.as_slice());

    let verdicts: Vec<_> = raw
        .components
        .iter()
        .filter_map(|component| {
            component::judge(component, dirs, &raw, &mut mistakes, &mut warnings)
        })
        .collect();
    let mut broken = nameless(&raw.nameless);
    let components = keep_unique(verdicts, &mut broken, &mut mistakes);
    warn_of_equal_indexes(&components, &mut warnings);
    if raw.main_is_sound() && components.is_empty() && broken.is_empty() {
        warnings.push(no_components(&raw));
    }

    sort(&mut mistakes, &raw, |mistake| &mistake.location);
    sort(&mut warnings, &raw, |warning| &warning.location);
    Judged {
        config: Config {
            runtime,
            host,
            components,
        },
        sources: Sources {
            runtime: raw.runtime.as_ref().map(Node::origin),
            host: raw.host.as_ref().map(Node::origin),
            files: raw.files,
            overrides: overrides.clone(),
        },
        mistakes,
        warnings,
        broken,
    }
}

fn runtime(
    node: Option<&Node>,
    overrides: &Overrides,
    mistakes: &mut Vec<Mistake>,
) -> RuntimeConfig {
    let mut config = RuntimeConfig::default();
    if let Some(mut reader) =
        node.and_then(|node| Reader::new(node, "runtime", &keys::RUNTIME, Scope::Host, mistakes))
    {
        if let Some(socket) = reader.absolute_path("socket") {
            config.socket = reader
                .accept("socket", socket_path(socket))
                .unwrap_or(config.socket);
        }
        config.expect_runtime = reader
            .string(
                "expect_runtime",
                "the name of a runtime, such as \"containerd\"",
            )
            .map(str::to_owned);
        config.handshake_timeout = reader
            .duration("handshake_timeout")
            .unwrap_or(config.handshake_timeout);
    }
    if let Some(Given { value, .. }) = &overrides.socket {
        config.socket = std::path::absolute(value).unwrap_or_else(|_| value.clone());
    }
    config
}

/// The second value tells whether `component_dirs` is what the admin meant.
fn host(
    node: Option<&Node>,
    overrides: &Overrides,
    mistakes: &mut Vec<Mistake>,
) -> (HostConfig, bool) {
    let mut config = HostConfig::default();
    let mut dirs_known = node.is_none();
    if let Some(mut reader) =
        node.and_then(|node| Reader::new(node, "host", &keys::HOST, Scope::Host, mistakes))
    {
        let dirs = reader.absolute_paths("component_dirs");
        dirs_known = dirs.is_some() || reader.get("component_dirs").is_none();
        config.component_dirs = dirs.unwrap_or(config.component_dirs);
        if let Some(dir) = reader.absolute_path("runtime_dir") {
            let admin = socket_path(dir.join(ADMIN_SOCKET_NAME));
            if reader.accept("runtime_dir", admin).is_some() {
                config.runtime_dir = dir;
            }
        }
        config.state_dir = reader
            .absolute_path("state_dir")
            .unwrap_or(config.state_dir);
        config.fail_exempt_namespaces = reader
            .strings("fail_exempt_namespaces", "an array of namespaces")
            .unwrap_or(config.fail_exempt_namespaces);
        config.log = reader
            .word("log", &LOG_LEVELS, &LOG_FILTERS)
            .unwrap_or(config.log);
        config.metrics_listen = reader.socket_address("metrics_listen");
    }
    config.log = overrides.log.map_or(config.log, |log| log.value);
    (config, dirs_known)
}

fn socket_path(path: PathBuf) -> Result<PathBuf, Problem> {
    let len = path.as_os_str().len();
    if len > MAX_SOCKET_PATH {
        return Err(Problem::SocketPathTooLong {
            len,
            limit: MAX_SOCKET_PATH,
        });
    }
    Ok(path)
}

fn nameless(mistakes: &[Mistake]) -> Vec<BrokenComponent> {
    // Several mistakes of one file are about one thing that is not there.
    let mut broken: BTreeMap<(Option<String>, &Path), BrokenComponent> = BTreeMap::new();
    for mistake in mistakes {
        let name = match &mistake.scope {
            Scope::Component(name) => name.clone(),
            _ => None,
        };
        broken
            .entry((name.clone(), &mistake.location.file))
            .or_insert_with(|| BrokenComponent {
                name,
                index: None,
                required: false,
                mistakes: Vec::new(),
            })
            .mistakes
            .push(mistake.clone());
    }
    broken.into_values().collect()
}

/// Sorts the sound components from the broken ones. To the runtime a component is its index and
/// name, and the first to have them keeps them.
fn keep_unique(
    verdicts: Vec<Verdict>,
    broken: &mut Vec<BrokenComponent>,
    mistakes: &mut Vec<Mistake>,
) -> Vec<ComponentConfig> {
    let mut keepers: BTreeMap<String, Location> = BTreeMap::new();
    let mut components = Vec::new();
    for mut verdict in verdicts {
        if let Some(plugin) = verdict.plugin() {
            match keepers.get(&plugin).cloned() {
                Some(first) => {
                    mistakes.push(verdict.refuse(Problem::DuplicatePlugin { plugin, first }));
                }
                None => {
                    keepers.insert(plugin, verdict.location.clone());
                }
            }
        }
        match verdict.into_result() {
            Ok(component) => components.push(component),
            Err(component) => broken.push(component),
        }
    }
    components
}

fn warn_of_equal_indexes(components: &[ComponentConfig], warnings: &mut Vec<Warning>) {
    let mut first_with: BTreeMap<u8, &ComponentConfig> = BTreeMap::new();
    for component in components.iter().filter(|component| component.enabled) {
        let Some(first) = first_with.get(&component.index) else {
            first_with.insert(component.index, component);
            continue;
        };
        warnings.push(Warning {
            scope: Scope::Component(Some(component.name.clone())),
            location: component.origin.find("index").clone(),
            key: "index".to_owned(),
            oddity: Oddity::SameIndex {
                index: component.index,
                other: first.name.clone(),
                at: first.origin.find("index").clone(),
            },
        });
    }
}

fn no_components(raw: &RawConfig) -> Warning {
    Warning {
        scope: Scope::Host,
        location: Location {
            file: raw.files[0].clone(),
            line: None,
        },
        key: String::new(),
        oddity: Oddity::NoComponents,
    }
}

/// By file in the order of reading, then by line.
fn sort<T>(items: &mut [T], raw: &RawConfig, location: impl Fn(&T) -> &Location) {
    items.sort_by_key(|item| {
        let Location { file, line } = location(item);
        let rank = raw.files.iter().position(|other| other == file);
        (rank, *line)
    });
}
