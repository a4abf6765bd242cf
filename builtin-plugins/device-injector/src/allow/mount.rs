//! Which mounts a pod may ask for.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::path::PathPattern;
use super::{ANY, AllowList, RuleError};
use crate::host_files::HostFiles;

/// A rule of `allow_mounts`.
#[derive(Debug)]
pub(crate) enum MountRule {
    /// `*`.
    Any,
    /// Bind mounts from such places on the host, and from below them.
    Source(PathPattern),
    /// Mounts of this type of file system, with any source and options.
    FileSystem(String),
}

impl FromStr for MountRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        match text {
            ANY => Ok(Self::Any),
            "bind" | "rbind" | "none" => Err(RuleError::BindMount),
            _ if text.starts_with('/') => text.parse().map(Self::Source),
            _ if !text.is_empty() && text.chars().all(word) => {
                Ok(Self::FileSystem(text.to_owned()))
            }
            _ => Err(RuleError::Mount),
        }
    }
}

impl AllowList<MountRule> {
    /// Whether there is nothing that a pod may not mount.
    pub(crate) fn allow_any(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, MountRule::Any))
    }

    /// Whether a pod may bind what is at this path. The path has no links in it and does not climb.
    pub(crate) fn allow_source(&self, path: &Path) -> bool {
        self.rules.iter().any(|rule| match rule {
            MountRule::Any => true,
            MountRule::Source(pattern) => pattern.covers(path),
            MountRule::FileSystem(_) => false,
        })
    }

    /// Whether a pod may mount this type of file system.
    pub(crate) fn allow_file_system(&self, kind: &str) -> bool {
        self.rules.iter().any(|rule| match rule {
            MountRule::Any => true,
            MountRule::Source(_) => false,
            MountRule::FileSystem(allowed) => allowed == kind,
        })
    }

    /// The paths among the rules that lead somewhere else, and where.
    pub(crate) fn links<'a>(
        &'a self,
        host: &'a HostFiles,
    ) -> impl Iterator<Item = (&'a Path, PathBuf)> {
        self.rules.iter().filter_map(|rule| {
            let MountRule::Source(pattern) = rule else {
                return None;
            };
            let path = pattern.literal()?;
            let target = host.resolve(path).ok()?;
            (target != path).then_some((path, target))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::MountRule;

    #[test]
    fn bind_mounts_are_allowed_by_path_only() {
        for text in ["bind", "rbind", "none", "", "srv/data", "tmp fs"] {
            assert!(text.parse::<MountRule>().is_err(), "{text}");
        }
        assert!(matches!("*".parse(), Ok(MountRule::Any)));
        assert!(matches!("/srv".parse(), Ok(MountRule::Source(_))));
        assert!(matches!("tmpfs".parse(), Ok(MountRule::FileSystem(_))));
    }
}
