//! Which kernel parameters a pod may ask for.

use std::str::FromStr;

use super::{ANY, AllowList, RuleError};
use crate::sysctl::is_sysctl_name;

/// A rule of `allow_sysctls`.
#[derive(Debug)]
pub(crate) enum SysctlRule {
    /// `*`.
    Any,
    /// `net.ipv4.*`: the start that the names have, with its last dot.
    Below(String),
    /// One parameter.
    Name(String),
}

impl FromStr for SysctlRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text == ANY {
            return Ok(Self::Any);
        }
        let (name, is_start) = match text.strip_suffix(".*") {
            Some(start) => (start, true),
            None => (text, false),
        };
        let has_dot = is_start || name.contains('.');
        if !has_dot || !is_sysctl_name(name) || name.contains('*') {
            return Err(RuleError::Sysctl);
        }
        Ok(if is_start {
            Self::Below(format!("{name}."))
        } else {
            Self::Name(name.to_owned())
        })
    }
}

impl AllowList<SysctlRule> {
    /// Whether a pod may set the parameter with this name.
    pub(crate) fn allow(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| match rule {
            SysctlRule::Any => true,
            SysctlRule::Below(start) => name.starts_with(start.as_str()),
            SysctlRule::Name(allowed) => allowed == name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AllowList, SysctlRule};

    fn allows(rule: &str, name: &str) -> bool {
        let rule: SysctlRule = rule.parse().unwrap();
        AllowList::new(vec![rule]).allow(name)
    }

    #[test]
    fn names_are_compared_whole_and_starts_end_at_a_dot() {
        assert!(allows("net.core.somaxconn", "net.core.somaxconn"));
        assert!(allows("net.core.*", "net.core.somaxconn"));
        assert!(allows("net.*", "net.core.somaxconn"));
        assert!(allows("*", "kernel.core_pattern"));
        for (rule, name) in [
            ("net.core.somaxconn", "net.core.somaxconn2"),
            ("net.core.somaxconn", "net.core.somaxcon"),
            ("net.core.*", "net.core2.x"),
            ("net.core.*", "net.core"),
            ("net.*", "kernel.net.x"),
        ] {
            assert!(!allows(rule, name), "{rule} {name}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "net",
            ".*",
            "net.*.x",
            "net.core*",
            "net/core/x",
            "-net.x",
            "net..x",
        ] {
            assert!(text.parse::<SysctlRule>().is_err(), "{text}");
        }
    }
}
