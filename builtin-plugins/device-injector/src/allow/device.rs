//! Which devices a pod may ask for.

use std::cell::OnceCell;
use std::collections::HashSet;
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
            let pattern: PathPattern = text.parse()?;
            // It is looked up while the runtime waits.
            if pattern.is_recursive() && !text.starts_with("/dev/") {
                return Err(RuleError::Recursive);
            }
            return Ok(Self::Node(pattern));
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
    /// Whether the rule allows the device without a look at the host.
    fn allows_number(&self, node: DeviceNode) -> bool {
        match self {
            Self::Any => true,
            Self::Number { kind, major, minor } => {
                *kind == node.kind
                    && major.is_none_or(|major| major == node.major)
                    && minor.is_none_or(|minor| minor == node.minor)
            }
            Self::Node(_) => false,
        }
    }

    /// Adds the devices that are at the rule's paths now.
    fn look_up(&self, host: &HostFiles, nodes: &mut HashSet<DeviceNode>) {
        let Self::Node(pattern) = self else {
            return;
        };
        match pattern.literal() {
            Some(path) => nodes.extend(host.device_at(path)),
            None => {
                let paths = host.matching(pattern.as_str());
                nodes.extend(paths.filter_map(|path| host.device_at(&path)));
            }
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

    /// The list as it is for one container.
    pub(crate) fn for_container<'a>(&'a self, host: &'a HostFiles) -> AllowedDevices<'a> {
        AllowedDevices {
            rules: &self.rules,
            host,
            at_paths: OnceCell::new(),
        }
    }
}

/// What one container may have. The runtime waits, so the paths of the rules are looked up once at
/// most, however many devices a pod asks for.
#[derive(Debug)]
pub(crate) struct AllowedDevices<'a> {
    rules: &'a [DeviceRule],
    host: &'a HostFiles,
    at_paths: OnceCell<HashSet<DeviceNode>>,
}

impl AllowedDevices<'_> {
    /// Whether a pod may have the device with these numbers. What is at the rules' paths decides:
    /// a pod can name its own node as it likes.
    pub(crate) fn allow(&self, node: DeviceNode) -> bool {
        self.rules.iter().any(|rule| rule.allows_number(node)) || self.at_paths().contains(&node)
    }

    fn at_paths(&self) -> &HashSet<DeviceNode> {
        self.at_paths.get_or_init(|| {
            let mut nodes = HashSet::new();
            for rule in self.rules {
                rule.look_up(self.host, &mut nodes);
            }
            nodes
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
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
        let list = AllowList::new(vec![rule]);
        let host = HostFiles::new(PathBuf::from("/"));
        list.for_container(&host).allow(node)
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
            "/dev/**/null",
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
    fn paths_are_looked_up_once_for_a_container() {
        let folder = tempfile::tempdir().unwrap();
        let rule = format!("{}/*", folder.path().display()).parse().unwrap();
        let list = AllowList::new(vec![rule]);
        let host = HostFiles::new(PathBuf::from("/"));
        let before = list.for_container(&host);
        assert!(!before.allow(NULL));
        symlink("/dev/null", folder.path().join("null")).unwrap();
        assert!(!before.allow(NULL), "the folder was read again");
        assert!(list.for_container(&host).allow(NULL));
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
            "/**",
            "/srv/**/dev/*",
        ] {
            assert!(text.parse::<DeviceRule>().is_err(), "{text}");
        }
    }
}
