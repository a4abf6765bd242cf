//! Whatever authors of pods write, the component answers.

use nri_device_injector::DeviceInjector;
use nri_plugin_api::testing::{self, Harness, Outcome, json};
use proptest::prelude::*;

/// Texts that are nearly YAML of the right kind.
fn value() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("- ".to_owned()),
        Just("{path: /dev/null, ".to_owned()),
        Just("{source: /, destination: ".to_owned()),
        Just("type: ".to_owned()),
        Just("major: ".to_owned()),
        Just("file_mode: 0".to_owned()),
        Just("options: [".to_owned()),
        Just("{class: IOPRIO_CLASS_BE, priority: ".to_owned()),
        Just("{policy: SCHED_FIFO, priority: ".to_owned()),
        Just("flags: [SCHED_FLAG_RECLAIM, ".to_owned()),
        Just("{mode: MPOL_BIND, nodes: ".to_owned()),
        Just("{hostIf: eth0, name: ".to_owned()),
        Just("net.core.somaxconn: ".to_owned()),
        Just("&a ".to_owned()),
        Just("*a, ".to_owned()),
        Just("a.com/b=".to_owned()),
        Just("!!int \"5\"".to_owned()),
        Just("}]\n".to_owned()),
        Just("\"".to_owned()),
        Just("\n  ".to_owned()),
        "[0-9_.:eExXobé+-]{1,8}",
        "\\PC{1,4}",
        any::<String>(),
    ];
    proptest::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn no_annotation_breaks_the_component(
        devices in value(),
        mounts in value(),
        cdi in value(),
        others in value(),
    ) {
        let mut injector = Harness::<DeviceInjector>::create(json!({
            "allow_devices": ["c *:*", "/dev/n*"],
            "allow_mounts": ["/srv", "tmpfs"],
            "allow_cdi_devices": ["a.com/b"],
            "allow_network_devices": ["e*"],
            "allow_sysctls": ["net.*"],
            "allow_io_priorities": ["*"],
            "allow_scheduling_policies": ["*"],
            "allow_memory_policies": ["*"],
        }))?;
        let pod = testing::pod("p", [
            ("devices.noderesource.dev", devices.as_str()),
            ("mounts.nri.io/pod", mounts.as_str()),
            ("cdi-devices.noderesource.dev/container.c0", cdi.as_str()),
            ("io-priority.noderesource.dev", others.as_str()),
            ("scheduling-policy.noderesource.dev", others.as_str()),
            ("network-devices.noderesource.dev", others.as_str()),
            ("sysctl.noderesource.dev", others.as_str()),
            ("memory-policy.noderesource.dev", others.as_str()),
        ]);
        match injector.create_container(&pod, &testing::container(&pod, "c0")) {
            Outcome::Answer(_) => {}
            Outcome::Rejected(reason) => {
                prop_assert!(reason.len() <= 1024, "{}", reason);
                prop_assert!(!reason.contains(char::is_control), "{}", reason);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
