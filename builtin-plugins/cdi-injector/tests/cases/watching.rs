//! Files that come, change and go while an injector runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

use nri_plugin_api::testing::{Outcome, json};

use crate::folder::{Injector, NEIGHBOUR, Node, file};

/// How long is waited for what must come; far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn wait(injector: &mut Injector, name: &str, known: bool) {
    let start = Instant::now();
    loop {
        let found = matches!(injector.ask(&[name]), Outcome::Answer(_));
        if found == known {
            return;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{name} known: {found}, after {PATIENCE:?}"
        );
        thread::yield_now();
    }
}

#[test]
fn row_3_a_repaired_file_is_seen() {
    let node = Node::with(&[("a.yaml", "kind: [\n")]);
    let mut injector = node.injector(&json!({}));
    let refusal = injector.refusal(&["good.com/dev=ok"]);
    assert!(refusal.contains("etc/cdi/a.yaml"), "{refusal}");
    node.write("a.yaml", NEIGHBOUR);
    wait(&mut injector, "good.com/dev=ok", true);
}

#[test]
fn the_health_of_an_injector_is_that_of_its_files() {
    let node = Node::with(&[
        ("a.yaml", "cdiVersion: 0.6.0\nmore: 1\n"),
        ("ok.yaml", NEIGHBOUR),
    ]);
    let injector = node.injector(&json!({}));
    let start = Instant::now();
    // It is reported after the devices can be had.
    let health = loop {
        match injector.harness.health() {
            Some(health) => break health,
            None => assert!(start.elapsed() < PATIENCE),
        }
        thread::yield_now();
    };
    assert_eq!(health.summary, "CDI devices: 1, files: 1");
    let [problem] = &health.problems[..] else {
        panic!("{health:?}");
    };
    assert_eq!(problem.file.as_deref(), node.path("a.yaml").to_str());
    assert_eq!(problem.line, Some(2));
}

#[test]
fn files_that_are_moved_linked_and_removed_are_seen() {
    let node = Node::new();
    let elsewhere = node.root.path().join("elsewhere");
    let mut injector = node.injector(&json!({}));
    fs::write(&elsewhere, NEIGHBOUR).unwrap();
    fs::rename(&elsewhere, node.path("a.yaml")).unwrap();
    wait(&mut injector, "good.com/dev=ok", true);
    fs::rename(node.path("a.yaml"), &elsewhere).unwrap();
    wait(&mut injector, "good.com/dev=ok", false);
    symlink(&elsewhere, node.path("a.yaml")).unwrap();
    wait(&mut injector, "good.com/dev=ok", true);
    fs::remove_file(node.path("a.yaml")).unwrap();
    wait(&mut injector, "good.com/dev=ok", false);
    fs::hard_link(&elsewhere, node.path("a.json")).unwrap();
    wait(&mut injector, "good.com/dev=ok", true);
}

#[test]
fn row_14_a_folder_that_comes_later_is_seen_with_its_parents() {
    let node = Node::new();
    let late = node.root.path().join("late/deeper/cdi");
    let mut injector = node.injector(&json!({ "spec_dirs": [late] }));
    assert!(
        injector
            .refusal(&["good.com/dev=ok"])
            .contains("no CDI file")
    );
    fs::create_dir_all(&late).unwrap();
    fs::write(late.join("a.yaml"), NEIGHBOUR).unwrap();
    wait(&mut injector, "good.com/dev=ok", true);
    fs::remove_dir_all(node.root.path().join("late")).unwrap();
    wait(&mut injector, "good.com/dev=ok", false);
    fs::create_dir_all(&late).unwrap();
    fs::write(late.join("b.yaml"), NEIGHBOUR).unwrap();
    wait(&mut injector, "good.com/dev=ok", true);
}

#[test]
fn requests_are_served_while_a_folder_is_rewritten() {
    let node = Node::with(&[("ok.yaml", NEIGHBOUR)]);
    let mut injector = node.injector(&json!({}));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for i in 0..300 {
                let text = file("0.6.0", &format!("{{env: [A={i}]}}"));
                node.write(&format!("{}.yaml", i % 30), text);
            }
        });
        while !writer.is_finished() {
            assert!(matches!(
                injector.ask(&["good.com/dev=ok"]),
                Outcome::Answer(_)
            ));
        }
    });
}

#[test]
fn an_injector_ends_its_thread_at_once() {
    let node = Node::with(&[("ok.yaml", NEIGHBOUR)]);
    let start = Instant::now();
    drop(node.injector(&json!({})));
    // Without being woken up it would wait for a minute.
    assert!(start.elapsed() < Duration::from_secs(30));
}
