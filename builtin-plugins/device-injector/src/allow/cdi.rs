//! Which CDI devices a pod may ask for.

use std::str::FromStr;

use nri_plugin_api::cdi::{DeviceName, Kind};

use super::{ANY, AllowList, RuleError};

/// A rule of `allow_cdi_devices`.
#[derive(Debug)]
pub(crate) enum CdiRule {
    /// `*`.
    Any,
    /// All devices of a vendor's class.
    Kind(Kind),
    /// One device.
    Device(DeviceName),
}

impl FromStr for CdiRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text == ANY {
            return Ok(Self::Any);
        }
        if text.contains('=') {
            let name = text.parse().map_err(RuleError::CdiDevice)?;
            return Ok(Self::Device(name));
        }
        let kind = text.parse().map_err(RuleError::CdiDevice)?;
        Ok(Self::Kind(kind))
    }
}

impl AllowList<CdiRule> {
    /// Whether a pod may have this device.
    pub(crate) fn allow(&self, name: &DeviceName) -> bool {
        self.rules.iter().any(|rule| match rule {
            CdiRule::Any => true,
            CdiRule::Kind(kind) => kind.as_str() == name.kind(),
            CdiRule::Device(device) => device == name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AllowList, CdiRule};

    fn allows(rule: &str, name: &str) -> bool {
        let rule: CdiRule = rule.parse().unwrap();
        AllowList::new(vec![rule]).allow(&name.parse().unwrap())
    }

    #[test]
    fn a_kind_is_compared_whole() {
        assert!(allows("acme.com/gpu", "acme.com/gpu=0"));
        assert!(allows("acme.com/gpu=0", "acme.com/gpu=0"));
        assert!(allows("*", "acme.com/gpu=0"));
        for other in [
            "acme.com/gpu2=0",
            "acme.com.evil/gpu=0",
            "evil.com/gpu=0",
            "acme.com/gp=u",
        ] {
            assert!(!allows("acme.com/gpu", other), "{other}");
        }
        assert!(!allows("acme.com/gpu=0", "acme.com/gpu=00"));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "acme.com",
            "acme.com/",
            "/gpu",
            "acme.com/gpu=",
            "acme.com/*",
            "a/b/c",
        ] {
            assert!(text.parse::<CdiRule>().is_err(), "{text}");
        }
    }
}
