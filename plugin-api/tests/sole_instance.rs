//! As long as a library has one instance, lines of any thread are its lines.
//!
//! A test of its own process: the other tests make instances at the same time.

use std::sync::mpsc;

use nri_plugin_api::testing::{Harness, Setup, json};
use nri_plugin_api::{Component, Error, Host, NoConfig};

struct Quiet;

#[nri_plugin_api::component(id = "com.example.quiet")]
impl Component for Quiet {
    type Config = NoConfig;

    fn create(_: NoConfig, _: Host) -> Result<Self, Error> {
        Ok(Self)
    }
}

fn messages(harness: &Harness<Quiet>) -> Vec<String> {
    harness
        .logs()
        .into_iter()
        .map(|line| line.message)
        .collect()
}

#[test]
fn a_thread_that_is_not_attached_logs_for_the_only_instance() {
    let (say, lines) = mpsc::channel::<&str>();
    let (said, done) = mpsc::channel();
    std::thread::spawn(move || {
        for line in lines {
            tracing::info!("{line}");
            said.send(()).expect("the test waits");
        }
    });
    let log = |line| {
        say.send(line).expect("the thread runs");
        done.recv().expect("the thread runs");
    };

    let first = Setup::new()
        .name("first")
        .create::<Quiet>(&json!({}))
        .unwrap();
    log("alone");
    let second = Setup::new()
        .name("second")
        .create::<Quiet>(&json!({}))
        .unwrap();
    log("whose?");
    drop(first);
    log("alone again");
    assert_eq!(messages(&second), ["alone again"]);

    let third = Setup::new()
        .name("third")
        .create::<Quiet>(&json!({}))
        .unwrap();
    drop(second);
    drop(third);
    log("nobody is there");

    let first = Setup::new().create::<Quiet>(&json!({})).unwrap();
    log("alone");
    assert_eq!(messages(&first), ["alone"]);
}
