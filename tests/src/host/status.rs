//! What the host says about itself.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The answer of `status --json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    /// Version of the host.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Whether every required component is active.
    pub ready: bool,
    /// The container runtime.
    pub runtime: RuntimeStatus,
    /// The components, in index order.
    pub components: Vec<ComponentStatus>,
}

/// What is known of the container runtime.
#[derive(Debug, Clone, Deserialize)]
pub struct RuntimeStatus {
    /// Path of its socket.
    pub socket: String,
    /// The way to it, in one word.
    pub state: String,
    /// What is in the way.
    pub trouble: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its version of NRI.
    pub nri_version: Option<String>,
}

/// One component.
#[derive(Debug, Clone, Deserialize)]
pub struct ComponentStatus {
    /// Its name; of a broken configuration not even that may be known.
    pub name: Option<String>,
    /// Its index.
    pub index: Option<u8>,
    /// Its state.
    pub state: State,
    /// Why it is in this state.
    pub reason: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl ComponentStatus {
    /// A number among the rest, such as `calls`.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.rest.get(key).and_then(Value::as_u64)
    }

    /// The newest of its last errors.
    pub fn last_error(&self) -> Option<&str> {
        self.rest.get("last_errors")?.get(0)?.get("text")?.as_str()
    }
}

/// State of a component, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// No connection yet.
    Waiting,
    /// Connected, not active yet.
    Handshaking,
    /// Synchronized: it gets events.
    Active,
    /// Active, but it missed the last Synchronize.
    Unsynced,
    /// It is not back from a call.
    Overdue,
    /// It failed too often and is not called any more.
    Quarantined,
    /// It was never loaded or created.
    Failed,
    /// It is switched off.
    Disabled,
}

impl Status {
    /// The component of that name.
    pub fn component(&self, name: &str) -> Option<&ComponentStatus> {
        self.components
            .iter()
            .find(|component| component.name.as_deref() == Some(name))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {} ready: {}", self.pid, self.ready)?;
        for component in &self.components {
            let name = component.name.as_deref().unwrap_or("unnamed");
            write!(f, "\n  {name}: {:?}", component.state)?;
            if let Some(reason) = &component.reason {
                write!(f, " ({reason})")?;
            }
        }
        Ok(())
    }
}
