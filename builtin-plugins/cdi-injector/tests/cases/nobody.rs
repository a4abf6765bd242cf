//! Files that a process may not read, which root always may.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{Uid, setfsuid};
use nri_cdi_injector::index::Index;
use nri_plugin_api::testing::json;

use crate::folder::{NEIGHBOUR, Node, devices};

/// No file of the tests is this user's.
const NOBODY: Uid = Uid::from_raw(65_534);

/// How long is waited for what must come: far longer than it takes, and shorter than it takes the
/// component to look without being told.
const PATIENCE: Duration = Duration::from_secs(30);

/// Does it on a thread that has no more access to files than anybody, nor have the threads that it
/// starts.
fn as_nobody<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setfsuid(NOBODY);
            work()
        });
        thread.join().expect("it does not panic")
    })
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is the test's own");
}

#[test]
fn a_file_that_could_not_be_read_is_read_again_though_it_is_the_same() {
    if !Uid::effective().is_root() {
        // Only root can become another user.
        return;
    }
    let node = Node::with(&[("a.yaml", NEIGHBOUR)]);
    set_mode(node.root.path(), 0o755);
    set_mode(&node.path("a.yaml"), 0o600);
    // What changed within the last seconds is read again in any case.
    thread::sleep(Duration::from_secs(3));
    let folders = node.folders();
    let index = as_nobody(|| Index::scan(&folders));
    assert!(devices(&index).is_empty());
    let [problem] = index.problems() else {
        panic!("{:?}", index.problems());
    };
    assert!(problem.text.contains("cannot be read"), "{problem}");
    assert_eq!(devices(&index.rescan(&folders)), ["good.com/dev=ok"]);
}

#[test]
fn row_14_folders_that_are_opened_are_seen() {
    if !Uid::effective().is_root() {
        // Only root can become another user.
        return;
    }
    let node = Node::with(&[("a.yaml", NEIGHBOUR)]);
    let closed = node.root.path().join("etc");
    set_mode(node.root.path(), 0o755);
    set_mode(&closed, 0o700);
    let (created, is_created) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            is_created.recv().expect("the injector is created");
            set_mode(&closed, 0o755);
        });
        as_nobody(|| {
            // It is asked for no device, which would have it look.
            let injector = node.injector(&json!({}));
            let known = || {
                let health = injector.harness.health()?;
                Some(health.summary.starts_with("CDI devices: 1,"))
            };
            let start = Instant::now();
            while known() != Some(false) {
                assert!(start.elapsed() < PATIENCE, "no report");
                thread::yield_now();
            }
            created.send(()).expect("it is waited for");
            while known() != Some(true) {
                assert!(
                    start.elapsed() < PATIENCE,
                    "{:?}",
                    injector.harness.health()
                );
                thread::yield_now();
            }
        });
    });
}
