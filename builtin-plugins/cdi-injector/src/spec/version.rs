//! Versions of CDI, and which one a file needs.

use super::{ContainerEdits, RawSpec};

/// The versions that there are, in order.
const VERSIONS: [&str; 10] = [
    "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0",
];

/// A version that there is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(usize);

impl Version {
    /// Reads it; a `v` may stand before it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        VERSIONS.iter().position(|known| *known == text).map(Self)
    }

    pub(super) fn as_str(self) -> &'static str {
        VERSIONS[self.0]
    }
}

/// Names a version of the table.
const fn version(index: usize) -> Version {
    Version(index)
}

const V0_3: Version = version(2);
const V0_4: Version = version(3);
const V0_5: Version = version(4);
const V0_6: Version = version(5);
const V0_7: Version = version(6);
const V1_1: Version = version(9);

/// The lowest version that a file may declare, and what it needs it for.
pub(super) fn needed(spec: &RawSpec) -> (Version, &'static str) {
    let mut needs = vec![(V0_3, "anything")];
    let class = spec.kind.split_once('/').map_or("", |(_, class)| class);
    if class.contains('.') {
        needs.push((V0_6, "a dot in the class"));
    }
    if !spec.annotations.is_empty() {
        needs.push((V0_6, "annotations"));
    }
    of_edits(&spec.container_edits, &mut needs);
    for device in &spec.devices {
        let device = &device.value;
        if device.name.starts_with(|c: char| c.is_ascii_digit()) {
            needs.push((V0_5, "a name that starts with a digit"));
        }
        if !device.annotations.is_empty() {
            needs.push((V0_6, "annotations"));
        }
        of_edits(&device.container_edits, &mut needs);
    }
    let highest = needs.into_iter().max_by_key(|(version, _)| *version);
    highest.expect("every file needs a version")
}

fn of_edits(edits: &ContainerEdits, needs: &mut Vec<(Version, &'static str)>) {
    if edits.mounts.iter().any(|mount| !mount.kind.is_empty()) {
        needs.push((V0_4, "type of a mount"));
    }
    if edits
        .device_nodes
        .iter()
        .any(|node| !node.host_path.is_empty())
    {
        needs.push((V0_5, "hostPath of a device node"));
    }
    if !edits.additional_gids.is_empty() {
        needs.push((V0_7, "additionalGids"));
    }
    if !edits.net_devices.is_empty() {
        needs.push((V1_1, "netDevices"));
    }
    if let Some(rdt) = &edits.intel_rdt {
        needs.push((V0_7, "intelRdt"));
        if rdt.schemata.is_some() {
            needs.push((V1_1, "intelRdt.schemata"));
        }
        if rdt.enable_monitoring {
            needs.push((V1_1, "intelRdt.enableMonitoring"));
        }
    }
}
