//! Which containerd, and what it needs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::unistd::Uid;

use super::image;
use crate::go::{self, Module};
use crate::tier;

const CRICTL_VERSION: &str = "v1.34.0";

/// With version 1.3 of the OCI runtime specification.
const NEW_RUNC_VERSION: &str = "v1.4.0";

/// A release of containerd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Such as `2.4.2`.
    pub version: &'static str,
    /// The version of its configuration file.
    pub(super) config: u8,
}

/// NRI 0.8, off unless it is switched on.
pub const V1_7: Release = Release {
    version: "1.7.35",
    config: 2,
};
/// NRI 0.8, on by default.
pub const V2_1: Release = Release {
    version: "2.1.9",
    config: 3,
};
/// NRI 0.12.3.
pub const V2_4: Release = Release {
    version: "2.4.2",
    config: 3,
};

/// All releases that the tests know, the oldest first.
pub const RELEASES: [Release; 6] = [
    V1_7,
    Release {
        version: "2.0.14",
        config: 3,
    },
    V2_1,
    Release {
        version: "2.2.9",
        config: 3,
    },
    Release {
        version: "2.3.7",
        config: 3,
    },
    V2_4,
];

impl Release {
    /// What this release makes of a configuration file, defaults included: the file that
    /// `containerd config dump` prints.
    ///
    /// # Errors
    ///
    /// If it refuses the file.
    pub fn config_dump(self, file: &Path) -> Result<toml::Table> {
        let file = file.to_str().context("a path in UTF-8")?;
        Ok(self.say(&["--config", file, "config", "dump"])?.parse()?)
    }

    /// The configuration file that `containerd config default` prints, with which nodes begin.
    ///
    /// # Errors
    ///
    /// If it does not build.
    pub fn config_default(self) -> Result<String> {
        self.say(&["config", "default"])
    }

    fn say(self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(self.programs()?.join("containerd"))
            .args(arguments)
            .output()
            .context("starting containerd")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{arguments:?}: {complaint}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The folder with `containerd`, its shim and `ctr`, built if need be.
    pub(super) fn programs(self) -> Result<PathBuf> {
        const COMMANDS: [&str; 3] = ["cmd/containerd", "cmd/containerd-shim-runc-v2", "cmd/ctr"];
        let path = match self.version.split('.').next() {
            Some("1") => "github.com/containerd/containerd",
            _ => "github.com/containerd/containerd/v2",
        };
        let module = Module {
            path,
            version: &format!("v{}", self.version),
            has_c: false,
            tags: &[],
        };
        go::build_published(&format!("containerd-{}", self.version), module, &COMMANDS)
    }
}

/// The program `crictl`, built if need be.
pub(super) fn crictl() -> Result<PathBuf> {
    let module = Module {
        path: "sigs.k8s.io/cri-tools",
        version: CRICTL_VERSION,
        has_c: false,
        tags: &[],
    };
    let folder = go::build_published(&format!("crictl-{CRICTL_VERSION}"), module, &["cmd/crictl"])?;
    Ok(folder.join("crictl"))
}

/// The folder with a `runc` that is newer than distributions have it, built if need be.
pub(super) fn new_runc() -> Result<PathBuf> {
    let module = Module {
        path: "github.com/opencontainers/runc",
        version: NEW_RUNC_VERSION,
        has_c: true,
        tags: &[],
    };
    go::build_published(&format!("runc-{NEW_RUNC_VERSION}"), module, &[""])
}

/// Why this tier cannot run here, if so.
#[must_use]
pub fn missing() -> Option<String> {
    if !Uid::effective().is_root() {
        return Some("only root can run containers".to_owned());
    }
    if !tier::may_mount() {
        return Some("this process may not mount file systems".to_owned());
    }
    if !Path::new("/sys/fs/cgroup")
        .join("cgroup.controllers")
        .exists()
        && !Path::new("/sys/fs/cgroup/devices").is_dir()
    {
        return Some("no cgroups are mounted on /sys/fs/cgroup".to_owned());
    }
    if !tier::in_path("runc") {
        return Some("no runc in PATH (Debian: apt-get install runc)".to_owned());
    }
    image::missing().or_else(go::missing)
}
