//! What administrators can ask.

use nri_cdi_injector::CdiInjector;
use nri_plugin_api::CommandStatus;
use nri_plugin_api::testing::{self, CommandOutcome, json};

use crate::folder::{NEIGHBOUR, Node, file};

fn run(node: &Node, args: &[&str]) -> CommandOutcome {
    testing::run_command::<CdiInjector>(&json!({ "spec_dirs": node.folders().paths }), args)
}

#[test]
fn list_names_all_devices_and_where_they_are_defined() {
    let node = Node::with(&[
        ("b.yaml", NEIGHBOUR),
        ("a.yaml", &file("0.6.0", "{env: [A=1]}")),
    ]);
    let CommandOutcome { status, output, .. } = run(&node, &["list"]);
    assert_eq!(status, CommandStatus::DONE);
    let line = |name: &str, file: &str, line: u64| {
        format!("{name}\t{}:{line}\n", node.path(file).display())
    };
    assert_eq!(
        output,
        line("acme.com/dev=d", "a.yaml", 4) + &line("good.com/dev=ok", "b.yaml", 1)
    );
}

#[test]
fn check_names_each_file_that_cannot_be_used() {
    let node = Node::with(&[("ok.yaml", NEIGHBOUR)]);
    let checked = run(&node, &["check"]);
    assert_eq!(checked.output, "files: 1, devices: 1, problems: 0\n");
    assert_eq!(checked.status, CommandStatus::DONE);
    node.write(
        "bad.yaml",
        "cdiVersion: 0.6.0\nkind: acme.com/dev\nmore: 1\n",
    );
    let CommandOutcome { status, output, .. } = run(&node, &["check"]);
    assert_eq!(status, CommandStatus::FAILED);
    assert!(
        output.starts_with(&format!("{}:3: ", node.path("bad.yaml").display())),
        "{output}"
    );
    assert!(
        output.ends_with("\nfiles: 1, devices: 1, problems: 1\n"),
        "{output}"
    );
}

#[test]
fn resolve_tells_what_a_container_gets_and_from_where() {
    let edits = "{env: [A=1, B=2], deviceNodes: [{path: /dev/x, hostPath: /dev/y, type: c, major: 1, \
                 minor: 3, fileMode: 0640, permissions: r}], mounts: [{hostPath: /a, containerPath: \
                 /b, options: [ro, rbind]}], hooks: [{hookName: prestart, path: /bin/h, args: [h, \
                 x]}], netDevices: [{hostInterfaceName: eth0, name: net0}], intelRdt: {closID: gold}, \
                 additionalGids: [44]}";
    let node = Node::with(&[("a.yaml", &file("1.1.0", edits)), ("ok.yaml", NEIGHBOUR)]);
    let resolved = run(&node, &["resolve", "good.com/dev=ok", "acme.com/dev=d"]);
    assert_eq!(
        (resolved.status, resolved.errors.as_str()),
        (CommandStatus::DONE, "")
    );
    let text = resolved.output;
    let lines: Vec<_> = text
        .lines()
        .map(|line| line.rsplit_once('\t').unwrap().0)
        .collect();
    assert_eq!(
        lines,
        [
            "env\tGOOD=1",
            "env\tA=1",
            "env\tB=2",
            "device\t/dev/x from /dev/y c 1:3 mode 0640 r",
            "network device\teth0 as net0",
            "mount\t/a on /b ro,rbind",
            "hook\tprestart /bin/h x",
            "rdt\tclosID \"gold\"",
            "group\t44",
        ]
    );
    let origin = format!("\tacme.com/dev=d of {}", node.path("a.yaml").display());
    assert!(text.ends_with(&format!("{origin}\n")), "{text}");
}

#[test]
fn resolve_names_what_is_unknown() {
    let node = Node::with(&[("ok.yaml", NEIGHBOUR)]);
    for (name, status, reason) in [
        (
            "good.com/dev=no",
            CommandStatus::FAILED,
            "defines good.com/dev=no",
        ),
        ("no", CommandStatus::USAGE, "expected a name"),
    ] {
        let outcome = run(&node, &["resolve", "good.com/dev=ok", name]);
        assert_eq!(
            (outcome.status, outcome.output.as_str()),
            (status, ""),
            "{name}"
        );
        assert!(outcome.errors.contains(reason), "{}", outcome.errors);
    }
}

#[test]
fn mistakes_in_arguments_and_settings_have_a_status_of_their_own() {
    let node = Node::new();
    for args in [&["list", "x"][..], &["check", "x"], &["resolve"]] {
        assert_eq!(run(&node, args).status, CommandStatus::USAGE, "{args:?}");
    }
    for args in [&["list"][..], &["check"], &["resolve", "a.com/b=c"]] {
        let outcome = testing::run_command::<CdiInjector>(&json!({ "spec_dirs": [] }), args);
        assert_eq!(outcome.status, CommandStatus::BAD_CONFIG, "{args:?}");
        assert!(outcome.errors.contains("spec_dirs"), "{}", outcome.errors);
    }
}
