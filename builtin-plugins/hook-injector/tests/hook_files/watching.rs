//! Changes of hook files.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

use nri_plugin_api::testing::json;

use crate::node::{DEFAULT, Injector, Node, OVERRIDE, runs};

/// How long a test waits for what should come within a second.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks.
const POLL: Duration = Duration::from_millis(10);

fn file(mark: &str) -> String {
    format!(
        r#"{{"version": "1.0.0", "hook": {{"path": "/bin/true", "args": ["{mark}"]}},
            "when": {{"always": true}}, "stages": ["poststop"]}}"#
    )
}

/// Waits until a container gets the hooks with these marks.
#[track_caller]
fn wait_marks(injector: &mut Injector, marks: &[&str]) {
    let expected: Vec<_> = marks
        .iter()
        .map(|mark| format!("poststop /bin/true {mark}"))
        .collect();
    let until = Instant::now() + PATIENCE;
    loop {
        let hooks = injector.hooks(&runs("/bin/sh"));
        if hooks == expected {
            return;
        }
        assert!(
            Instant::now() < until,
            "{hooks:?} are not {expected:?}\n{}",
            injector.log()
        );
        thread::sleep(POLL);
    }
}

#[track_caller]
fn wait_log(injector: &Injector, text: &str) {
    let until = Instant::now() + PATIENCE;
    while !injector.log().contains(text) {
        assert!(
            Instant::now() < until,
            "{text} is not in\n{}",
            injector.log()
        );
        thread::sleep(POLL);
    }
}

fn watching(node: &Node) -> Injector {
    node.injector_with(json!({ "watch": true }))
}

#[test]
fn files_that_come_change_and_go_are_seen() {
    let node = Node::new();
    let mut injector = watching(&node);
    node.write(DEFAULT, "a.json", &file("first"));
    wait_marks(&mut injector, &["first"]);
    node.write(OVERRIDE, "a.json", &file("override"));
    wait_marks(&mut injector, &["override"]);
    node.write(DEFAULT, "b.json", &file("second"));
    wait_marks(&mut injector, &["override", "second"]);
    fs::remove_file(node.path(OVERRIDE).join("a.json")).unwrap();
    wait_marks(&mut injector, &["first", "second"]);
}

#[test]
fn a_file_that_breaks_stays_in_use_as_it_was_and_is_told() {
    let node = Node::new();
    node.write(DEFAULT, "a.json", &file("good"));
    node.write(OVERRIDE, "a.json", &file("override"));
    let mut injector = watching(&node);
    wait_marks(&mut injector, &["override"]);

    node.write(OVERRIDE, "a.json", "{\n\"version\": ]");
    wait_log(&injector, "a.json:2: ");
    wait_log(&injector, "the version before is still in use");
    wait_marks(&mut injector, &["override"]);

    node.write(OVERRIDE, "a.json", &file("mended"));
    wait_marks(&mut injector, &["mended"]);
    // Nothing of it is left once it is gone.
    node.write(OVERRIDE, "a.json", "{");
    wait_log(&injector, "a.json:1: ");
    fs::remove_file(node.path(OVERRIDE).join("a.json")).unwrap();
    wait_marks(&mut injector, &["good"]);
    node.write(OVERRIDE, "a.json", "{ ");
    node.write(OVERRIDE, "b.json", &file("marker"));
    wait_marks(&mut injector, &["good", "marker"]);
}

#[test]
fn a_file_that_is_written_in_pieces_is_seen_when_it_is_whole() {
    let node = Node::new();
    let mut injector = watching(&node);
    let text = file("whole");
    let mut out = File::create(node.path(DEFAULT).join("a.json")).unwrap();
    for piece in text.as_bytes().chunks(16) {
        out.write_all(piece).unwrap();
    }
    drop(out);
    wait_marks(&mut injector, &["whole"]);
}

#[test]
fn folders_that_come_go_and_come_again_are_seen() {
    let node = Node::new();
    fs::remove_dir_all(node.path("/etc")).unwrap();
    let mut injector = watching(&node);
    for mark in ["once", "again"] {
        fs::create_dir_all(node.path(OVERRIDE)).unwrap();
        node.write(OVERRIDE, "a.json", &file(mark));
        wait_marks(&mut injector, &[mark]);
        fs::remove_dir_all(node.path("/etc")).unwrap();
        wait_marks(&mut injector, &[]);
    }
    // As volumes of Kubernetes are exchanged: a link below the folder is replaced.
    fs::create_dir_all(node.path("/etc/containers/oci/one")).unwrap();
    node.write("/etc/containers/oci/one", "a.json", &file("linked"));
    symlink("one", node.path(OVERRIDE)).unwrap();
    wait_marks(&mut injector, &["linked"]);
}

#[test]
fn without_watching_the_files_are_those_of_the_start() {
    let node = Node::new();
    node.write(DEFAULT, "a.json", &file("start"));
    let mut injector = node.injector();
    let mut watched = watching(&node);
    node.write(DEFAULT, "a.json", &file("later"));
    wait_marks(&mut watched, &["later"]);
    assert_eq!(
        injector.hooks(&runs("/bin/sh")),
        ["poststop /bin/true start"]
    );
}
