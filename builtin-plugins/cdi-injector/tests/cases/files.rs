//! Rows 3 to 15: which files give which devices.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use nri_cdi_injector::spec::Spec;

use crate::folder::{NEIGHBOUR, Node, broken, devices, file};

const ENV: &str = "{env: [A=1]}";

/// All of these files are rejected, and the one beside them is not.
fn all_rejected(row: &str, files: &[(&str, &[u8])]) {
    let node = Node::with(&[("neighbour.yaml", NEIGHBOUR)]);
    for (name, text) in files {
        node.write(name, text);
    }
    let index = node.index();
    assert_eq!(
        devices(&index),
        ["good.com/dev=ok"],
        "{row}: {:?}",
        index.problems()
    );
    let mut names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(broken(&index), names, "{row}");
}

fn verdict(text: &str) -> Result<(), String> {
    Spec::parse(text)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[test]
fn row_3_a_malformed_file_is_told_with_its_line_and_hurts_no_other() {
    let node = Node::with(&[
        ("bad.yaml", "cdiVersion: 0.6.0\nkind: [\n"),
        ("ok.yaml", NEIGHBOUR),
    ]);
    let index = node.index();
    assert_eq!(devices(&index), ["good.com/dev=ok"]);
    assert_eq!(broken(&index), ["bad.yaml"]);
    assert!(
        index.problems()[0].line.is_some(),
        "{}",
        index.problems()[0]
    );
    node.write("bad.yaml", file("0.6.0", ENV));
    let index = index.rescan(&node.folders());
    assert_eq!(devices(&index), ["acme.com/dev=d", "good.com/dev=ok"]);
    assert_eq!(index.problems(), []);
}

#[test]
fn row_4_files_without_data_are_rejected() {
    all_rejected(
        "4",
        &[
            ("comment.yaml", b"# nothing\n"),
            ("empty.json", b""),
            ("invalid.yaml", b"\xff\xfe"),
            ("list.json", b"[]"),
            ("map.json", b"{}"),
            ("nul.yaml", b"\0\0\0"),
            ("null.yaml", b"null"),
        ],
    );
}

#[test]
fn row_5_only_versions_that_there_are_count() {
    for version in ["", "\"1.1\"", "1.1", "1.1.1", "9.9.9", "0.2.0", "vv0.6.0"] {
        let text = file("0.6.0", ENV).replace("\"0.6.0\"", version);
        assert!(verdict(&text).is_err(), "{version}");
    }
    let absent = file("0.6.0", ENV).replace("cdiVersion: \"0.6.0\"\n", "");
    assert!(verdict(&absent).is_err());
    assert_eq!(verdict(&file("v0.6.0", ENV)), Ok(()));
}

#[test]
fn row_6_features_need_their_version() {
    let node = |hidden: &str| format!("{{deviceNodes: [{{path: /dev/x, {hidden}}}]}}");
    for (version, edits) in [
        ("0.4.0", node("hostPath: /dev/y").as_str()),
        (
            "0.3.0",
            "{mounts: [{hostPath: /a, containerPath: /b, type: tmpfs}]}",
        ),
        ("0.6.0", "{additionalGids: [1]}"),
        (
            "1.0.0",
            "{netDevices: [{hostInterfaceName: eth0, name: net0}]}",
        ),
        ("0.7.0", "{intelRdt: {schemata: []}}"),
        ("1.0.0", "{intelRdt: {enableCMT: true}}"),
        ("0.6.0", "{intelRdt: {closID: a}}"),
    ] {
        assert!(verdict(&file(version, edits)).is_err(), "{version} {edits}");
        if !edits.contains("enableCMT") {
            assert_eq!(verdict(&file("1.1.0", edits)), Ok(()), "{edits}");
        }
    }
    let dotted = |version| file(version, ENV).replace("acme.com/dev", "acme.com/d.v");
    assert!(verdict(&dotted("0.5.0")).is_err());
    assert_eq!(verdict(&dotted("0.6.0")), Ok(()));
    let digit = |version| file(version, ENV).replace("name: d", "name: 0");
    assert!(verdict(&digit("0.4.0")).is_err());
    assert_eq!(verdict(&digit("0.5.0")), Ok(()));
    assert_eq!(
        verdict(&file(
            "0.7.0",
            "{intelRdt: {enableMonitoring: false, closID: a}}"
        )),
        Ok(())
    );
    let error = verdict(&file("0.3.0", "{additionalGids: [1]}")).unwrap_err();
    assert!(
        error.contains("additionalGids needs cdiVersion 0.7.0"),
        "{error}"
    );
}

#[test]
fn row_7_unknown_fields_and_duplicates_are_rejected() {
    let good = file("0.6.0", ENV);
    let unknown = format!("{good}extra: 1\n");
    let nested = file("0.6.0", "{env: [A=1], extra: 1}");
    let key = format!("{good}kind: acme.com/dev\n");
    let json = NEIGHBOUR
        .replace("good", "bad")
        .replacen('{', "{kind: bad.com/dev, ", 1);
    let name = format!("{good}- name: d\n  containerEdits: {ENV}\n");
    all_rejected(
        "7",
        &[
            ("unknown.yaml", unknown.as_bytes()),
            ("nested.yaml", nested.as_bytes()),
            ("key.yaml", key.as_bytes()),
            ("key.json", json.as_bytes()),
            ("name.yaml", name.as_bytes()),
        ],
    );
    assert!(
        verdict(&name)
            .unwrap_err()
            .contains("\"d\": the name is there twice")
    );
}

#[test]
fn row_8_a_device_of_two_files_of_one_folder_is_nobodys() {
    let two = |other: &str| {
        format!(
            "{}- name: {other}\n  containerEdits: {ENV}\n",
            file("0.6.0", ENV)
        )
    };
    for (first, second) in [("a.yaml", "b.yaml"), ("z.yaml", "c.json")] {
        for also_later in [false, true] {
            let node = Node::with(&[(first, &two("x")), (second, &two("y"))]);
            if also_later {
                node.write_run("c.yaml", &file("0.6.0", ENV));
            }
            let index = node.index();
            assert_eq!(devices(&index), ["acme.com/dev=x", "acme.com/dev=y"]);
            let problems: Vec<_> = index.problems().iter().map(ToString::to_string).collect();
            assert_eq!(problems.len(), 2, "{problems:?}");
            for (own, other) in [(first, second), (second, first)] {
                let names_other = |text: &&String| {
                    text.starts_with(&*node.path(own).to_string_lossy()) && text.contains(other)
                };
                assert!(
                    problems.iter().any(|text| names_other(&text)),
                    "{problems:?}"
                );
            }
        }
    }
}

#[test]
fn row_9_the_later_folder_counts() {
    let whole = |value: &str| {
        format!(
            "{}containerEdits: {{env: [B={value}]}}\n",
            file("0.6.0", ENV)
        )
    };
    let node = Node::with(&[("a.yaml", &whole("etc"))]);
    node.write_run("b.yaml", &whole("run"));
    let index = node.index();
    assert_eq!(index.problems(), []);
    let found = index.find(&"acme.com/dev=d".parse().unwrap()).unwrap();
    assert_eq!(found.file.spec.edits.env, ["B=run"]);
}

#[test]
fn row_10_kinds_of_one_character_are_warned_of() {
    let node = Node::with(&[("a.yaml", &file("0.6.0", ENV).replace("acme.com/dev", "a/b"))]);
    let index = node.index();
    assert_eq!(devices(&index), ["a/b=d"]);
    assert!(
        index.problems()[0].text.contains("crash"),
        "{}",
        index.problems()[0]
    );
}

#[test]
fn row_11_links_are_followed_to_files_only() {
    let node = Node::with(&[]);
    let elsewhere = node.root.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("inner")).unwrap();
    fs::write(elsewhere.join("target"), file("0.6.0", ENV)).unwrap();
    symlink(elsewhere.join("target"), node.path("a.yaml")).unwrap();
    symlink("nowhere", node.path("b.yaml")).unwrap();
    symlink("c.yaml", node.path("c.yaml")).unwrap();
    symlink(elsewhere.join("inner"), node.path("d.yaml")).unwrap();
    fs::create_dir(node.path("sub")).unwrap();
    fs::write(node.path("sub/e.yaml"), NEIGHBOUR).unwrap();
    fs::create_dir(node.path("f.yaml")).unwrap();
    symlink(".", node.path("loop1")).unwrap();
    symlink(".", node.path("loop2")).unwrap();
    let index = node.index();
    assert_eq!(devices(&index), ["acme.com/dev=d"]);
    assert_eq!(broken(&index), ["b.yaml", "c.yaml", "d.yaml"]);
}

#[test]
fn row_12_only_two_suffixes_count() {
    let node = Node::new();
    for (i, name) in [
        "a.yml",
        "b.JSON",
        "c.yaml.bak",
        "d.yaml~",
        ".hid.yaml",
        ".json",
    ]
    .into_iter()
    .enumerate()
    {
        node.write(
            name,
            file("0.6.0", ENV).replace("name: d", &format!("name: d{i}")),
        );
    }
    assert_eq!(
        devices(&node.index()),
        ["acme.com/dev=d4", "acme.com/dev=d5"]
    );
}

#[test]
fn row_13_what_is_no_file_never_blocks() {
    let node = Node::with(&[("neighbour.yaml", NEIGHBOUR)]);
    let made = std::process::Command::new("mkfifo")
        .arg(node.path("a.json"))
        .status();
    assert!(made.unwrap().success());
    let _socket = UnixListener::bind(node.path("b.json")).unwrap();
    symlink("/dev/zero", node.path("c.json")).unwrap();
    symlink("/", node.path("d.json")).unwrap();
    node.write("e.json", vec![b' '; (4 << 20) + 1]);
    symlink(node.path("a.json"), node.path("f.json")).unwrap();
    let index = node.index();
    assert_eq!(devices(&index), ["good.com/dev=ok"]);
    assert_eq!(
        broken(&index),
        ["a.json", "b.json", "c.json", "d.json", "e.json", "f.json"]
    );
    let texts: Vec<_> = index.problems().iter().map(|p| p.text.as_str()).collect();
    for (text, part) in texts.iter().zip([
        "named pipe",
        "socket",
        "device",
        "folder",
        "longer",
        "named pipe",
    ]) {
        assert!(text.contains(part), "{texts:?}");
    }
}

#[test]
fn row_14_a_folder_that_cannot_be_read_costs_no_other() {
    let node = Node::new();
    node.write_run("ok.yaml", NEIGHBOUR);
    fs::remove_dir(node.path("")).unwrap();
    let index = node.index();
    assert_eq!(
        (devices(&index), index.problems().len()),
        (vec!["good.com/dev=ok"], 0)
    );
    fs::write(node.root.path().join("etc/cdi"), "a file").unwrap();
    let index = index.rescan(&node.folders());
    assert_eq!(devices(&index), ["good.com/dev=ok"]);
    assert_eq!(broken(&index), ["cdi"]);
}

#[test]
fn row_14_files_that_may_not_be_read_are_told() {
    let node = Node::with(&[("a.yaml", NEIGHBOUR), ("b.yaml", NEIGHBOUR)]);
    fs::set_permissions(node.path("a.yaml"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(node.path("a.yaml")).is_ok() {
        // Root may read it, so there is nothing to see.
        return;
    }
    let index = node.index();
    assert_eq!(devices(&index), ["good.com/dev=ok"]);
    assert_eq!(broken(&index), ["a.yaml"]);
}

#[test]
fn row_15_nothing_is_no_element_and_no_device() {
    let good = file("1.1.0", ENV);
    for text in [
        file("1.1.0", "{deviceNodes: [null]}"),
        file("1.1.0", "{hooks: [null]}"),
        "{cdiVersion: 1.1.0, kind: acme.com/dev, devices: [null]}".to_owned(),
        "{cdiVersion: 1.1.0, kind: acme.com/dev, devices: []}".to_owned(),
        "{cdiVersion: 1.1.0, kind: acme.com/dev, devices: [{name: d}]}".to_owned(),
        file("1.1.0", "{}"),
    ] {
        assert!(verdict(&text).is_err(), "{text}");
    }
    for text in [
        file(
            "1.1.0",
            "{env: null, mounts: [{hostPath: /a, containerPath: /b}]}",
        ),
        format!("{good}annotations: null\n"),
        format!("{good}containerEdits: {{}}\n"),
    ] {
        assert_eq!(verdict(&text), Ok(()), "{text}");
    }
}

#[test]
fn scalars_become_what_their_field_needs() {
    let numbered = file("1.1.0", ENV).replace("name: d", "name: 0\n  annotations: {a.b/c: 5}");
    assert_eq!(Spec::parse(&numbered).unwrap().devices[0].name, "0");
    for (mode, bits) in [("0666", 438), ("0o666", 438), ("438", 438), ("0", 0)] {
        let edits = format!("{{deviceNodes: [{{path: /dev/x, fileMode: {mode}}}]}}");
        let spec = Spec::parse(&file("1.1.0", &edits)).unwrap();
        let node = &spec.devices[0].edits.device_nodes[0];
        assert_eq!(node.file_mode, Some(bits), "{mode}");
    }
    for mode in ["rw", "-1", "0888", "5000000000", "1.5", "[1]", "\"438\""] {
        let edits = format!("{{deviceNodes: [{{path: /dev/x, fileMode: {mode}}}]}}");
        assert!(verdict(&file("1.1.0", &edits)).is_err(), "{mode}");
    }
}

#[test]
fn edits_that_cdi_does_not_allow_are_rejected() {
    for edits in [
        "{env: [A]}",
        "{env: [=1]}",
        "{deviceNodes: [{path: \"\"}]}",
        "{deviceNodes: [{path: /dev/x, type: x}]}",
        "{deviceNodes: [{path: /dev/x, permissions: rx}]}",
        "{mounts: [{hostPath: /a}]}",
        "{mounts: [{containerPath: /a}]}",
        "{hooks: [{hookName: before, path: /bin/x}]}",
        "{hooks: [{hookName: prestart}]}",
        "{hooks: [{hookName: prestart, path: /bin/x, env: [A]}]}",
        "{intelRdt: {closID: a/b}}",
        "{intelRdt: {closID: ..}}",
        "{netDevices: [{hostInterfaceName: a, name: b}, {hostInterfaceName: a, name: c}]}",
        "{netDevices: [{hostInterfaceName: a, name: c}, {hostInterfaceName: b, name: c}]}",
        "{netDevices: [{hostInterfaceName: a}]}",
        "{additionalGids: [-1]}",
    ] {
        assert!(verdict(&file("1.1.0", edits)).is_err(), "{edits}");
    }
    assert_eq!(verdict(&file("1.1.0", "{intelRdt: {closID: /}}")), Ok(()));
}
