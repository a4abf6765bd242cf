//! Network devices, and kernel parameters.

use nri_plugin_api::api::LinuxContainerAdjustment;

use crate::asking::{NET, SYS, adjusted_linux, assert_refused, linux};

fn net_devices(devices: &[(&str, Option<&str>)]) -> LinuxContainerAdjustment {
    let mut devices = devices.iter();
    linux(|a| devices.try_fold(a, |a, (host, name)| a.add_net_device(*host, *name)))
}

fn sysctls(parameters: &[(&str, &str)]) -> LinuxContainerAdjustment {
    let mut parameters = parameters.iter();
    linux(|a| parameters.try_fold(a, |a, (name, value)| a.set_sysctl(*name, *value)))
}

#[test]
fn network_devices_are_moved_under_the_names_that_are_written() {
    for (row, value, expected) in [
        (
            "D44",
            "- hostIf: ens2.100\n  Name: netdev0",
            net_devices(&[("ens2.100", Some("netdev0"))]),
        ),
        ("D45", "- hostIf: eth5", net_devices(&[("eth5", None)])),
        (
            "null",
            "- {hostIf: eth5, name: ~}",
            net_devices(&[("eth5", None)]),
        ),
        // A name stays as it is written, even where YAML once took it for a boolean.
        (
            "D46",
            "[{hostIf: a, name: x}, {hostIf: b, name: y}]",
            net_devices(&[("a", Some("x")), ("b", Some("y"))]),
        ),
    ] {
        assert_eq!(adjusted_linux(row, NET, value), expected, "{row}");
    }
    for (row, value, expected) in [
        (
            "D46",
            "[{hostIf: a, name: x}, {hostIf: a, name: y}]",
            "entry 2: network device \"a\" is set twice",
        ),
        ("D47", "- ~", "entry 1: expected a mapping, not nothing"),
        ("D48", "hostIf: eth5", "expected a list, not a mapping"),
        ("missing", "- name: x", "entry 1: hostIf: is missing"),
        (
            "inside",
            "[{hostIf: a, name: x}, {hostIf: x}]",
            "entry 2: name: x is there already",
        ),
        (
            "removal",
            "- hostIf: -eth0",
            "entry 1: network device \"-eth0\" starts with '-'",
        ),
        (
            "removal",
            "- {hostIf: eth0, name: -x}",
            "entry 1: network device \"-x\" starts with '-'",
        ),
        (
            "name",
            "- {hostIf: eth0, name: a/b}",
            "entry 1: network device \"a/b\": a name has",
        ),
    ] {
        assert_refused(row, NET, value, expected);
    }
}

#[test]
fn kernel_parameters_are_set_as_they_are_written() {
    for (row, value, expected) in [
        (
            "D49",
            "net.core.somaxconn: \"256\"",
            sysctls(&[("net.core.somaxconn", "256")]),
        ),
        (
            "D50",
            "{k.a: 5, k.b: yes, k.c: 010, k.d: , k.E: 1_0}",
            sysctls(&[
                ("k.a", "5"),
                ("k.b", "yes"),
                ("k.c", "010"),
                ("k.d", ""),
                ("k.E", "1_0"),
            ]),
        ),
    ] {
        assert_eq!(adjusted_linux(row, SYS, value), expected, "{row}");
    }
    for (row, value, expected) in [
        (
            "D51",
            "net.core: {somaxconn: 1}",
            "net.core: expected a text, not a mapping",
        ),
        (
            "D51",
            "- net.core.somaxconn",
            "expected a mapping, not a list",
        ),
        (
            "removal",
            "-net.x: 1",
            "-net.x: expected the name of a kernel parameter",
        ),
        (
            "slash",
            "net/core/somaxconn: 1",
            "net/core/somaxconn: expected the name",
        ),
        (
            "slash",
            "net.../../kernel/x: 1",
            "net.../../kernel/x: expected the name",
        ),
        ("word", "somaxconn: 1", "somaxconn: expected the name"),
        ("twice", "{net.x: 1, net.x: 2}", "this is not valid YAML"),
    ] {
        assert_refused(row, SYS, value, expected);
    }
    let adjustment = adjusted_linux("D52", "sysctl.nri.io", "net.core.somaxconn: 1");
    assert_eq!(adjustment, LinuxContainerAdjustment::new(), "D52");
}
