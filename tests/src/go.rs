//! Programs in Go that the tests build once and keep in the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{cache, tier};

/// The oldest Go that builds all of them; containerd 2.4 asks for it.
const MINIMUM: (u32, u32) = (1, 26);

/// The same as `go.mod` has it.
const GO_VERSION: &str = "1.26.0";

/// A published module at a version.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    pub path: &'a str,
    pub version: &'a str,
    /// Whether it has parts in C, for which a compiler is needed.
    pub has_c: bool,
    /// What chooses among its files.
    pub tags: &'a [&'a str],
}

/// Why no Go program can be built here, if so.
#[must_use]
pub fn missing() -> Option<String> {
    let output = match Command::new("go").args(["env", "GOVERSION"]).output() {
        Ok(output) => output,
        Err(error) => return Some(format!("no Go toolchain ({error})")),
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let old = parse_version(&version).is_none_or(|found| found < MINIMUM);
    old.then(|| {
        format!(
            "Go {}.{} or newer is needed, found {version:?}",
            MINIMUM.0, MINIMUM.1
        )
    })
}

/// `go1.26.8` to `(1, 26)`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text
        .strip_prefix("go")?
        .split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Builds commands of a published module (`cmd/NAME`, or "" for its root) into `folder`
/// of the cache, unless they are there already; returns the folder's path.
///
/// # Errors
///
/// What `go` printed, or the file operation that failed.
pub fn build_published(folder: &str, module: Module<'_>, commands: &[&str]) -> Result<PathBuf> {
    cache::once(folder, |partial| {
        tier::say(&format!(
            "building {folder} from its Go module; this takes minutes, once"
        ));
        // `go install PACKAGE@VERSION` refuses modules with exclude directives, as
        // containerd has had for long; requiring them works for all.
        let Module {
            path,
            version,
            has_c,
            tags,
        } = module;
        let go_mod = format!("module builder\n\ngo {GO_VERSION}\n\nrequire {path} {version}\n");
        fs::write(partial.join("go.mod"), go_mod)?;
        let packages = commands.iter().map(|command| match *command {
            "" => path.to_owned(),
            command => format!("{path}/{command}"),
        });
        // The module's own requirements decide all other versions.
        let tags = format!("-tags={}", tags.join(","));
        build(partial, &["-mod=mod", &tags], has_c, packages, partial)
    })
}

/// Brings all commands of a module below `tests` up to date in `folder` of the
/// cache; returns the folder's path.
///
/// # Errors
///
/// As [`build_published`].
pub fn build_local(folder: &str, module: &str) -> Result<PathBuf> {
    let target = cache::dir().join(folder);
    let _lock = cache::lock(folder)?;
    fs::create_dir_all(&target)?;
    let packages = ["./...".to_owned()].into_iter();
    build(
        &tests_dir().join(module),
        &["-tags=nri_no_wasm"],
        false,
        packages,
        &target,
    )?;
    Ok(target)
}

/// The folder of this crate.
#[must_use]
pub fn tests_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn build(
    module: &Path,
    flags: &[&str],
    has_c: bool,
    packages: impl Iterator<Item = String>,
    out: &Path,
) -> Result<()> {
    let mut go = Command::new("go");
    go.current_dir(module)
        // Without cgo neither headers nor libraries of the machine are needed.
        .env("CGO_ENABLED", if has_c { "1" } else { "0" })
        .args(["build", "-ldflags=-s -w"])
        .args(flags)
        .arg("-o")
        // The slash says that it is a folder.
        .arg(out.join(""))
        .args(packages);
    let output = go.output().context("running go")?;
    ensure!(
        output.status.success(),
        "{go:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    #[test]
    fn a_go_version_is_read_with_and_without_a_patch_level() {
        assert_eq!(parse_version("go1.26.8"), Some((1, 26)));
        assert_eq!(parse_version("go1.27rc1"), Some((1, 27)));
        assert_eq!(parse_version("devel +abc"), None);
    }
}
