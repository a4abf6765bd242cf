//! The commands for administrators.

use nri_hook_injector::RawSettings;
use nri_hook_injector::commands::{Verdict, check, match_pod};
use nri_plugin_api::testing::{Value, json};

use crate::node::{DEFAULT, Node, OVERRIDE};

fn settings(node: &Node, changes: Value) -> RawSettings {
    let config = node.config(changes).to_string();
    serde_json::from_str(&config).expect("the settings are fine")
}

fn node() -> Node {
    let node = Node::new();
    let write = |folder, name, when: &str| {
        let text = format!(
            "{{\"version\": \"1.0.0\", \"hook\": {{\"path\": \"/bin/true\"}}, \"when\": {when}, \
             \"stages\": [\"prestart\", \"poststop\"]}}"
        );
        node.write(folder, name, &text);
    };
    write(
        DEFAULT,
        "10-annotated.json",
        r#"{"annotations": {"^audit$": "on"}}"#,
    );
    write(DEFAULT, "20-nginx.json", r#"{"commands": ["/nginx$"]}"#);
    write(OVERRIDE, "30-mounts.json", r#"{"hasBindMounts": true}"#);
    node
}

#[test]
fn check_lists_hooks_in_their_order() {
    let node = node();
    let mut out = Vec::new();
    let verdict = check(&settings(&node, json!({})), &mut out).unwrap();
    assert_eq!(verdict, Verdict::Good);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        format!(
            "hooks in use: 2 from {DEFAULT}, 1 from {OVERRIDE}\n  \
             {DEFAULT}/10-annotated.json: /bin/true at prestart, poststop\n  \
             {DEFAULT}/20-nginx.json: /bin/true at prestart, poststop\n  \
             {OVERRIDE}/30-mounts.json: /bin/true at prestart, poststop\n"
        )
    );
}

#[test]
fn check_tells_every_problem_with_file_and_line() {
    let node = node();
    node.write(DEFAULT, "broken.json", "{\n\"version\": \"3\"}");
    node.write(OVERRIDE, "20-nginx.json", "{\n\n");
    let mut out = Vec::new();
    let verdict = check(&settings(&node, json!({})), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(verdict, Verdict::Bad);
    assert!(
        out.contains("1 from /etc/containers/oci/hooks.d; 2 problems\n"),
        "{out}"
    );
    let broken = format!("{DEFAULT}/broken.json:2: version: \"3\" is unknown");
    assert!(out.contains(&broken), "{out}");
    let unclosed = format!("{OVERRIDE}/20-nginx.json:3: EOF");
    assert!(out.contains(&unclosed), "{out}");
}

#[test]
fn match_says_what_each_container_gets() {
    let node = node();
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "web", "namespace": "shop", "annotations": { "audit": "on" } },
        "spec": {
            "initContainers": [{ "name": "prepare", "command": ["/bin/sh", "-c", ":"] }],
            "containers": [
                {
                    "name": "nginx",
                    "image": "nginx",
                    "command": ["/usr/sbin/nginx"],
                    "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
                },
                { "name": "sidecar", "args": ["-v"] },
            ],
        },
    })
    .to_string();
    let mut out = Vec::new();
    let verdict = match_pod(&settings(&node, json!({})), &pod, &mut out).unwrap();
    assert_eq!(verdict, Verdict::Bad, "one is undecided");
    let annotated = format!("  {DEFAULT}/10-annotated.json: prestart, poststop\n");
    assert_eq!(
        String::from_utf8(out).unwrap(),
        format!(
            "pod shop/web\n\
             container prepare\n{annotated}\
             container nginx\n{annotated}  \
             {DEFAULT}/20-nginx.json: prestart, poststop\n  \
             {OVERRIDE}/30-mounts.json: prestart, poststop\n\
             container sidecar\n{annotated}  \
             {DEFAULT}/20-nginx.json: undecided: it asks for the container's command, which the \
             image says\n"
        )
    );

    let mut out = Vec::new();
    let excluding = settings(&node, json!({ "exclude": { "namespaces": ["sh*"] } }));
    assert_eq!(
        match_pod(&excluding, &pod, &mut out).unwrap(),
        Verdict::Good
    );
    assert_eq!(out, b"pod shop/web\n  excluded: no hooks\n");
}

#[test]
fn match_refuses_what_is_no_pod() {
    let node = node();
    for text in ["", "[]", "{}", r#"{"spec": {}}"#, "metadata: {}"] {
        let error = match_pod(&settings(&node, json!({})), text, &mut Vec::new()).unwrap_err();
        assert!(
            error.to_string().contains("not the JSON of a pod"),
            "{text}: {error}"
        );
    }
}
