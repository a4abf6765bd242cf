//! Rows 1, 2, 16, 17, 18 and 20: what a container gets.

use nri_plugin_api::api::{self, ContainerAdjustment};
use nri_plugin_api::testing::{Outcome, json};

use crate::folder::{KEY, NEIGHBOUR, Node, env};

#[test]
fn row_20_in_native_mode_the_runtime_gets_the_names() {
    let node = Node::with(&[("a.yaml", NEIGHBOUR)]);
    let mut injector = node.injector(&json!({ "mode": "auto" }));
    let names = |adjustment: &ContainerAdjustment| -> Vec<String> {
        adjustment
            .CDI_devices
            .iter()
            .map(|device| device.name.clone())
            .collect()
    };
    for (name, version, native) in [
        ("containerd", "v1.7.29", false),
        ("containerd", "v1.7.30", true),
        ("containerd", "v2.0.11", false),
        ("containerd", "v2.2.1-5-gabc.m", true),
        ("cri-o", "1.33.13", false),
        ("cri-o", "1.34.0", true),
        ("other", "9.9.9", false),
    ] {
        injector.harness.set_runtime(name, version, "");
        let mut adjustment = injector.adjustment(&["good.com/dev=ok", "good.com/dev=ok"]);
        let given = names(&adjustment);
        assert_eq!(given.len(), usize::from(native), "{name} {version}");
        assert_eq!(
            env(&adjustment).len(),
            usize::from(!native),
            "{name} {version}"
        );
        adjustment.CDI_devices.clear();
        adjustment.env.clear();
        assert_eq!(
            adjustment,
            ContainerAdjustment::default(),
            "{name} {version}"
        );
    }
    injector
        .harness
        .set_runtime("containerd", "v2.4.2", "0.12.3");
    assert_eq!(names(&injector.adjustment(&["x.com/y=z"])), ["x.com/y=z"]);
    let warned = injector
        .harness
        .logs()
        .iter()
        .any(|line| line.message.contains("x.com/y=z"));
    assert!(warned, "of a device that is not known here");
    injector.container = Some(api::Container {
        CDI_devices: vec![api::CDIDevice {
            name: "good.com/dev=ok".to_owned(),
            ..Default::default()
        }],
        ..Default::default()
    });
    let adjustment = injector.adjustment(&["good.com/dev=ok"]);
    assert_eq!(
        adjustment,
        ContainerAdjustment::default(),
        "the kubelet asked for it"
    );
}

#[test]
fn nothing_is_injected_unless_every_device_is_known() {
    let node = Node::with(&[("a.yaml", NEIGHBOUR)]);
    let refusal =
        node.injector(&json!({}))
            .refusal(&["good.com/dev=ok", "good.com/dev=no", "a.com/b=c"]);
    assert!(
        refusal.contains("defines good.com/dev=no;") && refusal.contains("defines a.com/b=c"),
        "{refusal}"
    );
}

#[test]
fn a_refusal_tells_of_files_of_the_same_kind_and_quotes_none() {
    let secret = "{cdiVersion: 0.6.0, kind: acme.com/dev, devices: [{name: d, \
                  containerEdits: {env: [SECRET]}}]}";
    let node = Node::with(&[
        ("a.yaml", NEIGHBOUR),
        ("b.yaml", NEIGHBOUR),
        ("c.yaml", secret),
    ]);
    let mut injector = node.injector(&json!({}));
    let refusal = injector.refusal(&["good.com/dev=ok"]);
    assert!(refusal.contains("by neither"), "{refusal}");
    assert!(refusal.contains("c.yaml:1: cannot be used"), "{refusal}");
    assert!(!refusal.contains("SECRET"), "{refusal}");
    let refusal = injector.refusal(&["other.com/dev=ok"]);
    assert!(!refusal.contains("good.com"), "{refusal}");
}

#[test]
fn only_what_is_allowed_is_injected() {
    let node = Node::with(&[("a.yaml", NEIGHBOUR)]);
    let allow = |namespace: &str, device: &str| json!({ "allow": [{ "namespaces": [namespace], "devices": [device] }] });
    // Pods of the tests are in the namespace "default".
    for (namespace, device, allowed) in [
        ("default", "good.com/dev", true),
        ("default", "good.com/dev=ok", true),
        ("def*", "*", true),
        ("def", "good.com/dev", false),
        ("default-2", "good.com/dev", false),
        ("default", "good.com/de", false),
        ("default", "good.com/device", false),
        ("default", "bad.com/dev", false),
    ] {
        for mode in ["resolve", "native"] {
            let mut settings = allow(namespace, device);
            settings["mode"] = json!(mode);
            let outcome = node.injector(&settings).ask(&["good.com/dev=ok"]);
            match outcome {
                Outcome::Answer(_) => assert!(allowed, "{namespace} {device}"),
                Outcome::Rejected(text) => {
                    assert!(!allowed, "{namespace} {device}: {text}");
                    assert!(text.contains("`allow` of component \"test\""), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let mut nothing = node.injector(&json!({ "allow": [] }));
    assert!(
        nothing
            .refusal(&["good.com/dev=ok"])
            .contains("not allowed in namespace \"default\"")
    );
}

#[test]
fn the_annotation_is_a_list_of_names() {
    let node = Node::with(&[("a.yaml", NEIGHBOUR)]);
    let mut injector = node.injector(&json!({}));
    for (key, value, count) in [
        (KEY, "- good.com/dev=ok", 1),
        ("cdi-devices.noderesource.dev/pod", "[good.com/dev=ok]", 1),
        (
            "cdi-devices.nri.io/container.c0",
            "[\"good.com/dev=ok\"]",
            1,
        ),
        (
            "cdi-devices.noderesource.dev/container.c1",
            "[good.com/dev=ok]",
            0,
        ),
        ("cdi.k8s.io/plugin_id", "good.com/dev=ok", 0),
        (KEY, "", 0),
        (KEY, "[]", 0),
        (KEY, "null", 0),
    ] {
        let outcome = injector.ask_with((key, value));
        let Outcome::Answer(adjustment) = outcome else {
            panic!("{key} {value}: {outcome:?}");
        };
        assert_eq!(adjustment.env.len(), count, "{key} {value}");
    }
    let many = format!("[{}]", "good.com/dev=ok, ".repeat(300));
    for value in [
        "good.com/dev=ok",
        "{a: b}",
        "- [good.com/dev=ok]",
        "- not a name",
        "- /dev/null",
        "- 1",
        "[unclosed",
        "- a\n---\n- b",
        &"[".repeat(10_000),
        &" ".repeat(1 << 20),
        &many,
    ] {
        let outcome = injector.ask_with((KEY, value));
        let Outcome::Rejected(text) = outcome else {
            panic!("{value:.40}: {outcome:?}");
        };
        assert!(text.starts_with(KEY), "{text}");
    }
    let both = injector.refusal(&["one", "good.com/dev=ok", "two"]);
    assert!(
        both.contains("entry 1: ") && both.contains("entry 3: "),
        "{both}"
    );
}
