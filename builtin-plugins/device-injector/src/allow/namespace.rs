//! Whose pods may ask for anything.

use std::str::FromStr;

use glob::Pattern;

use super::{AllowList, RuleError};

/// A rule of `allow_namespaces`: a name or a glob, compared with the whole name.
#[derive(Debug)]
pub(crate) struct NamespaceRule(Pattern);

impl FromStr for NamespaceRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text.is_empty() || text.contains('/') {
            return Err(RuleError::Namespace);
        }
        Pattern::new(text).map(Self).map_err(RuleError::Glob)
    }
}

impl AllowList<NamespaceRule> {
    /// Whether pods of this namespace may ask for anything.
    pub(crate) fn allow(&self, namespace: &str) -> bool {
        self.rules.iter().any(|rule| rule.0.matches(namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::{AllowList, NamespaceRule};

    #[test]
    fn names_are_compared_whole() {
        let rule = |text: &str| text.parse::<NamespaceRule>().unwrap();
        let list = AllowList::new(vec![rule("gpu-jobs"), rule("team-*")]);
        for name in ["gpu-jobs", "team-a", "team-"] {
            assert!(list.allow(name), "{name}");
        }
        for name in [
            "gpu",
            "gpu-job",
            "gpu-jobs-2",
            "my-gpu-jobs",
            "team",
            "a-team-b",
            "",
        ] {
            assert!(!list.allow(name), "{name}");
        }
    }
}
