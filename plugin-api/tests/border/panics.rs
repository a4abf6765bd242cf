//! No panic leaves a component.

use std::sync::atomic::{AtomicUsize, Ordering};

use nri_plugin_api::testing::{self, Harness, LogLevel, Outcome, json};
use nri_plugin_api::{
    Adjustment, Component, CreateContainer, Error, Host, MethodSet, RunPodSandbox,
};
use serde::Deserialize;

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Where {
    #[default]
    Call,
    Create,
    Methods,
    Drop,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    panics_in: Where,
}

struct Nervous {
    panics_in: Where,
}

/// A payload that panics again when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[nri_plugin_api::component(id = "com.example.nervous", no_export)]
impl Component for Nervous {
    type Config = Settings;

    fn create(config: Settings, _: Host) -> Result<Self, Error> {
        assert!(config.panics_in != Where::Create, "in create");
        Ok(Self {
            panics_in: config.panics_in,
        })
    }

    fn methods(&self) -> MethodSet {
        assert!(self.panics_in != Where::Methods, "in methods");
        MethodSet::EMPTY
    }

    fn run_pod_sandbox(&mut self, _: &RunPodSandbox) -> Result<(), Error> {
        std::panic::panic_any(Bomb)
    }

    fn create_container(&mut self, request: &CreateContainer) -> Result<Adjustment, Error> {
        match request.container_name() {
            "boom" => panic!("container {}", request.container_name()),
            "caught" => {
                let _ = std::panic::catch_unwind(|| panic!("caught"));
            }
            "passed-on" => std::panic::resume_unwind(Box::new("in a thread")),
            _ => {}
        }
        Ok(Adjustment::new())
    }
}

impl Drop for Nervous {
    fn drop(&mut self) {
        assert!(self.panics_in != Where::Drop, "in drop");
    }
}

fn nervous(config: testing::Value) -> Harness<Nervous> {
    Harness::create(config).expect("only the panic is asked for")
}

fn create_container(harness: &mut Harness<Nervous>, name: &str) -> Outcome<usize> {
    let pod = testing::pod("p", []);
    match harness.create_container(&pod, &testing::container(&pod, name)) {
        Outcome::Answer(_) => Outcome::Answer(0),
        Outcome::Panicked(text) => Outcome::Panicked(text),
        Outcome::Dead => Outcome::Dead,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_is_told_with_its_place_and_kills_the_instance() {
    let mut harness = nervous(json!({}));
    assert_eq!(create_container(&mut harness, "calm"), Outcome::Answer(0));
    let Outcome::Panicked(text) = create_container(&mut harness, "boom") else {
        panic!("expected a panic");
    };
    assert!(
        text.contains("panicked at ") && text.contains("panics.rs:"),
        "{text}"
    );
    assert!(text.ends_with("container boom"), "{text}");
    let logs = harness.logs();
    assert_eq!(
        logs.last().map(|line| (line.level, line.message.clone())),
        Some((LogLevel::Error, text))
    );
    assert_eq!(create_container(&mut harness, "calm"), Outcome::Dead);
}

#[test]
fn a_panic_that_is_passed_on_is_told_and_logged_with_its_own_text() {
    let mut harness = nervous(json!({}));
    assert_eq!(create_container(&mut harness, "caught"), Outcome::Answer(0));
    let Outcome::Panicked(text) = create_container(&mut harness, "passed-on") else {
        panic!("expected a panic");
    };
    assert_eq!(text, "panicked: in a thread");
    let logs = harness.logs();
    assert_eq!(logs.last().map(|line| &line.message), Some(&text));
}

#[test]
fn a_payload_that_panics_when_dropped_is_survived() {
    let mut harness = nervous(json!({}));
    let outcome = harness.call(&nri_plugin_api::api::RunPodSandboxRequest::new());
    let Outcome::Panicked(text) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(text.ends_with("without a text"), "{text}");
}

#[test]
fn a_panic_in_create_is_a_failure_to_create() {
    let failure = Harness::<Nervous>::create(json!({ "panics_in": "create" })).unwrap_err();
    assert!(failure.message.ends_with("in create"), "{failure}");
    assert_eq!(failure.logs[0].message, failure.message);
}

#[test]
fn a_panic_while_narrowing_the_methods_kills_the_instance() {
    let mut harness = nervous(json!({ "panics_in": "methods" }));
    assert_eq!(harness.methods().iter().count(), 2, "all methods stay");
    assert_eq!(create_container(&mut harness, "calm"), Outcome::Dead);
}

#[test]
fn a_panic_in_drop_is_survived() {
    drop(nervous(json!({ "panics_in": "drop" })));
}

#[test]
fn an_instance_is_dropped_once_at_its_panic() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    #[nri_plugin_api::component(id = "com.example.counted", no_export)]
    impl Component for Counted {
        type Config = nri_plugin_api::NoConfig;
        fn create(_: Self::Config, _: Host) -> Result<Self, Error> {
            Ok(Self)
        }
        fn create_container(&mut self, _: &CreateContainer) -> Result<Adjustment, Error> {
            panic!("always")
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut harness = Harness::<Counted>::create(json!({})).unwrap();
    let pod = testing::pod("p", []);
    let outcome = harness.create_container(&pod, &testing::container(&pod, "c"));
    assert!(matches!(outcome, Outcome::Panicked(_)));
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    drop(harness);
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
}
