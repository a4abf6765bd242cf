//! Mounts.

use nri_plugin_api::api::Mount;

use crate::asking::{MNT, adjusted, assert_rejected};

/// A mount in the words of the table.
fn mount_text(mount: &Mount) -> String {
    let (kind, options) = (&mount.type_, mount.options.join("|"));
    format!("{} -> {} {kind} {options}", mount.source, mount.destination)
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
