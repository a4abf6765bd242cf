//! Who may have which device.

use glob::Pattern;
use nri_plugin_api::ConfigMistakes;
use nri_plugin_api::cdi::{DeviceName, Kind};
use serde::Deserialize;

/// The rule that allows all.
const ANY: &str = "*";

/// An entry of the setting `allow`: pods of these namespaces may have these devices.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawAllowance {
    /// Names or globs of Kubernetes namespaces.
    pub namespaces: Vec<String>,
    /// `vendor.com/class`, `vendor.com/class=name`, or `*`.
    pub devices: Vec<String>,
}

/// What one entry allows.
#[derive(Debug)]
pub(crate) struct Allowance {
    namespaces: Vec<Pattern>,
    devices: Vec<DeviceRule>,
}

/// A rule about devices. All are compared whole.
#[derive(Debug)]
enum DeviceRule {
    Any,
    Kind(Kind),
    Device(DeviceName),
}

/// All entries: what one of them allows is allowed.
#[derive(Debug)]
pub(crate) struct AllowList(Vec<Allowance>);

impl AllowList {
    /// Whether a pod of this namespace may have this device.
    pub(crate) fn allows(&self, namespace: &str, name: &DeviceName) -> bool {
        self.0.iter().any(|allowance| {
            let namespaces = &allowance.namespaces;
            namespaces.iter().any(|pattern| pattern.matches(namespace))
                && allowance.devices.iter().any(|rule| rule.allows(name))
        })
    }
}

impl DeviceRule {
    fn allows(&self, name: &DeviceName) -> bool {
        match self {
            Self::Any => true,
            Self::Kind(kind) => kind.as_str() == name.kind(),
            Self::Device(device) => device == name,
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let expected = |error| {
            format!("expected \"vendor.com/class\", \"vendor.com/class=name\", or \"*\": {error}")
        };
        if text == ANY {
            return Ok(Self::Any);
        }
        if text.contains('=') {
            return text.parse().map(Self::Device).map_err(expected);
        }
        text.parse().map(Self::Kind).map_err(expected)
    }
}

impl Allowance {
    /// Reads the entries, and notes each mistake under its key.
    pub(crate) fn check_all(raw: &[RawAllowance], mistakes: &mut ConfigMistakes) -> AllowList {
        let mut entries = Vec::new();
        for (i, entry) in raw.iter().enumerate() {
            let key = |list: &str| format!("allow[{i}].{list}");
            let namespaces = read(&key("namespaces"), &entry.namespaces, namespace, mistakes);
            let devices = read(&key("devices"), &entry.devices, DeviceRule::parse, mistakes);
            entries.push(Self {
                namespaces,
                devices,
            });
        }
        AllowList(entries)
    }
}

fn namespace(text: &str) -> Result<Pattern, String> {
    if text.is_empty() || text.contains('/') {
        return Err("expected the name of a namespace, or a glob".to_owned());
    }
    Pattern::new(text).map_err(|error| format!("this is no glob: {error}"))
}

/// Reads a list, of which an empty one would have no effect.
fn read<R>(
    key: &str,
    texts: &[String],
    parse: impl Fn(&str) -> Result<R, String>,
    mistakes: &mut ConfigMistakes,
) -> Vec<R> {
    if texts.is_empty() {
        mistakes.add(key, "is empty, so the entry allows nothing");
    }
    let mut rules = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        match parse(text) {
            Ok(rule) => rules.push(rule),
            Err(error) => mistakes.add(format!("{key}[{i}]"), format!("{text:?}: {error}")),
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::ConfigMistakes;

    use super::{AllowList, Allowance, RawAllowance};

    fn list(entries: &[(&[&str], &[&str])]) -> AllowList {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let raw: Vec<_> = entries
            .iter()
            .map(|(namespaces, devices)| RawAllowance {
                namespaces: texts(namespaces),
                devices: texts(devices),
            })
            .collect();
        let mut mistakes = ConfigMistakes::new();
        let list = Allowance::check_all(&raw, &mut mistakes);
        mistakes.into_result().unwrap();
        list
    }

    fn allows(list: &AllowList, namespace: &str, name: &str) -> bool {
        list.allows(namespace, &name.parse().unwrap())
    }

    #[test]
    fn nothing_is_allowed_by_default() {
        assert!(!allows(&list(&[]), "default", "acme.com/gpu=0"));
    }

    #[test]
    fn kinds_are_compared_whole() {
        let list = list(&[(&["*"], &["acme.com/gpu", "acme.com/nic=0"])]);
        for name in ["acme.com/gpu=0", "acme.com/gpu=all", "acme.com/nic=0"] {
            assert!(allows(&list, "default", name), "{name}");
        }
        for name in [
            "acme.com/gpu2=0",
            "acme.com/gp=u",
            "acme.com.evil/gpu=0",
            "evil-acme.com/gpu=0",
            "evil.com/gpu=0",
            "ACME.com/gpu=0",
            "acme.com/nic=00",
            "acme.com/nic=1",
        ] {
            assert!(!allows(&list, "default", name), "{name}");
        }
    }

    #[test]
    fn namespaces_are_compared_whole() {
        let list = list(&[(&["gpu-jobs", "team-*"], &["*"])]);
        for namespace in ["gpu-jobs", "team-a", "team-"] {
            assert!(allows(&list, namespace, "acme.com/gpu=0"), "{namespace}");
        }
        for namespace in [
            "gpu",
            "gpu-job",
            "gpu-jobs-2",
            "my-gpu-jobs",
            "team",
            "a-team-a",
            "",
        ] {
            assert!(!allows(&list, namespace, "acme.com/gpu=0"), "{namespace}");
        }
    }

    #[test]
    fn an_entry_allows_its_devices_to_its_namespaces_only() {
        let list = list(&[(&["a"], &["acme.com/gpu"]), (&["b"], &["acme.com/nic"])]);
        assert!(allows(&list, "a", "acme.com/gpu=0") && allows(&list, "b", "acme.com/nic=0"));
        assert!(!allows(&list, "a", "acme.com/nic=0") && !allows(&list, "b", "acme.com/gpu=0"));
    }
}
