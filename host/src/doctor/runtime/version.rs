//! Which version a runtime has.

use std::fmt;
use std::path::{Path, PathBuf};

use super::super::node::Node;
use super::super::process::Process;
use super::super::program::ask;
use super::distribution::{Distribution, Kind};
use crate::chain;
use crate::runtime::version::{RuntimeVersion, numbers};

/// A runtime's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// As the runtime writes it.
    text: String,
    numbers: (u32, u32, u32),
}

impl Version {
    /// Reads `v2.1.4`, `1.7.24~ds1` and the like.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(Self {
            text: text.trim_start_matches('v').to_owned(),
            numbers: numbers(text)?,
        })
    }

    /// Whether it is this one or later.
    pub(crate) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        (self.numbers.0, self.numbers.1) >= (major, minor)
    }

    /// Whether the runtime ends when a plugin sets a kernel parameter.
    pub(crate) fn dies_of_sysctl(&self, kind: Kind) -> bool {
        let known = RuntimeVersion {
            name: kind.program().to_owned(),
            version: self.text.clone(),
            nri_version: String::new(),
        };
        known.dies_of_sysctl()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Asks the program: the one that runs, else the one that would.
///
/// # Errors
///
/// Says why it is not known.
pub(super) fn find(
    node: &Node,
    distribution: &Distribution,
    process: Option<&Process>,
) -> Result<Version, String> {
    let running = process.map(|process| process.folder().join("exe"));
    // Where a link of /proc cannot be followed, the path in it can be.
    let path = running.as_deref().and_then(|exe| node.link(exe).ok());
    let installed = distribution.programs.iter().map(PathBuf::from);
    let mut reason = "its program was not found".to_owned();
    for path in running.into_iter().chain(path).chain(installed) {
        match version_of(node, &path, distribution.kind) {
            Ok(version) => return Ok(version),
            Err(None) => {}
            Err(Some(error)) => reason = error,
        }
    }
    Err(reason)
}

/// `Err(None)`: there is no such program.
fn version_of(node: &Node, path: &Path, kind: Kind) -> Result<Version, Option<String>> {
    let program = node.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => None,
        _ => Some(format!("{}: {error}", path.display())),
    })?;
    let answer = ask(program, kind.program(), &["--version"])
        .map_err(|error| Some(format!("{}: {}", path.display(), chain(&error))))?;
    let words = answer.split_whitespace();
    words
        .filter_map(Version::parse)
        .next()
        .ok_or_else(|| Some(format!("{} --version does not say", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("v2.10.1").is_at_least(2, 2));
        assert!(version("1.7.24~ds1").is_at_least(1, 7));
        assert!(!version("1.34.0").is_at_least(2, 0));
        assert_eq!(version("v2.1.4").to_string(), "2.1.4");
        assert_eq!(Version::parse("github.com/containerd/containerd/v2"), None);
    }
}
