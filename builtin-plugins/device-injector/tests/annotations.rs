//! What annotations lead to, row by row. The numbers of rows are those of
//! `docs/components/device-injector.md`.

use nri_device_injector::DeviceInjector;
use nri_plugin_api::api::{ContainerAdjustment, LinuxDevice, Mount};
use nri_plugin_api::testing::{self, Harness, Outcome, json};

const DEV: &str = "devices.noderesource.dev";
const DEV_OLD: &str = "devices.nri.io";
const CDI: &str = "cdi-devices.noderesource.dev";
const CDI_OLD: &str = "cdi-devices.nri.io";
const MNT: &str = "mounts.noderesource.dev";

/// Asks an injector that allows everything about the container `c0`.
fn ask(annotations: &[(&str, &str)]) -> Outcome<ContainerAdjustment> {
    let mut injector = Harness::<DeviceInjector>::create(json!({
        "allow_devices": ["*"],
        "allow_mounts": ["*"],
        "allow_cdi_devices": ["*"],
    }))
    .expect("the settings are fine");
    let pod = testing::pod("p", annotations.iter().copied());
    match injector.create_container(&pod, &testing::container(&pod, "c0")) {
        Outcome::Answer(response) => Outcome::Answer(response.adjust.unwrap_or_default()),
        Outcome::Rejected(reason) => Outcome::Rejected(reason),
        other => panic!("{annotations:?}: {other:?}"),
    }
}

fn adjusted(row: &str, annotations: &[(&str, &str)]) -> ContainerAdjustment {
    match ask(annotations) {
        Outcome::Answer(adjustment) => adjustment,
        other => panic!("{row}: {other:?}"),
    }
}

fn devices(row: &str, annotations: &[(&str, &str)]) -> Vec<LinuxDevice> {
    let adjustment = adjusted(row, annotations);
    adjustment.linux.into_option().unwrap_or_default().devices
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

/// A mount in the words of the table.
fn mount_text(mount: &Mount) -> String {
    let (kind, options) = (&mount.type_, mount.options.join("|"));
    format!("{} -> {} {kind} {options}", mount.source, mount.destination)
}

#[track_caller]
fn assert_rejected(row: &str, annotations: &[(&str, &str)], expected: &[&str]) {
    let reason = match ask(annotations) {
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
        let devices: Vec<String> = devices(row, &[(DEV, &value)]).iter().map(text).collect();
        assert_eq!(devices, [expected], "{row}: {value}");
    }
}

#[test]
fn numbers_come_from_the_node_on_the_host_where_they_are_absent() {
    for value in [
        "- path: /dev/null",
        "- {path: /dev/null, type: c}",
        "- {path: /dev/null, major: 1, minor: 3}",
    ] {
        let devices: Vec<String> = devices(value, &[(DEV, value)]).iter().map(text).collect();
        assert_eq!(devices, ["/dev/null c 1:3"], "{value}");
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
        let devices = devices(row, &annotations);
        let paths: Vec<&str> = devices.iter().map(|device| device.path.as_str()).collect();
        assert_eq!(paths, [expected], "{row}");
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
fn mounts_are_injected_as_they_are_written() {
    for (row, value, expected) in [
        (
            "D29",
            "- source: /home\n  destination: /host-home\n  type: bind\n  options: [bind, ro]",
            "/home -> /host-home bind bind|ro",
        ),
        (
            "D32",
            "- {source: tmpfs, destination: /s, type: tmpfs, options: [mode=1777, 5, true]}",
            "tmpfs -> /s tmpfs mode=1777|5|true",
        ),
        // Without an option that says so, runtimes would not bind.
        (
            "type",
            "- {source: /a, destination: /b, options: [ro]}",
            "/a -> /b bind rbind|ro",
        ),
        (
            "type",
            "- {source: /a, destination: /b, type: none, options: [bind]}",
            "/a -> /b bind bind",
        ),
        (
            "source",
            "- {destination: /b, type: tmpfs}",
            "tmpfs -> /b tmpfs ",
        ),
        (
            "case",
            "- {Source: /a, DESTINATION: /b/, Type: bind}",
            "/a -> /b bind rbind",
        ),
    ] {
        let adjustment = adjusted(row, &[(MNT, value)]);
        let mounts: Vec<String> = adjustment.mounts.iter().map(mount_text).collect();
        assert_eq!(mounts, [expected], "{row}");
    }
}

#[test]
fn bad_mounts_are_rejected_with_annotation_entry_and_field() {
    for (row, value, expected) in [
        (
            "D30",
            "- {source: /a, destination: /b, options: bind}",
            "entry 1: options: expected a list",
        ),
        (
            "D31",
            "- source: /a\n  destination: /b\n  options:\n    - option0\n      option1",
            "entry 1: options 1: \"option0 option1\" is not one option",
        ),
        (
            "D33",
            "- {source: /a, type: bind}",
            "entry 1: destination: is missing",
        ),
        (
            "source",
            "- {destination: /b, type: bind}",
            "entry 1: source: is missing",
        ),
        (
            "source",
            "- {source: a, destination: /b}",
            "entry 1: source: expected an absolute path",
        ),
        (
            "source",
            "- {source: \"/a\\0b\", destination: /b}",
            "entry 1: source: is no path",
        ),
        (
            "relative",
            "- {source: /a, destination: b}",
            "entry 1: destination: expected an absolute",
        ),
        (
            "removal",
            "- {source: /a, destination: -/b}",
            "entry 1: destination: \"-/b\" starts with '-'",
        ),
        (
            "root",
            "- {source: /a, destination: /}",
            "entry 1: destination",
        ),
        (
            "twice",
            "[{source: /a, destination: /b}, {source: /c, destination: /b/}]",
            "entry 2: destination: /b is there already",
        ),
        (
            "remount",
            "- {source: /a, destination: /b, options: [bind, remount]}",
            "entry 1: options 2",
        ),
        (
            "option",
            "- {source: /a, destination: /b, options: [[x], '']}",
            "entry 1: options 1: expected a text",
        ),
    ] {
        assert_rejected(row, &[(MNT, value)], &[MNT, expected]);
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

#[test]
fn unknown_fields_are_ignored_and_logged_in_one_line() {
    let mut injector = Harness::<DeviceInjector>::create(json!({"allow_devices": ["*"]})).unwrap();
    let value = "[{path: /dev/null, fileMode: 0600, x: 1}, {path: /dev/zero, y: 1}]";
    let pod = testing::pod("p", [(DEV, value)]);
    let container = testing::container(&pod, "c0");
    let _answer = injector.create_container(&pod, &container).answer();
    let logs = injector.logs();
    assert_eq!(logs.len(), 2, "{logs:?}");
    assert_eq!(logs[0].level, testing::LogLevel::Warn);
    assert!(
        logs[0].message.contains("unknown field \"fileMode\""),
        "{logs:?}"
    );
    assert!(logs[0].message.contains("count=3"), "{logs:?}");
}

#[test]
fn what_is_injected_is_logged_once() {
    let mut injector = Harness::<DeviceInjector>::create(json!({"allow_devices": ["*"]})).unwrap();
    let pod = testing::pod(
        "p",
        [(
            "devices.nri.io/container.c0",
            "[{path: /dev/null}, {path: /dev/zero}]",
        )],
    );
    for name in ["c0", "c1"] {
        let container = testing::container(&pod, name);
        let _answer = injector.create_container(&pod, &container).answer();
    }
    let logs = injector.logs();
    assert_eq!(logs.len(), 1, "{logs:?}");
    for part in ["default", "p", "c0", "/dev/null (c 1:3), /dev/zero (c 1:5)"] {
        assert!(logs[0].message.contains(part), "{logs:?}");
    }
}

#[test]
fn nothing_that_is_injected_is_left_out_of_the_log() {
    let config = json!({"allow_devices": ["*"], "allow_mounts": ["*"]});
    let mut injector = Harness::<DeviceInjector>::create(config).unwrap();
    let devices: String = (0..256)
        .map(|n| {
            format!(
                "- {{path: \"/dev/{n}\\n, {}\", type: c, major: 1, minor: 3}}\n",
                "x".repeat(900)
            )
        })
        .collect();
    let mounts = format!(
        "- {{source: /{}/secret, destination: /x}}",
        "a/".repeat(1500)
    );
    let pod = testing::pod("p", [(DEV, devices.as_str()), (MNT, mounts.as_str())]);
    let outcome = injector.create_container(&pod, &testing::container(&pod, "c0"));
    assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
    let logs = injector.logs();
    for n in 0..256 {
        let quoted = format!("\"/dev/{n}\\n, ");
        let told = |line: &str| {
            line.replace("\\\"", "\"")
                .replace("\\\\", "\\")
                .contains(&quoted)
        };
        assert!(
            logs.iter().any(|log| told(&log.message)),
            "{n}: {}",
            logs[0].message
        );
    }
    assert!(logs[0].message.contains("/secret -> /x"), "{logs:?}");
    assert!(logs.iter().all(|log| log.message.len() < 8 << 10));
}
