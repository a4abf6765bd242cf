//! Which files are good, row by row: H16 to H26, H29, H30. The rows are those of
//! `docs/components/hook-injector.md`.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use nri_plugin_api::testing::json;

use crate::node::{DEFAULT, Node, OVERRIDE, place, runs};

const ALWAYS: &str = r#"{"version": "1.0.0", "hook": {"path": "/bin/true"}, "when": {"always": true},
    "stages": ["poststop"]}"#;

/// Checks that a file is skipped, and that file and line and reason are told.
#[track_caller]
fn assert_skipped(row: &str, text: &str, line: usize, why: &str) {
    let node = Node::with(text);
    node.write(DEFAULT, "z.json", ALWAYS);
    let mut injector = node.injector();
    let hooks = injector.hooks(&runs("/bin/sh"));
    assert_eq!(
        hooks,
        ["poststop /bin/true"],
        "{row}: only the other file counts"
    );
    let log = injector.log();
    let place = place(DEFAULT, "a.json", line);
    let told = log
        .lines()
        .any(|told| told.contains(&place) && told.contains(why));
    assert!(told, "{row}: {place}...{why} is not in\n{log}");
}

/// A file of version 1.0.0, each part in a line of its own.
fn parts(hook: &str, when: &str, stages: &str) -> String {
    format!(
        "{{\"version\": \"1.0.0\",\n\"hook\": {hook},\n\"when\": {when},\n\"stages\": {stages}}}"
    )
}

const HOOK: &str = r#"{"path": "/bin/true"}"#;
const WHEN: &str = r#"{"always": true}"#;
const STAGES: &str = r#"["poststop"]"#;

#[test]
fn mistakes_are_told_with_file_and_line() {
    let no_stages = format!("{{\"version\": \"1.0.0\", \"hook\": {HOOK}, \"when\": {WHEN}}}");
    let trailing = format!("{ALWAYS}\n trailing");
    let comment = format!("// comment\n{ALWAYS}");
    let bom = format!("\u{feff}{ALWAYS}");
    for (row, text, line, why) in [
        ("H16", no_stages, 1, "stages: is missing"),
        ("H16", parts(HOOK, WHEN, "null"), 1, "stages: is missing"),
        (
            "H17",
            parts(HOOK, WHEN, "[\"poststop\",\n\"prestop\"]"),
            5,
            "no stage \"prestop\"",
        ),
        (
            "H17",
            parts(HOOK, WHEN, r#"["PreStart"]"#),
            4,
            "no stage \"PreStart\"",
        ),
        (
            "H18",
            r#"{"version": "2.0.0"}"#.to_owned(),
            1,
            "version: \"2.0.0\" is unknown",
        ),
        (
            "H18",
            "{\n\"version\": 1}".to_owned(),
            2,
            "version: expected a text",
        ),
        ("H19", parts("{}", WHEN, STAGES), 2, "hook.path: is missing"),
        (
            "H22",
            parts(HOOK, r#"{"commands": ["[a"]}"#, STAGES),
            3,
            "when.commands: pattern \"[a\"",
        ),
        (
            "H22",
            parts(HOOK, "{\"annotations\":\n{\"(\": \"\"}}", STAGES),
            4,
            "when.annotations: key: pattern \"(\"",
        ),
        (
            "H22",
            parts(HOOK, r#"{"annotations": {"a": "*"}}"#, STAGES),
            3,
            "when.annotations: value: pattern \"*\"",
        ),
        (
            "H22",
            parts(HOOK, r#"{"commands": ["(?=x)"]}"#, STAGES),
            3,
            "look-around",
        ),
        (
            "H22",
            parts(HOOK, r#"{"commands": ["(a)\\1"]}"#, STAGES),
            3,
            "back-references",
        ),
        ("H24", trailing, 3, "trailing"),
        ("H24", comment, 1, "expected value"),
        ("H24", bom, 1, "expected value"),
        ("H24", String::new(), 1, "EOF"),
        ("H24", "[]".to_owned(), 1, "expected an object"),
        (
            "H26",
            parts(r#"{"path": "/bin/true", "timeout": "3"}"#, WHEN, STAGES),
            2,
            "hook.timeout: expected a whole number",
        ),
        (
            "H29",
            r#"{"hook": "/bin/true", "stage": [], "stages": []}"#.to_owned(),
            1,
            "stage: means the same as stages",
        ),
        (
            "H29",
            "{\"hook\": \"/bin/true\", \"stages\": [],\n\"cmds\": [], \"cmd\": []}".to_owned(),
            2,
            "cmd: means the same as cmds",
        ),
        (
            "H29",
            r#"{"hook": "/bin/true", "stages": [], "annotation": [], "annotations": []}"#
                .to_owned(),
            1,
            "annotation: means the same as annotations",
        ),
        (
            "H30",
            r#"{"stages": ["poststop"]}"#.to_owned(),
            1,
            "hook: is missing",
        ),
        (
            "H30",
            r#"{"hook": "/bin/true"}"#.to_owned(),
            1,
            "stages: is missing",
        ),
        ("H30", "null".to_owned(), 1, "hook: is missing"),
        (
            "wrong list",
            parts(HOOK, r#"{"commands": [1]}"#, STAGES),
            3,
            "expected a list of at most 1024 texts",
        ),
        (
            "wrong object",
            parts("[]", WHEN, STAGES),
            2,
            "hook: expected an object",
        ),
        (
            "0.1.0 for 1.0.0",
            format!("{{\"hook\": {HOOK}, \"stages\": []}}"),
            1,
            "hook: expected a text",
        ),
    ] {
        assert_skipped(row, &text, line, why);
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let text = parts(
        "{}",
        r#"{"always": 1, "commands": ["[", "("]}"#,
        r#"["a", "b"]"#,
    );
    let injector = Node::with(&text).injector();
    let log = injector.log();
    assert_eq!(log.matches("a.json:").count(), 6, "{log}");
}

#[test]
fn h20_a_hook_whose_program_is_missing_is_skipped() {
    let node = Node::with(&parts(r#"{"path": "/nonexistent/x"}"#, WHEN, STAGES));
    let mut injector = node.injector();
    assert!(injector.hooks(&runs("/bin/sh")).is_empty());
    let log = injector.log();
    assert!(
        log.contains("a.json: hook.path: there is no \"/nonexistent/x\" (skipped)"),
        "{log}"
    );
}

#[test]
fn what_runtimes_may_not_like_is_passed_on_and_told() {
    for (row, hook, expected, told) in [
        ("H21", r#"{"path": "/bin"}"#, "/bin", "\"/bin\" is a folder"),
        ("H21", r#"{"path": "bin/true"}"#, "bin/true", "not absolute"),
        (
            "H26",
            r#"{"path": "/bin/true", "timeout": 0}"#,
            "/bin/true 0s",
            "less than a second",
        ),
        (
            "H26",
            r#"{"path": "/bin/true", "timeout": -3}"#,
            "/bin/true -3s",
            "less than a second",
        ),
    ] {
        let mut injector = Node::with(&parts(hook, WHEN, STAGES)).injector();
        let hooks = injector.hooks(&runs("/bin/sh"));
        assert_eq!(hooks, [format!("poststop {expected}")], "{row}");
        let log = injector.log();
        assert!(
            log.contains(told) && log.contains("in use as it is"),
            "{row}: {log}"
        );
    }
}

#[test]
fn h25_fields_are_found_in_any_case_and_unknown_ones_ignored() {
    let text = r#"{"Version": "1.0.0", "HOOK": {"Path": "/bin/true", "more": 1},
        "WHEN": {"Always": true, "never": [{}]}, "Stages": ["poststop"], "x": {"y": []}}"#;
    let hooks = Node::with(text).injector().hooks(&runs("/bin/sh"));
    assert_eq!(hooks, ["poststop /bin/true"], "H25");
    // Of two, the last one counts.
    let text = r#"{"version": "0.1.0", "VERSION": "1.0.0", "hook": {"path": "/nothing"},
        "hook": {"path": "/bin/true"}, "when": {"always": true}, "stages": ["poststop"]}"#;
    let hooks = Node::with(text).injector().hooks(&runs("/bin/sh"));
    assert_eq!(hooks, ["poststop /bin/true"]);
}

#[test]
fn what_is_no_file_blocks_nobody_and_is_told() {
    let node = Node::with(ALWAYS);
    let at = |name: &str| node.path(DEFAULT).join(name);
    mkfifo(&at("fifo.json"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(at("socket.json")).unwrap();
    fs::create_dir(at("folder.json")).unwrap();
    symlink("/nowhere", at("dangling.json")).unwrap();
    symlink("circle.json", at("circle.json")).unwrap();
    symlink("/dev/zero", at("device.json")).unwrap();
    fs::write(at("binary.json"), b"{\n\xff}").unwrap();
    fs::write(at("long.json"), vec![b' '; (256 << 10) + 1]).unwrap();
    fs::write(at("deep.json"), "[".repeat(100_000)).unwrap();
    let stages = format!("[{}\"a\"]", "\"\",\n".repeat(60_000));
    fs::write(at("many.json"), parts(HOOK, WHEN, &stages)).unwrap();
    symlink(at("a.json"), at("link.json")).unwrap();
    let mut injector = node.injector();
    assert_eq!(
        injector.hooks(&runs("/bin/sh")).len(),
        2,
        "the file, and the link to it"
    );
    let log = injector.log();
    for told in [
        "fifo.json: it is a named pipe",
        "socket.json: it is a socket",
        "folder.json: it is a folder",
        "dangling.json: the symbolic link leads to nothing",
        "circle.json: it cannot be read",
        "device.json: it is a device",
        "binary.json:2: it is not UTF-8",
        "long.json: it is longer than",
        "deep.json:1: ",
        "many.json:4: stages: expected a list of at most 1024 texts",
    ] {
        assert!(log.contains(told), "{told} is not in\n{log}");
    }
}

#[test]
fn a_program_that_cannot_be_looked_up_keeps_its_hook() {
    let node = Node::with(&parts(HOOK, WHEN, STAGES));
    fs::remove_file(node.path("/bin/true")).unwrap();
    symlink("true", node.path("/bin/true")).unwrap();
    let mut injector = node.injector();
    assert_eq!(injector.hooks(&runs("/bin/sh")).len(), 1);
    let log = injector.log();
    assert!(
        log.contains("\"/bin/true\" cannot be looked up: ") && log.contains("(in use as it is)"),
        "{log}"
    );
}

#[test]
fn links_to_programs_are_followed_within_the_root_of_the_host() {
    let node = Node::with(&parts(r#"{"path": "/opt/hook"}"#, WHEN, STAGES));
    fs::create_dir(node.path("/opt")).unwrap();
    symlink("/bin/true", node.path("/opt/hook")).unwrap();
    assert_eq!(
        node.injector().hooks(&runs("/bin/sh")),
        ["poststop /opt/hook"]
    );
    // It is there for the tests, not for the node.
    fs::remove_file(node.path("/bin/true")).unwrap();
    assert!(node.injector().hooks(&runs("/bin/sh")).is_empty());
}

#[test]
fn a_folder_that_is_full_has_its_first_files_read() {
    let node = Node::new();
    for i in 0..520 {
        fs::write(node.path(OVERRIDE).join(format!("{i:04}.json")), ALWAYS).unwrap();
    }
    let mut injector = node.injector_with(json!({ "hook_dirs": [OVERRIDE] }));
    assert_eq!(injector.hooks(&runs("/bin/sh")).len(), 512);
    let log = injector.log();
    assert!(log.contains("8 of them are left out"), "{log}");
}

#[test]
fn few_patterns_of_a_file_may_be_large() {
    let when = |large: usize| {
        let patterns: Vec<_> = (0..large).map(|_| "\\pL{20}").chain(["sh"]).collect();
        json!({ "commands": patterns }).to_string()
    };
    let node = Node::with(&parts(HOOK, &when(4), STAGES));
    assert_eq!(node.injector().hooks(&runs("/bin/sh")).len(), 1);
    let text = parts(HOOK, &when(5), STAGES);
    assert_skipped("large patterns", &text, 3, "too much memory");
}
