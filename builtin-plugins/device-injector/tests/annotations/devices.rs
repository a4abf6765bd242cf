//! Device nodes.

use nri_plugin_api::api::LinuxDevice;

use crate::asking::{DEV, adjusted_linux, assert_rejected};

fn devices(row: &str, value: &str) -> Vec<String> {
    let adjustment = adjusted_linux(row, DEV, value);
    adjustment.devices.iter().map(text).collect()
}

/// A device in the words of the table: path, type, numbers, and what else is set.
fn text(device: &LinuxDevice) -> String {
    let mut text = format!(
        "{} {} {}:{}",
        device.path, device.type_, device.major, device.minor
    );
    for (name, value) in [
        ("mode", device.file_mode.as_ref().map(|mode| mode.value)),
        ("uid", device.uid.as_ref().map(|uid| uid.value)),
        ("gid", device.gid.as_ref().map(|gid| gid.value)),
    ] {
        if let Some(value) = value {
            text.push_str(&format!(" {name}={value}"));
        }
    }
    text
}

#[test]
fn devices_are_injected_as_they_are_written() {
    const X: &str = "path: /dev/x, type: c, major: 1, minor: 3";
    for (row, value, expected) in [
        ("D02", format!("- {{{X}}}"), "/dev/x c 1:3"),
        (
            "D03",
            format!("- {{{X}, file_mode: 0666, uid: 10, gid: 20}}"),
            "/dev/x c 1:3 mode=438 uid=10 gid=20",
        ),
        (
            "D04",
            format!("- {{{X}, file_mode: 0o660}}"),
            "/dev/x c 1:3 mode=432",
        ),
        (
            "D04",
            format!("- {{{X}, file_mode: 438}}"),
            "/dev/x c 1:3 mode=438",
        ),
        // A quoted number is a number.
        (
            "D05",
            format!("- {{{X}, file_mode: \"0666\"}}"),
            "/dev/x c 1:3 mode=438",
        ),
        // User and group 0 can be asked for; mode 0 leaves the choice to the runtime.
        (
            "D06",
            format!("- {{{X}, file_mode: 0, uid: 0, gid: 0}}"),
            "/dev/x c 1:3 uid=0 gid=0",
        ),
        (
            "D08",
            "- {Path: /dev/x, TYPE: c, Major: 1, minor: 3, File_Mode: 0600, fileMode: 0666}"
                .to_owned(),
            "/dev/x c 1:3 mode=384",
        ),
        ("D09", format!("- {{{X}, bogus: 1}}"), "/dev/x c 1:3"),
        (
            "D14",
            "- {path: /dev/x, type: c, major: 1.0, minor: \"3\"}".to_owned(),
            "/dev/x c 1:3",
        ),
        (
            "D20",
            r#"[{"path":"/dev/x","type":"b","major":8,"minor":0}]"#.to_owned(),
            "/dev/x b 8:0",
        ),
        (
            "type u",
            "- {path: /dev/x, type: u, major: 1, minor: 3}".to_owned(),
            "/dev/x c 1:3",
        ),
        (
            "null",
            format!("- {{{X}, uid: ~, gid: null, file_mode: }}"),
            "/dev/x c 1:3",
        ),
        (
            "unclean",
            "- {path: /dev//x/, type: c, major: 1, minor: 3}".to_owned(),
            "/dev/x c 1:3",
        ),
    ] {
        assert_eq!(devices(row, &value), [expected], "{row}: {value}");
    }
}

#[test]
fn numbers_come_from_the_node_on_the_host_where_they_are_absent() {
    for value in [
        "- path: /dev/null",
        "- {path: /dev/null, type: c}",
        "- {path: /dev/null, major: 1, minor: 3}",
    ] {
        assert_eq!(devices(value, value), ["/dev/null c 1:3"]);
    }
    for (value, reason) in [
        ("- path: /dev/absent", "no device on this node"),
        ("- path: /etc/passwd", "no device on this node"),
        ("- path: /dev", "no device on this node"),
        ("- {path: /dev/null, type: b}", "is c 1:3"),
        ("- {path: /dev/null, major: 8, minor: 0}", "is c 1:3"),
        (
            "- {path: /dev/null, type: c, major: 1}",
            "major and minor belong together",
        ),
        (
            "- {path: /dev/null, type: c, minor: 3}",
            "major and minor belong together",
        ),
    ] {
        assert_rejected(value, &[(DEV, value)], &[DEV, "entry 1", reason]);
    }
}

#[test]
fn bad_devices_are_rejected_with_annotation_entry_and_field() {
    for (row, value, expected) in [
        (
            "D07",
            "- {path: /dev/x, type: c, major: 1, minor: 3, uid: -1}",
            "entry 1: uid",
        ),
        (
            "D07",
            "- {path: /dev/x, type: c, major: 1, minor: 3, uid: 4294967296}",
            "entry 1: uid",
        ),
        ("D10", "- {}", "entry 1: path: is missing"),
        (
            "D11",
            "- {path: relative, type: c, major: 1, minor: 3}",
            "entry 1: path: expected an absolute",
        ),
        (
            "D11",
            "- {path: /dev/x, type: zz, major: 1, minor: 3}",
            "entry 1: type",
        ),
        (
            "D11",
            "- {path: /dev/x, type: c, major: -5, minor: 3}",
            "entry 1: major",
        ),
        // To a runtime -1 is every number.
        (
            "D11",
            "- {path: /dev/x, type: c, major: 1, minor: -1}",
            "entry 1: minor",
        ),
        ("D12", "path: /dev/x", "expected a list, not a mapping"),
        ("D12", "/dev/null", "expected a list, not \"/dev/null\""),
        ("D12", "- /dev/null", "entry 1: expected a mapping"),
        ("D12", "- ~", "entry 1: expected a mapping"),
        ("D13", "- path: [unclosed", "not valid YAML"),
        ("D13", "- path: /dev/x\n\ttype: c", "not valid YAML"),
        (
            "D14",
            "- {path: /dev/x, type: c, major: 1.5, minor: 3}",
            "entry 1: major",
        ),
        (
            "D21",
            "[{path: /dev/null}, {path: /dev/zero}, {path: /dev//null}]",
            "entry 3: path: /dev/null is there",
        ),
        (
            "D22",
            "- {path: -/dev/x, type: c, major: 1, minor: 3}",
            "entry 1: path: \"-/dev/x\" starts with '-'",
        ),
        (
            "D23",
            "- {path: /dev/null}\n---\n- {path: /dev/zero}",
            "not valid YAML",
        ),
        (
            "0888",
            "- {path: /dev/null, file_mode: 0888}",
            "entry 1: file_mode: expected a number from 0 to 4095, not \"0888\"",
        ),
        (
            "mode",
            "- {path: /dev/null, file_mode: 010000}",
            "entry 1: file_mode",
        ),
        (
            "pipe",
            "- {path: /dev/x, type: p}",
            "entry 1: type: a named pipe",
        ),
        (
            "a",
            "- {path: /dev/x, type: a, major: 1, minor: 3}",
            "entry 1: type",
        ),
        (
            "major",
            "- {path: /dev/x, type: c, major: 4097, minor: 3}",
            "entry 1: major",
        ),
        (
            "minor",
            "- {path: /dev/x, type: c, major: 1, minor: 1048579}",
            "entry 1: minor",
        ),
        (
            "..",
            "- {path: /dev/../x, type: c, major: 1, minor: 3}",
            "entry 1: path",
        ),
        (
            "twice",
            "- {path: /dev/null, PATH: /dev/null}",
            "entry 1: \"PATH\" is there twice",
        ),
        (
            "list",
            "- {path: [/dev/null]}",
            "entry 1: path: expected a text, not a list",
        ),
    ] {
        assert_rejected(row, &[(DEV, value)], &[DEV, expected]);
    }
}
