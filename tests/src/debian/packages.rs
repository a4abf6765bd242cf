//! The packages, and what `make install` does, made of what the running tests were built from.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::artifacts::Place;

/// The version of [`Packages::newer`].
pub const NEWER: &str = "99.0.0-1";

/// The packages, in a folder that goes with this.
#[derive(Debug)]
pub struct Packages {
    folder: TempDir,
}

impl Packages {
    /// `nri-host`.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn host(&self) -> Result<PathBuf> {
        self.find("now", "nri-host_")
    }

    /// `nri-host-hook-injector`.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn hook_injector(&self) -> Result<PathBuf> {
        self.find("now", "nri-host-hook-injector_")
    }

    /// `nri-host` with the same content and a higher version.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn newer(&self) -> Result<PathBuf> {
        self.find("newer", "nri-host_")
    }

    fn find(&self, folder: &str, beginning: &str) -> Result<PathBuf> {
        for entry in self.folder.path().join(folder).read_dir()? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(beginning) {
                return Ok(entry.path());
            }
        }
        bail!("no package {beginning} was made")
    }
}

/// Makes the packages on the first call in a process.
///
/// # Errors
///
/// When they cannot be made, with what was said.
pub fn packages() -> Result<&'static Packages> {
    static PACKAGES: OnceLock<Result<Packages, String>> = OnceLock::new();
    match PACKAGES.get_or_init(|| make().map_err(|error| format!("{error:#}"))) {
        Ok(packages) => Ok(packages),
        Err(error) => bail!("cannot make the packages: {error}"),
    }
}

fn make() -> Result<Packages> {
    build()?;
    let folder = tempfile::tempdir()?;
    let now = folder.path().join("now");
    let newer = folder.path().join("newer");
    // Programs with what debuggers need are large: to be quick comes before to be small.
    run("debs", |command| {
        command.arg(&now).args(["--fast", "--no-strip"])
    })?;
    run("debs", |command| {
        command
            .arg(&newer)
            .args(["--fast", "--no-strip", "--deb-version", NEWER])
    })?;
    Ok(Packages { folder })
}

/// Does what `make install PREFIX=prefix DESTDIR=root` does.
///
/// # Errors
///
/// When it fails, with what was said.
pub fn install(prefix: &str, root: &Path) -> Result<()> {
    build()?;
    run("install", |command| {
        command.env("PREFIX", prefix).env("DESTDIR", root)
    })
}

/// Does what `make uninstall PREFIX=prefix DESTDIR=root` does.
///
/// # Errors
///
/// When it fails, with what was said.
pub fn uninstall(prefix: &str, root: &Path) -> Result<()> {
    run("uninstall", |command| {
        command.env("PREFIX", prefix).env("DESTDIR", root)
    })
}

fn build() -> Result<()> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let build = || {
        let profile = Place::of_this_program()?.profile;
        run("build", |command| command.arg(profile))
    };
    match BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}"))) {
        Ok(()) => Ok(()),
        Err(error) => bail!("{error}"),
    }
}

/// Runs a script of packaging/ for the profile and the target directory of this program.
fn run(script: &str, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<()> {
    let place = Place::of_this_program()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("packaging");
    let mut command = Command::new(folder.join(script));
    command
        .env("CARGO_TARGET_DIR", &place.target)
        .env("PROFILE", &place.profile);
    let output = arguments(&mut command)
        .output()
        .with_context(|| format!("cannot run packaging/{script}"))?;
    ensure!(
        output.status.success(),
        "packaging/{script}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
