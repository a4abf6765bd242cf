//! What to do for a method, as the configuration says it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nri_plugin_api::Error;
use serde::Deserialize;

/// How often a hanging call looks for the file that frees it.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// One entry of `on`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Behaviour {
    #[serde(rename = "do")]
    pub(crate) action: Action,
    /// Only for these pods and containers; without it for all.
    #[serde(rename = "for", default)]
    pub(crate) scope: Scope,
    /// For `sleep`.
    #[serde(default)]
    pub(crate) ms: u64,
    /// For `large`.
    #[serde(default)]
    pub(crate) bytes: usize,
    /// Text of an error, a rejection or a panic; `KEY=VALUE` of an annotation; container to update.
    #[serde(default = "default_text")]
    pub(crate) text: String,
    /// For `hang`.
    #[serde(default)]
    pub(crate) until: Option<PathBuf>,
    /// How many calls are treated like this; the ones after it are answered.
    #[serde(default)]
    pub(crate) times: Option<u64>,
}

fn default_text() -> String {
    "as configured".to_owned()
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    Answer,
    Reject,
    Error,
    Panic,
    Sleep,
    Hang,
    Abort,
    Exit,
    Annotate,
    Large,
    Update,
}

/// Which calls an entry is for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scope {
    #[serde(alias = "pod-name-prefix", default)]
    pod_name_prefix: String,
    #[serde(alias = "container-name", default)]
    container_name: Option<String>,
}

impl Scope {
    pub(crate) fn covers(&self, pod: &str, container: &str) -> bool {
        pod.starts_with(&self.pod_name_prefix)
            && self
                .container_name
                .as_deref()
                .is_none_or(|name| name == container)
    }
}

/// How `create` ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Creation {
    #[default]
    Ok,
    Error,
    Panic,
    TryLater,
    Hang,
}

impl Behaviour {
    /// Does what ends a call without an answer, or delays it. `Ok` goes on to the answer.
    pub(crate) fn perform(&self) -> Result<(), Error> {
        match self.action {
            Action::Answer | Action::Annotate | Action::Large | Action::Update => {}
            Action::Reject => return Err(Error::reject(&self.text)),
            Action::Error => return Err(Error::failed(&self.text)),
            Action::Panic => panic!("{}", self.text),
            Action::Sleep => std::thread::sleep(Duration::from_millis(self.ms)),
            Action::Hang => hang(self.until.as_deref()),
            Action::Abort => std::process::abort(),
            Action::Exit => exit(),
        }
        Ok(())
    }
}

#[expect(clippy::exit, reason = "this is one of the faults")]
fn exit() {
    std::process::exit(3);
}

/// Returns when the file exists; without a file never.
pub(crate) fn hang(until: Option<&Path>) {
    while until.is_none_or(|file| !file.exists()) {
        std::thread::sleep(POLL);
    }
}
