//! What authors of pods write into the annotations of the device injector: whatever it is, the
//! component answers or rejects, and never takes what an administrator did not allow.
//!
//! The first byte of the input says of which kind the annotation is, the rest is its value.

#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use nri_device_injector::DeviceInjector;
use nri_plugin_api::testing::{self, Harness, Outcome, json};

const KEYS: [&str; 8] = [
    "devices.noderesource.dev",
    "cdi-devices.noderesource.dev",
    "mounts.noderesource.dev",
    "io-priority.noderesource.dev",
    "scheduling-policy.noderesource.dev",
    "network-devices.noderesource.dev",
    "sysctl.noderesource.dev",
    "memory-policy.noderesource.dev",
];

thread_local! {
    static INJECTOR: RefCell<Harness<DeviceInjector>> = RefCell::new(injector());
}

fn injector() -> Harness<DeviceInjector> {
    Harness::create(json!({
        "allow_devices": ["c 1:3"],
        "allow_cdi_devices": ["vendor.com/gpu"],
        "allow_mounts": ["tmpfs"],
        "allow_network_devices": ["ens*"],
        "allow_sysctls": ["net.core.*"],
        "allow_io_priorities": ["IOPRIO_CLASS_BE"],
        "allow_scheduling_policies": ["SCHED_BATCH"],
        "allow_memory_policies": ["MPOL_PREFERRED"],
    }))
    .expect("the settings are fine")
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, value)) = input.split_first() else {
        return;
    };
    let Ok(value) = std::str::from_utf8(value) else {
        return;
    };
    let key = KEYS[usize::from(kind) % KEYS.len()];
    let pod = testing::pod("p", [(key, value)]);
    let container = testing::container(&pod, "c0");
    INJECTOR.with_borrow_mut(
        |injector| match injector.create_container(&pod, &container) {
            Outcome::Answer(answer) => check(&answer.adjust),
            Outcome::Rejected(reason) => {
                assert!(reason.len() <= 1024 && !reason.contains(char::is_control));
            }
            other => panic!("{other:?}"),
        },
    );
});

/// Nothing but what is allowed.
fn check(adjust: &nri_plugin_api::api::ContainerAdjustment) {
    let linux = &adjust.linux;
    for device in &linux.devices {
        assert_eq!(
            (device.type_.as_str(), device.major, device.minor),
            ("c", 1, 3)
        );
        assert!(device.path.starts_with('/'));
    }
    for mount in &adjust.mounts {
        assert_eq!(mount.type_, "tmpfs");
        assert!(mount.destination.starts_with('/'));
        let bound = |option: &String| option.split(',').any(|part| part.ends_with("bind"));
        assert!(!mount.options.iter().any(bound));
    }
    for device in &adjust.CDI_devices {
        assert!(device.name.starts_with("vendor.com/gpu="));
    }
    assert!(linux.net_devices.keys().all(|name| name.starts_with("ens")));
    assert!(
        linux
            .sysctl
            .keys()
            .all(|name| name.starts_with("net.core."))
    );
}
