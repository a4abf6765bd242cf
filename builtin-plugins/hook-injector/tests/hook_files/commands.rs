//! The commands for administrators, and what `status` shows them.

use std::fs;

use nri_hook_injector::HookInjector;
use nri_plugin_api::CommandStatus;
use nri_plugin_api::testing::{self, CommandOutcome, Value, json};

use crate::node::{DEFAULT, Node, OVERRIDE};

fn run(node: &Node, changes: Value, args: &[&str]) -> CommandOutcome {
    testing::run_command::<HookInjector>(&node.config(changes), args)
}

/// Runs `match` with this text for a pod.
fn match_pod(node: &Node, changes: Value, pod: &str) -> CommandOutcome {
    let path = node.path("/pod.json");
    fs::write(&path, pod).expect("the node can be changed");
    run(
        node,
        changes,
        &["match", path.to_str().expect("a path in UTF-8")],
    )
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
    let checked = run(&node(), json!({}), &["check"]);
    assert_eq!(checked.status, CommandStatus::DONE);
    assert_eq!(
        checked.output,
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
    let checked = run(&node, json!({}), &["check"]);
    assert_eq!(checked.status, CommandStatus::FAILED);
    for told in [
        format!("1 from {OVERRIDE}; 2 problems\n"),
        format!("{DEFAULT}/broken.json:2: version: \"3\" is unknown"),
        format!("{OVERRIDE}/20-nginx.json:3: EOF"),
    ] {
        assert!(
            checked.output.contains(&told),
            "{told} is not in\n{}",
            checked.output
        );
    }
}

#[test]
fn health_counts_hooks_and_names_file_and_line_of_problems() {
    let node = node();
    node.write(DEFAULT, "broken.json", "{\n\"version\": \"3\"}");
    let health = node.injector().0.health().expect("it tells how it is");
    assert_eq!(
        health.summary,
        format!("hooks in use: 2 from {DEFAULT}, 1 from {OVERRIDE}; 1 problem")
    );
    let [problem] = &health.problems[..] else {
        panic!("{health:?}");
    };
    assert_eq!(problem.file, Some(format!("{DEFAULT}/broken.json")));
    assert_eq!(problem.line, Some(2));
    assert!(problem.message.ends_with("(skipped)"), "{health:?}");
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
    let matched = match_pod(&node, json!({}), &pod);
    assert_eq!(matched.status, CommandStatus::FAILED, "one is undecided");
    let annotated = format!("  {DEFAULT}/10-annotated.json: prestart, poststop\n");
    assert_eq!(
        matched.output,
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

    let excluding = json!({ "exclude": { "namespaces": ["sh*"] } });
    let matched = match_pod(&node, excluding, &pod);
    assert_eq!(matched.status, CommandStatus::DONE);
    assert_eq!(matched.output, "pod shop/web\n  excluded: no hooks\n");
}

#[test]
fn match_refuses_what_is_no_pod() {
    for text in ["", "[]", "{}", r#"{"spec": {}}"#, "metadata: {}"] {
        let refused = match_pod(&node(), json!({}), text);
        assert_eq!(refused.status, CommandStatus::BAD_FILE, "{text}");
        let why = "pod.json: it is not the JSON of a pod";
        assert!(refused.errors.contains(why), "{text}: {}", refused.errors);
    }
}

#[test]
fn commands_say_how_they_are_used_and_what_is_wrong_with_the_settings() {
    let node = node();
    for args in [&["check", "all"][..], &["match"], &["match", "a", "b"]] {
        assert_eq!(
            run(&node, json!({}), args).status,
            CommandStatus::USAGE,
            "{args:?}"
        );
    }
    for args in [&["check"][..], &["match", "-"]] {
        let told = run(&node, json!({ "hook_dirs": [] }), args);
        assert_eq!(told.status, CommandStatus::BAD_CONFIG, "{args:?}");
        assert_eq!(told.errors, "hook_dirs: names no folder\n");
    }
    let missing = run(&node, json!({}), &["match", "/missing"]);
    assert_eq!(missing.status, CommandStatus::BAD_FILE);
    assert!(
        missing.errors.starts_with("/missing: it cannot be read: "),
        "{}",
        missing.errors
    );
}
