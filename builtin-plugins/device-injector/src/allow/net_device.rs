//! Which network devices of the host a pod may ask for.

use std::str::FromStr;

use glob::Pattern;

use super::{AllowList, RuleError};

/// A rule of `allow_network_devices`: a name on the host or a glob, compared with the whole name.
#[derive(Debug)]
pub(crate) struct NetDeviceRule(Pattern);

impl FromStr for NetDeviceRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text.is_empty() || text.contains(['/', ':', ' ']) {
            return Err(RuleError::NetDevice);
        }
        Pattern::new(text).map(Self).map_err(RuleError::Glob)
    }
}

impl AllowList<NetDeviceRule> {
    /// Whether a pod may have the device with this name.
    pub(crate) fn allow(&self, host_name: &str) -> bool {
        self.rules.iter().any(|rule| rule.0.matches(host_name))
    }
}
