//! A small Debian in which packages are installed and systemd runs the daemon.

mod control_groups;
mod machine;
mod packages;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::unistd::Uid;

pub use machine::{Machine, SHARED};
pub use packages::{NEWER, Packages, install, packages, uninstall};

use crate::{cache, tier};

/// What it has beyond what a Debian needs to be one: systemd as its first process, and a reader of
/// manual pages.
const INCLUDED: &str = "systemd,man-db";

/// Programs without which there is no such Debian, and their packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("mmdebstrap", "mmdebstrap"),
    ("systemd-nspawn", "systemd-container"),
    ("nsenter", "util-linux"),
    ("dpkg-deb", "dpkg"),
];

/// Why this tier cannot run here, if so.
#[must_use]
pub fn missing() -> Option<String> {
    if !Uid::effective().is_root() {
        return Some("only root can boot a system".to_owned());
    }
    if !tier::may_mount() {
        return Some("this process may not mount file systems".to_owned());
    }
    if release().is_none() {
        return Some("this is no Debian".to_owned());
    }
    let (program, package) = PROGRAMS
        .iter()
        .find(|(program, _)| !tier::in_path(program))?;
    Some(format!(
        "no {program} in PATH (Debian: apt-get install {package})"
    ))
}

/// The code name of this Debian, whose packages its own sources have.
fn release() -> Option<String> {
    let words = fs::read_to_string("/etc/os-release").ok()?;
    let word = |key: &str| words.lines().find_map(|line| line.strip_prefix(key));
    word("ID=").filter(|id| *id == "debian")?;
    word("VERSION_CODENAME=").map(str::to_owned)
}

/// Its files, which nobody changes.
fn root() -> Result<PathBuf> {
    let release = release().context("this is no Debian")?;
    cache::once(&format!("debian-{release}"), |root| {
        tier::say(&format!(
            "making a small Debian {release}; this takes a minute, once"
        ));
        // Without a mirror it takes the sources of this machine.
        let output = Command::new("mmdebstrap")
            .args(["--quiet", "--variant=minbase", "--include", INCLUDED])
            .arg(&release)
            .arg(root)
            .output()
            .context("cannot run mmdebstrap")?;
        ensure!(
            output.status.success(),
            "mmdebstrap: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    })
}
