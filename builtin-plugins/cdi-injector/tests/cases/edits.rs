//! Edits in containers, where the component applies them.

use std::fs;

use nri_plugin_api::api::{self, ContainerAdjustment, LinuxDevice};
use nri_plugin_api::protobuf::MessageField;
use nri_plugin_api::testing::{Outcome, json};

use crate::folder::{Node, env, file, try_edits};

const ENV: &str = "{env: [A=1]}";

/// Every edit that there is, but for additional groups.
const EVERYTHING: &str = "
    env: [A=1, B=a=b]
    deviceNodes:
    - {path: /dev/node, hostPath: /dev/null, permissions: rw}
    - {path: /dev/block, type: b, major: 7, minor: 1, fileMode: 0640, uid: 5, gid: 6, permissions: rwm}
    netDevices: [{hostInterfaceName: eth7, name: net0}]
    hooks:
    - {hookName: prestart, path: /bin/a, args: [a, b], env: [X=1], timeout: 3}
    - {hookName: createRuntime, path: /bin/b}
    - {hookName: createContainer, path: /bin/c}
    - {hookName: startContainer, path: /bin/d}
    - {hookName: poststart, path: /bin/e}
    - {hookName: poststop, path: /bin/f}
    mounts: [{hostPath: /a, containerPath: /b, type: bind, options: [ro, rbind]}]
    intelRdt: {closID: gold, schemata: [\"L3:0=f\"], enableMonitoring: true}
";

fn everything(more: &str) -> String {
    format!(
        "cdiVersion: 1.1.0\nkind: acme.com/dev\ndevices:\n- name: d\n  \
         containerEdits:{EVERYTHING}{more}\n"
    )
}

fn user(uid: u32, gid: u32) -> api::Container {
    api::Container {
        user: MessageField::some(api::User {
            uid,
            gid,
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn devices(adjustment: &ContainerAdjustment) -> Vec<LinuxDevice> {
    adjustment
        .linux
        .as_ref()
        .map_or(Vec::new(), |linux| linux.devices.clone())
}

/// A device in the words of the table: path, type, numbers, and what else is set.
fn text(device: &LinuxDevice) -> String {
    let mut text = format!(
        "{} {} {}:{}",
        device.path, device.type_, device.major, device.minor
    );
    if let Some(mode) = device.file_mode.as_ref() {
        text.push_str(&format!(" mode={:o}", mode.value));
    }
    for (name, id) in [("uid", &device.uid), ("gid", &device.gid)] {
        if let Some(id) = id.as_ref() {
            text.push_str(&format!(" {name}={}", id.value));
        }
    }
    text
}

#[test]
fn row_1_yaml_and_json_bring_the_same_and_nothing_else() {
    let yaml = file("0.6.0", ENV);
    let json = "\u{feff}{\n\t\"cdiVersion\": \"0.6.0\",\n\t\"kind\": \"acme.com/dev\",\n\t\"devices\": \
                [{\"name\": \"d\", \"containerEdits\": {\"env\": [\"A=1\"]}}]\n}\n";
    for (name, contents) in [("a.yaml", yaml.as_str()), ("a.json", json)] {
        let node = Node::with(&[(name, contents)]);
        let mut adjustment = node.injector(&json!({})).adjustment(&["acme.com/dev=d"]);
        assert_eq!(env(&adjustment), ["A=1"], "{name}");
        adjustment.env.clear();
        assert_eq!(adjustment, ContainerAdjustment::default(), "{name}");
    }
}

#[test]
fn row_2_every_edit_has_its_field() {
    let node = Node::with(&[("a.yaml", &everything(""))]);
    // The test may run where /dev/null is, which is everywhere.
    let mut injector = node.injector(&json!({}));
    injector.container = Some(user(1000, 1001));
    injector
        .harness
        .set_runtime("containerd", "v2.2.9", "0.11.0");
    let adjustment = injector.adjustment(&["acme.com/dev=d"]);
    assert_eq!(env(&adjustment), ["A=1", "B=a=b"]);
    let nodes: Vec<_> = devices(&adjustment).iter().map(text).collect();
    let mode = null_mode();
    assert_eq!(
        nodes,
        [
            format!("/dev/node c 1:3 mode={mode:o} uid=1000 gid=1001"),
            "/dev/block b 7:1 mode=640 uid=5 gid=6".to_owned(),
        ]
    );
    let hooks = adjustment.hooks.as_ref().unwrap();
    let paths = [
        &hooks.prestart,
        &hooks.create_runtime,
        &hooks.create_container,
        &hooks.start_container,
        &hooks.poststart,
        &hooks.poststop,
    ]
    .map(|hooks| {
        hooks
            .iter()
            .map(|hook| hook.path.as_str())
            .collect::<Vec<_>>()
            .join(",")
    });
    assert_eq!(
        paths,
        ["/bin/a", "/bin/b", "/bin/c", "/bin/d", "/bin/e", "/bin/f"]
    );
    let hook = &hooks.prestart[0];
    assert_eq!(
        (hook.args.join(" "), hook.env.join(" ")),
        ("a b".to_owned(), "X=1".to_owned())
    );
    assert_eq!(hook.timeout.as_ref().map(|timeout| timeout.value), Some(3));
    let mount = &adjustment.mounts[0];
    assert_eq!(
        (mount.source.as_str(), mount.destination.as_str()),
        ("/a", "/b")
    );
    assert_eq!(
        (mount.type_.as_str(), mount.options.join(",")),
        ("bind", "ro,rbind".to_owned())
    );
    let linux = adjustment.linux.as_ref().unwrap();
    assert_eq!(linux.net_devices["eth7"].name, "net0");
    let rdt = linux.rdt.as_ref().unwrap();
    assert_eq!(rdt.clos_id.as_ref().unwrap().value, "gold");
    assert_eq!(rdt.schemata.as_ref().unwrap().value, ["L3:0=f"]);
    assert!(rdt.enable_monitoring.as_ref().unwrap().value);
    assert!(linux.resources.is_none());

    node.write("a.yaml", everything("    additionalGids: [44]"));
    let refusal = node.injector(&json!({})).refusal(&["acme.com/dev=d"]);
    assert!(refusal.contains("additionalGids [44]"), "{refusal}");
}

/// The permission bits of the host's /dev/null.
fn null_mode() -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata("/dev/null")
        .expect("every machine has it")
        .permissions()
        .mode()
        & 0o7777
}

#[test]
fn row_16_device_nodes_are_completed_from_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let regular = folder.path().join("regular");
    let link = folder.path().join("link");
    fs::write(&regular, "").unwrap();
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let mode = format!(" mode={:o}", null_mode());
    let node = |fields: &str| format!("{{deviceNodes: [{{{fields}, permissions: rw}}]}}");
    let outcome = |fields: &str| try_edits(&node(fields), &json!({}));
    for (case, fields, expected) in [
        (1, "path: /dev/null", format!("/dev/null c 1:3{mode}")),
        (
            2,
            "path: /dev/x, hostPath: /dev/null",
            format!("/dev/x c 1:3{mode}"),
        ),
        (
            3,
            "path: /dev/null, hostPath: \"\"",
            format!("/dev/null c 1:3{mode}"),
        ),
        (
            4,
            "path: /dev/absent, type: c, major: 195",
            "/dev/absent c 195:0".to_owned(),
        ),
        (
            5,
            "path: /dev/null, type: c, major: 0, minor: 0",
            format!("/dev/null c 1:3{mode}"),
        ),
        (
            12,
            "path: /dev/x, type: u, major: 1, minor: 3",
            "/dev/x c 1:3".to_owned(),
        ),
    ] {
        let Outcome::Answer(adjustment) = outcome(fields) else {
            panic!("{case}: {:?}", outcome(fields));
        };
        let texts: Vec<_> = devices(&adjustment).iter().map(text).collect();
        assert_eq!(texts, [expected], "{case}");
    }
    for (case, fields, reason) in [
        (6, "path: /dev/absent".to_owned(), "/dev/absent"),
        (
            7,
            format!("path: /dev/x, hostPath: {}", link.display()),
            "is no device node",
        ),
        (
            8,
            format!("path: /dev/x, hostPath: {}", regular.display()),
            "is no device node",
        ),
        (
            9,
            "path: /dev/null, type: b".to_owned(),
            "is not of type \"b\"",
        ),
        (
            10,
            "path: /dev/null, type: u".to_owned(),
            "type \"u\" needs its numbers",
        ),
        (11, "path: /dev/pipe, type: p".to_owned(), "FIFO"),
        (
            13,
            "path: /dev/x, hostPath: dev/null".to_owned(),
            "no absolute path",
        ),
        (
            14,
            "path: /dev/x, type: c, major: -1".to_owned(),
            "no device number",
        ),
    ] {
        let Outcome::Rejected(text) = outcome(&fields) else {
            panic!("{case}: {:?}", outcome(&fields));
        };
        assert!(text.contains(reason), "{case}: {text}");
    }
}

#[test]
fn row_16_a_device_that_gets_other_numbers_is_looked_up_again() {
    // A link above the node is followed, so another node can be put in the place of the first
    // without the right to make one.
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = at("link/null");
    let edits = format!(
        "{{deviceNodes: [{{path: /dev/x, hostPath: {}, permissions: rw}}]}}",
        path.display()
    );
    let node = Node::with(&[("a.yaml", &file("0.6.0", &edits))]);
    let mut injector = node.injector(&json!({}));
    fs::create_dir(at("empty")).unwrap();
    std::os::unix::fs::symlink(at("empty"), at("link")).unwrap();
    assert!(injector.refusal(&["acme.com/dev=d"]).contains("link/null"));
    fs::remove_file(at("link")).unwrap();
    std::os::unix::fs::symlink("/dev", at("link")).unwrap();
    let adjustment = injector.adjustment(&["acme.com/dev=d"]);
    assert_eq!(
        (devices(&adjustment)[0].major, devices(&adjustment)[0].minor),
        (1, 3)
    );
}

#[test]
fn row_17_edits_are_merged_by_key() {
    let first = "cdiVersion: 1.1.0
kind: acme.com/one
containerEdits: {env: [SPEC=1, A=spec]}
devices:
- name: x
  containerEdits:
    env: [A=x, B=x]
    mounts: [{hostPath: /x, containerPath: /m}]
    deviceNodes: [{path: /dev/n, type: c, major: 1, minor: 3, permissions: rw}]
    hooks: [{hookName: prestart, path: /bin/h}]
- name: y
  containerEdits:
    env: [B=y]
    mounts: [{hostPath: /y, containerPath: /m}, {hostPath: /y, containerPath: /s, options: [rbind, rslave]}]
    hooks: [{hookName: prestart, path: /bin/h}]
    netDevices: [{hostInterfaceName: eth0, name: a}]
";
    let second = "{cdiVersion: 1.1.0, kind: acme.com/two, devices: [{name: z, containerEdits: {env: \
        [C=z, A=z], mounts: [{hostPath: /z, containerPath: /t}], deviceNodes: [{path: /dev/n, type: \
        c, major: 1, minor: 5, permissions: rw}], netDevices: [{hostInterfaceName: eth0, name: b}]}}]}";
    let node = Node::with(&[("one.yaml", first), ("two.yaml", second)]);
    let mut injector = node.injector(&json!({}));
    let names = ["acme.com/one=x", "acme.com/one=x", "acme.com/one=y"];
    let adjustment = injector.adjustment(&names);
    assert_eq!(env(&adjustment), ["SPEC=1", "A=x", "B=y"]);
    let mounts = |adjustment: &ContainerAdjustment| -> Vec<String> {
        let text = |mount: &api::Mount| format!("{} {}", mount.source, mount.destination);
        adjustment.mounts.iter().map(text).collect()
    };
    assert_eq!(mounts(&adjustment), ["/y /m", "/y /s"]);
    assert_eq!(adjustment.hooks.as_ref().unwrap().prestart.len(), 1);

    let refusal = injector.refusal(&["acme.com/one=y", "acme.com/two=z"]);
    assert!(refusal.contains("\"eth0\""), "{refusal}");
    let adjustment = injector.adjustment(&["acme.com/one=x", "acme.com/two=z"]);
    assert_eq!(env(&adjustment), ["SPEC=1", "A=z", "B=x", "C=z"]);
    let minors: Vec<_> = devices(&adjustment)
        .iter()
        .map(|device| device.minor)
        .collect();
    assert_eq!(minors, [5]);
}

#[test]
fn row_17_mounts_that_propagate_come_last() {
    let edits = "{mounts: [{hostPath: /a, containerPath: /a, options: [rbind, rshared]}, \
                 {hostPath: /b, containerPath: /b}]}";
    let Outcome::Answer(adjustment) = try_edits(edits, &json!({})) else {
        panic!("refused");
    };
    let order: Vec<_> = adjustment
        .mounts
        .iter()
        .map(|m| m.destination.as_str())
        .collect();
    assert_eq!(order, ["/b", "/a"]);
}

#[test]
fn row_18_what_would_remove_something_is_refused() {
    for (edits, name) in [
        ("{env: [-PATH=x]}", "-PATH"),
        (
            "{mounts: [{hostPath: /a, containerPath: -/etc/x}]}",
            "-/etc/x",
        ),
        (
            "{deviceNodes: [{path: -/dev/x, type: c, major: 1}]}",
            "-/dev/x",
        ),
        (
            "{netDevices: [{hostInterfaceName: -eth0, name: x}]}",
            "-eth0",
        ),
        (
            "{mounts: [{hostPath: a, containerPath: /b}]}",
            "hostPath \"a\"",
        ),
        (
            "{mounts: [{hostPath: /a, containerPath: b}]}",
            "containerPath \"b\"",
        ),
        (
            "{hooks: [{hookName: prestart, path: bin/x}]}",
            "path of prestart \"bin/x\"",
        ),
    ] {
        for policy in ["fail", "warn"] {
            let outcome = try_edits(edits, &json!({ "on_unsupported": policy }));
            let Outcome::Rejected(text) = outcome else {
                panic!("{edits}: {outcome:?}");
            };
            assert!(
                text.contains(name) && text.contains("acme.com/dev=d"),
                "{text}"
            );
        }
    }
}
