//! Asks an injector about the container `c0` of a pod.

use nri_device_injector::DeviceInjector;
use nri_plugin_api::api::{ContainerAdjustment, LinuxContainerAdjustment};
use nri_plugin_api::testing::{self, Harness, Outcome, Value, json};
use nri_plugin_api::{Adjustment, AdjustmentError};

pub(crate) const DEV: &str = "devices.noderesource.dev";
pub(crate) const DEV_OLD: &str = "devices.nri.io";
pub(crate) const CDI: &str = "cdi-devices.noderesource.dev";
pub(crate) const CDI_OLD: &str = "cdi-devices.nri.io";
pub(crate) const MNT: &str = "mounts.noderesource.dev";
pub(crate) const IOP: &str = "io-priority.noderesource.dev";
pub(crate) const SCH: &str = "scheduling-policy.noderesource.dev";
pub(crate) const NET: &str = "network-devices.noderesource.dev";
pub(crate) const SYS: &str = "sysctl.noderesource.dev";
pub(crate) const MPOL: &str = "memory-policy.noderesource.dev";

/// The settings that allow everything.
pub(crate) fn everything() -> Value {
    json!({
        "allow_devices": ["*"],
        "allow_mounts": ["*"],
        "allow_cdi_devices": ["*"],
        "allow_io_priorities": ["*"],
        "allow_scheduling_policies": ["*"],
        "allow_network_devices": ["*"],
        "allow_sysctls": ["*"],
        "allow_memory_policies": ["*"],
    })
}

/// What comes of the annotations of a pod in a namespace, with these settings.
pub(crate) fn ask_in(
    namespace: &str,
    config: Value,
    annotations: &[(&str, &str)],
) -> Outcome<ContainerAdjustment> {
    let mut injector = Harness::<DeviceInjector>::create(config).expect("the settings are fine");
    let mut pod = testing::pod("p", annotations.iter().copied());
    pod.namespace = namespace.to_owned();
    match injector.create_container(&pod, &testing::container(&pod, "c0")) {
        Outcome::Answer(response) => Outcome::Answer(response.adjust.unwrap_or_default()),
        Outcome::Rejected(reason) => Outcome::Rejected(reason),
        other => panic!("{annotations:?}: {other:?}"),
    }
}

/// The same for one annotation of a pod in the default namespace.
pub(crate) fn ask(config: Value, key: &str, value: &str) -> Outcome<ContainerAdjustment> {
    ask_in("default", config, &[(key, value)])
}

/// What annotations lead to where everything is allowed.
#[track_caller]
pub(crate) fn adjusted(row: &str, annotations: &[(&str, &str)]) -> ContainerAdjustment {
    match ask_in("default", everything(), annotations) {
        Outcome::Answer(adjustment) => adjustment,
        other => panic!("{row}: {other:?}"),
    }
}

/// The same of one annotation, as far as it is about Linux.
#[track_caller]
pub(crate) fn adjusted_linux(row: &str, key: &str, value: &str) -> LinuxContainerAdjustment {
    let adjustment = adjusted(row, &[(key, value)]);
    adjustment.linux.into_option().unwrap_or_default()
}

/// The annotations are refused, even where everything is allowed, for a reason with these parts.
#[track_caller]
pub(crate) fn assert_rejected(row: &str, annotations: &[(&str, &str)], expected: &[&str]) {
    let reason = match ask_in("default", everything(), annotations) {
        Outcome::Rejected(reason) => reason,
        other => panic!("{row}: {other:?}"),
    };
    for part in expected {
        assert!(
            reason.contains(part),
            "{row}: {part:?} is not in {reason:?}"
        );
    }
}

/// The same for one annotation, whose key is followed by the reason.
#[track_caller]
pub(crate) fn assert_refused(row: &str, key: &str, value: &str, expected: &str) {
    assert_rejected(row, &[(key, value)], &[&format!("{key}: {expected}")]);
}

/// What an adjustment has once something is set.
pub(crate) fn linux(
    set: impl FnOnce(&mut Adjustment) -> Result<&mut Adjustment, AdjustmentError>,
) -> LinuxContainerAdjustment {
    let mut adjustment = Adjustment::new();
    set(&mut adjustment).expect("it can be set");
    adjustment.message().linux.clone().unwrap_or_default()
}
