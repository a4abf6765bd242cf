//! Row 19: what NRI cannot express, or not everywhere.

use nri_plugin_api::api::ContainerAdjustment;
use nri_plugin_api::testing::{LogLevel, Outcome, json};

use crate::folder::{Node, file};

/// Runtimes by NRI version.
const NRI_0_8: (&str, &str, &str) = ("containerd", "v2.1.9", "0.8.0");
const NRI_0_10: (&str, &str, &str) = ("containerd", "v2.2.0", "0.10.0");
const NRI_0_11: (&str, &str, &str) = ("containerd", "v2.2.9", "0.11.0");
const CRIO_0_9: (&str, &str, &str) = ("cri-o", "1.33.0", "0.9.0");

/// What comes of these edits, and how often something was left out.
fn outcome(
    edits: &str,
    (name, version, nri): (&str, &str, &str),
    policy: &str,
) -> (Outcome<ContainerAdjustment>, usize) {
    let node = Node::with(&[("a.yaml", &file("1.1.0", edits))]);
    let mut injector = node.injector(&json!({ "on_unsupported": policy }));
    injector.harness.set_runtime(name, version, nri);
    let outcome = injector.ask(&["acme.com/dev=d"]);
    let logs = injector.harness.logs();
    let left_out = logs
        .iter()
        .filter(|line| line.level == LogLevel::Warn && line.message.contains("left out: "))
        .count();
    if left_out > 0 {
        let health = injector.harness.health().expect("what is left out is told");
        let counted = format!("edits left out of containers: {left_out}");
        assert!(health.summary.ends_with(&counted), "{}", health.summary);
    }
    (outcome, left_out)
}

fn node(permissions: &str) -> String {
    format!(
        "{{env: [A=1], deviceNodes: [{{path: /dev/x, type: c, major: 1, minor: 3, permissions: \
         \"{permissions}\"}}]}}"
    )
}

fn block(permissions: &str) -> String {
    node(permissions).replace("type: c", "type: b")
}

#[test]
fn row_19_gaps_fail_a_container_or_are_left_out() {
    let net = "{env: [A=1], netDevices: [{hostInterfaceName: eth0, name: net0}]}";
    let rdt = |fields: &str| format!("{{env: [A=1], intelRdt: {{{fields}}}}}");
    for (edits, runtime, named) in [
        (
            "{env: [A=1], additionalGids: [44, 0]}".to_owned(),
            NRI_0_11,
            "additionalGids [44]",
        ),
        (node("r"), NRI_0_8, "permissions \"r\""),
        (node("w"), NRI_0_10, "permissions \"w\""),
        (node("none"), NRI_0_8, "permissions \"none\""),
        (node("none"), NRI_0_10, "permissions \"none\""),
        (node("rm"), NRI_0_10, "permissions \"rm\""),
        (block("rw"), NRI_0_10, "permissions \"rw\""),
        (net.to_owned(), NRI_0_10, "\"eth0\" needs NRI 0.11"),
        (rdt("schemata: [a]"), NRI_0_10, "schemata needs NRI 0.11"),
        (
            rdt("enableMonitoring: true"),
            NRI_0_10,
            "enableMonitoring needs NRI 0.11",
        ),
        (rdt("l3CacheSchema: a"), NRI_0_11, "l3CacheSchema"),
        (rdt("memBwSchema: a"), NRI_0_11, "memBwSchema"),
        (rdt("closID: a"), CRIO_0_9, "closID needs NRI 0.11"),
    ] {
        let (strict, _) = outcome(&edits, runtime, "fail");
        let Outcome::Rejected(text) = strict else {
            panic!("{edits}: {strict:?}");
        };
        assert!(
            text.contains(named) && text.contains("acme.com/dev=d"),
            "{edits}: {text}"
        );
        let (lenient, left_out) = outcome(&edits, runtime, "warn");
        let Outcome::Answer(adjustment) = lenient else {
            panic!("{edits}: {lenient:?}");
        };
        assert_eq!(left_out, 1, "{edits}");
        assert_eq!(adjustment.env.len(), 1, "{edits}: the rest is there");
        let linux = adjustment.linux.unwrap_or_default();
        assert!(
            linux.devices.is_empty() && linux.net_devices.is_empty(),
            "{edits}"
        );
    }
}

#[test]
fn row_19_what_can_be_expressed_is_no_gap() {
    let rdt = "{intelRdt: {closID: gold}}";
    for (edits, runtime, rules, class) in [
        (node(""), NRI_0_8, 0, None),
        (node(""), NRI_0_10, 1, None),
        (node("rwm"), NRI_0_10, 1, None),
        (node("rw"), NRI_0_10, 0, None),
        (block(""), NRI_0_10, 0, None),
        (block("rwm"), NRI_0_8, 0, None),
        (rdt.to_owned(), NRI_0_8, 0, Some("gold")),
        (rdt.to_owned(), NRI_0_11, 0, None),
    ] {
        let (outcome, left_out) = outcome(&edits, runtime, "fail");
        let Outcome::Answer(adjustment) = outcome else {
            panic!("{edits}: {outcome:?}");
        };
        assert_eq!(left_out, 0, "{edits}");
        let linux = adjustment.linux.unwrap_or_default();
        let resources = linux.resources.clone().unwrap_or_default();
        assert_eq!(resources.devices.len(), rules, "{edits} {runtime:?}");
        for rule in &resources.devices {
            assert_eq!((rule.allow, rule.access.as_str()), (true, "m"));
            let numbers = (
                rule.major.as_ref().unwrap().value,
                rule.minor.as_ref().unwrap().value,
            );
            assert_eq!((rule.type_.as_str(), numbers), ("c", (1, 3)));
        }
        let found = resources
            .rdt_class
            .as_ref()
            .map(|class| class.value.as_str());
        assert_eq!(found, class, "{edits} {runtime:?}");
    }
}
