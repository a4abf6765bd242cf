//! What a component can know about the runtime.

use serde::{Deserialize, Serialize};

/// The runtime that the session is with, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// `containerd`, `cri-o`, ...
    pub name: String,
    /// The runtime's own version, as it writes it: `v2.2.1`, `1.34.0`, `2.1.9+unknown`.
    pub version: String,
    /// The version of NRI, as in `0.12.3`. Runtimes before NRI 0.12 do not say it: the host knows it
    /// of the well-known ones, and it is empty for others.
    #[serde(default)]
    pub nri_version: String,
}
