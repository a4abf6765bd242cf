//! What the runtime can do with CDI devices, and with what they consist of.

use nri_plugin_api::Runtime;

use crate::settings::Mode;

/// The parts of NRI that not all runtimes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Rules about devices are applied as they are sent (NRI 0.10).
    pub(crate) device_rules: bool,
    /// Network devices and the fields of RDT (NRI 0.11).
    pub(crate) net_devices_and_rdt: bool,
    /// A class of RDT is taken as the class of service that it names. CRI-O changes the name.
    pub(crate) rdt_class_is_clos_id: bool,
}

impl Capabilities {
    /// A runtime of which nothing is known has none of them.
    pub(crate) fn of(runtime: Option<&Runtime>) -> Self {
        let nri = runtime.and_then(|runtime| numbers(&runtime.nri_version));
        let at_least = |minor| nri.is_some_and(|nri| nri >= (0, minor, 0));
        Self {
            device_rules: at_least(10),
            net_devices_and_rdt: at_least(11),
            rdt_class_is_clos_id: runtime.is_some_and(|runtime| runtime.name == "containerd"),
        }
    }
}

/// Whether the runtime is to apply the devices.
pub(crate) fn is_native(mode: Mode, runtime: Option<&Runtime>) -> bool {
    match mode {
        Mode::Native => true,
        Mode::Resolve => false,
        Mode::Auto => runtime.is_some_and(applies_cdi_devices),
    }
}

/// Whether CDI devices of plugins take effect. Some runtimes know the field and drop it without an
/// error, so the NRI version does not tell.
fn applies_cdi_devices(runtime: &Runtime) -> bool {
    let Some(version) = numbers(&runtime.version) else {
        return false;
    };
    match runtime.name.as_str() {
        "containerd" => version >= (2, 1, 0) || ((1, 7, 30)..(1, 8, 0)).contains(&version),
        "cri-o" | "crio" => version >= (1, 34, 0),
        _ => false,
    }
}

/// Reads `v2.2.1-5-gabc.m` as far as it is numbers.
fn numbers(text: &str) -> Option<(u32, u32, u32)> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let mut parts = text.splitn(3, '.');
    let mut next = || {
        let part = parts.next()?;
        let end = part.find(|c: char| !c.is_ascii_digit());
        part[..end.unwrap_or(part.len())].parse().ok()
    };
    let (major, minor) = (next()?, next()?);
    Some((major, minor, next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::{Capabilities, Mode, Runtime, is_native};

    fn runtime(name: &str, version: &str, nri_version: &str) -> Runtime {
        Runtime {
            name: name.to_owned(),
            version: version.to_owned(),
            nri_version: nri_version.to_owned(),
        }
    }

    /// Row 20 of the table of cases.
    #[test]
    fn runtimes_that_apply_cdi_devices_are_told_by_name_and_version() {
        for (name, version, native) in [
            ("containerd", "v1.7.25", false),
            ("containerd", "v1.7.29", false),
            ("containerd", "v1.7.30", true),
            ("containerd", "1.7.35~ds1", true),
            ("containerd", "v1.8.0", false),
            ("containerd", "v2.0.11", false),
            ("containerd", "v2.1.0", true),
            ("containerd", "v2.2.1-5-gabc.m", true),
            ("containerd", "2.4", true),
            ("containerd", "2", false),
            ("containerd", "unknown", false),
            ("cri-o", "1.33.13", false),
            ("cri-o", "1.34.0", true),
            ("something", "9.9.9", false),
            ("", "", false),
        ] {
            let runtime = runtime(name, version, "0.12.0");
            assert_eq!(
                is_native(Mode::Auto, Some(&runtime)),
                native,
                "{name} {version}"
            );
            assert!(is_native(Mode::Native, Some(&runtime)));
            assert!(!is_native(Mode::Resolve, Some(&runtime)));
        }
        assert!(!is_native(Mode::Auto, None));
    }

    #[test]
    fn capabilities_come_with_versions_of_nri() {
        let of = |nri| Capabilities::of(Some(&runtime("containerd", "", nri)));
        let both = |nri| (of(nri).device_rules, of(nri).net_devices_and_rdt);
        assert_eq!(both(""), (false, false));
        assert_eq!(both("0.9.0"), (false, false));
        assert_eq!(both("v0.10.0"), (true, false));
        assert_eq!(both("0.11.0"), (true, true));
        assert_eq!(both("0.12.3"), (true, true));
        assert!(!Capabilities::of(Some(&runtime("cri-o", "", ""))).rdt_class_is_clos_id);
        assert!(!Capabilities::of(None).rdt_class_is_clos_id);
    }
}
