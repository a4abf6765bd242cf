//! CDI devices, which the runtime applies.

use nri_plugin_api::api::ContainerAdjustment;
use nri_plugin_api::testing::json;

use crate::asking::{CDI, CDI_OLD, DEV, adjusted, ask, assert_rejected};

#[test]
fn cdi_devices_are_passed_on_by_name() {
    for (row, key, value, expected) in [
        (
            "D24",
            "cdi-devices.noderesource.dev/container.c0",
            "- vendor0.com/device=null\n- vendor1.com/device=dev0",
            vec!["vendor0.com/device=null", "vendor1.com/device=dev0"],
        ),
        ("D25", CDI_OLD, "[a.com/x=y]", vec!["a.com/x=y"]),
    ] {
        let adjustment = adjusted(row, &[(key, value)]);
        let names: Vec<&str> = adjustment
            .CDI_devices
            .iter()
            .map(|d| d.name.as_str())
            .collect();
        assert_eq!(names, expected, "{row}");
    }
    for (row, value, expected) in [
        ("D26", "- not a cdi name", "entry 1"),
        (
            "D27",
            "- - vendor0.com/device=zero",
            "entry 1: expected a name, not a list",
        ),
        ("D27", "vendor0.com/device=zero", "expected a list"),
        ("D27", "a: b", "expected a list, not a mapping"),
        ("D28", "- 1\n- true", "entry 2"),
        (
            "twice",
            "[a.com/x=y, a.com/x=y]",
            "entry 2: a.com/x=y is there already",
        ),
        ("removal", "[-a.com/x=y]", "entry 1"),
    ] {
        assert_rejected(row, &[(CDI, value)], &[CDI, expected]);
    }
}

#[test]
fn cdi_devices_can_be_left_to_another_component() {
    let config = json!({ "cdi_devices": false, "allow_devices": ["/dev/null"] });
    for key in [CDI, "cdi-devices.nri.io/pod"] {
        for value in ["- a.com/x=y", "this is no list"] {
            let answer = ask(config.clone(), key, value).answer();
            assert_eq!(answer, ContainerAdjustment::new(), "{key} {value}");
        }
    }
    let answer = ask(config, DEV, "- path: /dev/null").answer();
    assert_eq!(answer.linux.devices.len(), 1);
}
