//! Which annotation counts, and annotations as a whole.

use nri_plugin_api::api::{ContainerAdjustment, LinuxContainerAdjustment};

use crate::asking::{
    CDI, DEV, DEV_OLD, IOP, MNT, MPOL, NET, SCH, SYS, adjusted, adjusted_linux, assert_rejected,
};

#[test]
fn annotations_that_ask_for_nothing_change_nothing() {
    let device = "- {path: /dev/x, type: c, major: 1, minor: 3}";
    for (row, annotations) in [
        ("D01", vec![]),
        (
            "D01",
            vec![("devices.noderesource.dev/container.c1", device)],
        ),
        ("D01", vec![("devices.noderesource.dev/c0", device)]),
        ("D15", vec![(DEV, "")]),
        ("D15", vec![(DEV, "[]")]),
        ("D15", vec![(DEV, "null")]),
        ("D15", vec![(DEV, "# nothing")]),
        (
            "D16",
            vec![("devices.noderesource.dev/container.c0", ""), (DEV, device)],
        ),
        (
            "other kinds",
            vec![("net.noderesource.dev", device), ("sysctl.nri.io", "x")],
        ),
        ("not ours", vec![("devices.example.com", "[")]),
    ] {
        let adjustment = adjusted(row, &annotations);
        assert_eq!(
            adjustment,
            ContainerAdjustment::default(),
            "{row}: {annotations:?}"
        );
    }
}

#[test]
fn an_empty_value_asks_for_nothing() {
    for (row, key) in [
        ("D36", IOP),
        ("D42", SCH),
        ("D44", NET),
        ("D49", SYS),
        ("D54", MPOL),
    ] {
        for value in ["", "~", "# nothing"] {
            let adjustment = adjusted_linux(row, key, value);
            assert_eq!(
                adjustment,
                LinuxContainerAdjustment::new(),
                "{row}: {value}"
            );
        }
    }
}

#[test]
fn the_most_specific_key_counts_and_the_newer_of_two_equal_ones() {
    let device = |name: &str| format!("- {{path: /dev/{name}, type: c, major: 1, minor: 3}}");
    let old_c0 = format!("{DEV_OLD}/container.c0");
    let new_c0 = format!("{DEV}/container.c0");
    let (new_pod, old_pod) = (format!("{DEV}/pod"), format!("{DEV_OLD}/pod"));
    for (row, keys, expected) in [
        ("D17", [(&*new_pod, "pod"), (&*old_c0, "oldc")], "/dev/oldc"),
        ("D18", [(DEV, "bare"), (&*old_pod, "oldpod")], "/dev/oldpod"),
        ("D19", [(&*old_c0, "oldc"), (&*new_c0, "newc")], "/dev/newc"),
    ] {
        let values = keys.map(|(key, name)| (key, device(name)));
        let annotations = values.each_ref().map(|(key, value)| (*key, value.as_str()));
        let linux = adjusted(row, &annotations).linux.unwrap_or_default();
        let devices = &linux.devices;
        let paths: Vec<&str> = devices.iter().map(|device| device.path.as_str()).collect();
        assert_eq!(paths, [expected], "{row}");
    }
}

#[test]
fn older_keys_and_keys_for_one_container_count_in_the_same_order() {
    for (row, old, new, value) in [
        (
            "D17",
            "io-priority.nri.io/container.c0",
            "io-priority.noderesource.dev/pod",
            "class: IOPRIO_CLASS_RT",
        ),
        (
            "D17",
            "scheduling-policy.nri.io/container.c0",
            "scheduling-policy.noderesource.dev/pod",
            "policy: SCHED_BATCH",
        ),
        (
            "D17",
            "network-devices.nri.io/container.c0",
            "network-devices.noderesource.dev/pod",
            "- hostIf: a",
        ),
        (
            "D17",
            "memory-policy.nri.io/container.c0",
            "memory-policy.noderesource.dev/pod",
            "mode: MPOL_LOCAL",
        ),
    ] {
        let expected = adjusted_linux(row, old, value);
        assert_ne!(expected, LinuxContainerAdjustment::new(), "{row}: {old}");
        let adjustment = adjusted(row, &[(new, "this is refused"), (old, value)]);
        assert_eq!(
            adjustment.linux.unwrap_or_default(),
            expected,
            "{row}: {old}"
        );
    }
}

#[test]
fn all_problems_are_told_at_once_and_nothing_is_injected() {
    let annotations = [
        (
            DEV,
            "[{path: /dev/null}, {path: x, type: q, uid: -1}, {path: /dev/absent}]",
        ),
        ("cdi-devices.nri.io/pod", "[a.com/x=y, bad]"),
        (MNT, "- {source: a, options: x}"),
    ];
    assert_rejected(
        "D56",
        &annotations,
        &[
            "devices.noderesource.dev: entry 2: path",
            "devices.noderesource.dev: entry 2: type",
            "devices.noderesource.dev: entry 2: uid",
            "devices.noderesource.dev: entry 3",
            "cdi-devices.nri.io/pod: entry 2",
            "mounts.noderesource.dev: entry 1: destination",
            "mounts.noderesource.dev: entry 1: options",
        ],
    );
}

#[test]
fn bombs_are_rejected() {
    let mut aliases = "- &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..20 {
        let repeated = vec![format!("*a{}", i - 1); 9].join(", ");
        aliases.push_str(&format!("- &a{i} [{repeated}]\n"));
    }
    let entries = "- a.com/x=y\n".repeat(300);
    for bomb in [aliases, "[".repeat(100_000), "- ".repeat(100_000), entries] {
        assert_rejected("bomb", &[(CDI, &bomb)], &[CDI]);
    }
}
