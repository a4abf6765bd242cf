//! Precedence and order: H33, H34 and what goes with them. The rows are those of
//! `docs/components/hook-injector.md`.

use std::fs;

use nri_hook_injector::HookInjector;
use nri_plugin_api::testing::{Harness, json};

use crate::node::{DEFAULT, Node, OVERRIDE, runs};

/// A hook for all containers that can be told by its argument.
fn file(mark: &str) -> String {
    format!(
        r#"{{"version": "1.0.0", "hook": {{"path": "/bin/true", "args": ["{mark}"]}},
            "when": {{"always": true}}, "stages": ["poststop"]}}"#
    )
}

/// The marks of the hooks that a container gets.
fn marks(node: &Node) -> Vec<String> {
    let hooks = node.injector().hooks(&runs("/bin/sh"));
    let mark = |hook: &String| hook.replace("poststop /bin/true ", "");
    hooks.iter().map(mark).collect()
}

#[test]
fn h33_an_override_that_is_broken_hides_nothing() {
    for broken in [
        file("override").replace("/bin/true", "/bin/missing"),
        "{".to_owned(),
        String::new(),
    ] {
        let node = Node::new();
        node.write(DEFAULT, "a.json", &file("default"));
        node.write(OVERRIDE, "a.json", &broken);
        assert_eq!(marks(&node), ["default"], "H33 {broken}");
    }
}

#[test]
fn h34_a_file_replaces_the_one_with_exactly_its_name() {
    let node = Node::new();
    node.write(DEFAULT, "10-a.json", &file("default"));
    node.write(OVERRIDE, "10-a.json", &file("override"));
    node.write(OVERRIDE, "10-A.json", &file("upper"));
    assert_eq!(marks(&node), ["upper", "override"], "H34");
}

#[test]
fn a_hook_is_switched_off_by_one_that_never_runs() {
    for off in [
        file("off").replace("true}", "false}"),
        file("off").replace("[\"poststop\"]", "[]"),
    ] {
        let node = Node::new();
        node.write(DEFAULT, "a.json", &file("default"));
        node.write(OVERRIDE, "a.json", &off);
        assert!(marks(&node).is_empty(), "{off}");
    }
}

#[test]
fn hooks_come_in_the_order_of_lower_case_names_whatever_their_folder() {
    let node = Node::new();
    let names = ["9-n", "_x", "10-B", ".hid", "05-z", "10-a"];
    for (i, name) in names.into_iter().enumerate() {
        let folder = if i % 2 == 0 { DEFAULT } else { OVERRIDE };
        node.write(folder, &format!("{name}.json"), &file(name));
    }
    assert_eq!(marks(&node), [".hid", "05-z", "10-a", "10-B", "9-n", "_x"]);
}

#[test]
fn only_names_that_end_in_json_count() {
    let node = Node::new();
    for name in ["x.JSON", "x.json.bak", "README", "json", ".json", "y.json"] {
        node.write(DEFAULT, name, &file(name));
    }
    fs::create_dir(node.path(DEFAULT).join("below")).unwrap();
    node.write(&format!("{DEFAULT}/below"), "z.json", &file("below"));
    assert_eq!(marks(&node), [".json", "y.json"]);
}

#[test]
fn folders_are_configurable_and_need_not_be_there() {
    let node = Node::new();
    fs::create_dir_all(node.path("/opt/hooks")).unwrap();
    node.write("/opt/hooks", "a.json", &file("own"));
    node.write(DEFAULT, "a.json", &file("default"));
    let dirs = json!({ "hook_dirs": ["/opt/hooks", "/missing"] });
    let hooks = node.injector_with(dirs).hooks(&runs("/bin/sh"));
    assert_eq!(hooks, ["poststop /bin/true own"]);

    fs::remove_dir_all(node.path(DEFAULT)).unwrap();
    fs::remove_dir_all(node.path(OVERRIDE)).unwrap();
    let mut injector = node.injector();
    assert!(injector.hooks(&runs("/bin/sh")).is_empty());
    assert!(!injector.log().contains("problem"), "{}", injector.log());
}

#[test]
fn mistakes_in_the_settings_are_told_by_key() {
    let config = json!({ "hook_dirs": ["a"], "bind_mounts": "any", "host_root": "." });
    let failure = Harness::<HookInjector>::create(config).unwrap_err();
    let keys: Vec<_> = failure.mistakes.iter().map(|m| m.key.as_str()).collect();
    assert_eq!(keys, ["hook_dirs[0]", "host_root"]);
}

#[test]
fn with_cri_o_hooks_that_run_twice_are_told_once() {
    for (runtime, folder, expected) in [
        ("cri-o", DEFAULT, 1),
        ("cri-o", OVERRIDE, 0),
        ("containerd", DEFAULT, 0),
    ] {
        let node = Node::new();
        node.write(folder, "a.json", &file("twice"));
        let mut injector = node.injector();
        // Before the session nobody knows the runtime.
        injector.hooks(&runs("/bin/sh"));
        assert!(!injector.log().contains("twice"), "{}", injector.log());
        injector.0.set_runtime(runtime, "1.34.0", "0.12.0");
        for _ in 0..3 {
            injector.hooks(&runs("/bin/sh"));
        }
        let log = injector.log();
        assert_eq!(
            log.matches("so they run twice").count(),
            expected,
            "{runtime} {folder}: {log}"
        );
    }
}
