//! The configuration: `nri-host.toml` and the drop-ins in `conf.d` beside it.
//!
//! [`load`] reads all files, merges them and validates the result. It never stops at the first
//! mistake: an admin sees all of them in one run, each with file, line and key.
//!
//! * [`Config`] is what the rest of the host works with.
//! * A [`Mistake`] knows its [`Scope`]: what is wrong in one component costs that component alone.
//! * A drop-in holds `[[component]]` tables. One with a new name adds a component; one with the
//!   name of a component from an earlier file changes the keys that it gives. Tables are merged
//!   key by key, everything else is replaced.

mod component;
mod duration;
mod effective;
mod files;
mod json;
mod keys;
mod library;
mod mistake;
mod node;
mod origin;
mod raw;
mod reader;
#[cfg(feature = "schema")]
mod schema;
mod settings;
mod similar;
mod validate;

use std::path::{Path, PathBuf};

use tracing::level_filters::LevelFilter;

pub use effective::Effective;
pub use keys::KEYS;
pub use mistake::{BrokenComponent, Mistake, Oddity, Problem, Scope, Warning};
pub use origin::{Location, Origin};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use settings::{
    ComponentConfig, Config, DEFAULT_COMPONENT_DIR, DEFAULT_CONFIG_FILE,
    DEFAULT_FAIL_EXEMPT_NAMESPACE, DEFAULT_LOG, DEFAULT_QUARANTINE_FAILURES,
    DEFAULT_QUARANTINE_WINDOW, DEFAULT_RUNTIME_DIR, DEFAULT_SOCKET, DEFAULT_STATE_DIR, HostConfig,
    Isolation, OnFailure, OnStuck, QuarantineConfig, RuntimeConfig,
};
pub(crate) use settings::{plugin_name, without_index};
pub(crate) use similar::nearest;

/// What flags and the environment say; it wins over the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Instead of `socket` in `[runtime]`. A relative path is taken from the current folder.
    pub socket: Option<Given<PathBuf>>,
    /// Instead of `log` in `[host]`.
    pub log: Option<Given<LevelFilter>>,
}

/// A value that a flag or the environment gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// The name of the flag or variable.
    pub by: &'static str,
}

/// The outcome of [`load`].
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration, with the components that are sound; `None` if there is a mistake of
    /// scope [`Scope::Host`].
    pub config: Option<Config>,
    /// Every mistake, by file and line.
    pub mistakes: Vec<Mistake>,
    /// Every warning, by file and line.
    pub warnings: Vec<Warning>,
    /// The components that cannot be run. Their mistakes are among `mistakes`, too.
    pub broken: Vec<BrokenComponent>,
}

/// Reads the main file at `path` and `conf.d/*.toml` beside it, in name order.
pub fn load(path: &Path, overrides: &Overrides) -> Loaded {
    validate::validate(raw::RawConfig::read(path), overrides).into_loaded()
}

/// The same, with what there is of the configuration whatever is wrong with it.
pub fn load_effective(path: &Path, overrides: &Overrides) -> (Loaded, Effective) {
    let judged = validate::validate(raw::RawConfig::read(path), overrides);
    (judged.clone().into_loaded(), judged.into_effective())
}
