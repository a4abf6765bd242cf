//! Which devices a pod may ask for.

use std::path::Path;
use std::str::FromStr;

use nri_plugin_api::DeviceKind;

use super::path::PathPattern;
use super::{ANY, AllowList, RuleError};
use crate::host_files::{DeviceNode, HostFiles};

/// A rule of `allow_devices`.
#[derive(Debug)]
pub(crate) enum DeviceRule {
    /// `*`.
    Any,
    /// The devices whose nodes are at such paths on the host.
    Node(PathPattern),
    /// `c 10:229`; a number that is not given can be any.
    Number {
        kind: DeviceKind,
        major: Option<u32>,
        minor: Option<u32>,
    },
}

impl FromStr for DeviceRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text == ANY {
            return Ok(Self::Any);
        }
        if text.starts_with('/') {
            return text.parse().map(Self::Node);
        }
        let (letter, numbers) = text.split_once(' ').ok_or(RuleError::Device)?;
        let kind = match letter {
            "c" => DeviceKind::Character,
            "b" => DeviceKind::Block,
            _ => return Err(RuleError::Device),
        };
        let (major, minor) = numbers.split_once(':').ok_or(RuleError::DeviceNumber)?;
        Ok(Self::Number {
            kind,
            major: number(major)?,
            minor: number(minor)?,
        })
    }
}

fn number(text: &str) -> Result<Option<u32>, RuleError> {
    if text == ANY {
        return Ok(None);
    }
    let number = text.parse().map_err(|_| RuleError::DeviceNumber)?;
    Ok(Some(number))
}

impl DeviceRule {
    fn allows(&self, node: DeviceNode, host: &HostFiles) -> bool {
        match self {
            Self::Any => true,
            Self::Number { kind, major, minor } => {
                *kind == node.kind
                    && major.is_none_or(|major| major == node.major)
                    && minor.is_none_or(|minor| minor == node.minor)
            }
            // What is at these paths decides, now: a pod can name its own node as it likes.
            Self::Node(pattern) => match pattern.literal() {
                Some(path) => host.device_at(path) == Some(node),
                None => host
                    .matching(pattern.as_str())
                    .any(|path| host.device_at(&path) == Some(node)),
            },
        }
    }
}

impl AllowList<DeviceRule> {
    /// Whether pods may have the host's file at this path looked at. Elsewhere than in `/dev` and
    /// where the rules are, a pod could name a file system that never answers.
    pub(crate) fn allow_lookup(&self, path: &Path) -> bool {
        let named = |rule: &DeviceRule| match rule {
            DeviceRule::Node(pattern) => pattern.covers(path),
            DeviceRule::Any | DeviceRule::Number { .. } => false,
        };
        path.starts_with("/dev") || self.rules.iter().any(named)
    }

    /// Whether a pod may have the device with these numbers.
    pub(crate) fn allow(&self, node: DeviceNode, host: &HostFiles) -> bool {
        self.rules.iter().any(|rule| rule.allows(node, host))
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use nri_plugin_api::DeviceKind::{Block, Character};

    use super::{AllowList, DeviceRule};
    use crate::host_files::{DeviceNode, HostFiles};

    const NULL: DeviceNode = DeviceNode {
        kind: Character,
        major: 1,
        minor: 3,
    };

    fn allows(rule: &str, node: DeviceNode) -> bool {
        let rule: DeviceRule = rule.parse().unwrap();
        AllowList::new(vec![rule]).allow(node, &HostFiles::new(PathBuf::from("/")))
    }

    #[test]
    fn numbers_decide_and_kinds_differ() {
        for rule in [
            "*",
            "c 1:3",
            "c 1:*",
            "c *:*",
            "/dev/null",
            "/dev/nul[l]",
            "/d*/n*",
        ] {
            assert!(allows(rule, NULL), "{rule}");
        }
        for rule in [
            "b 1:3",
            "c 1:30",
            "c 11:3",
            "/dev/zero",
            "/dev/nul",
            "/dev",
            "/dev/z*",
        ] {
            assert!(!allows(rule, NULL), "{rule}");
        }
        let block = DeviceNode {
            kind: Block,
            ..NULL
        };
        assert!(!allows("/dev/null", block));
    }

    #[test]
    fn files_are_looked_at_in_dev_and_where_rules_are() {
        let rule: DeviceRule = "/srv/dev/*".parse().unwrap();
        let list = AllowList::new(vec![rule]);
        for path in ["/dev/null", "/dev/bus/usb/001/002", "/srv/dev/x"] {
            assert!(list.allow_lookup(Path::new(path)), "{path}");
        }
        for path in ["/net/host/x", "/devices/x", "/srv/dev", "/"] {
            assert!(!list.allow_lookup(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "null",
            "dev/null",
            "c",
            "c 1",
            "c 1:",
            "c 1:x",
            "c -1:3",
            "a 1:3",
            "c  1:3",
            "c 1:3 rwm",
            "/dev/../etc",
            "/dev/[",
        ] {
            assert!(text.parse::<DeviceRule>().is_err(), "{text}");
        }
    }
}
