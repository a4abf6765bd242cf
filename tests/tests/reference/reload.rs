//! One of four components is changed under a real runtime's traffic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::reference::{Options, Reference};
use nri_plugin_api::api::{Container, CreateContainerRequest, PodSandbox, SynchronizeRequest};
use protobuf::MessageField;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::stage::Stage;

const PLUGINS: [&str; 4] = ["10-one", "20-subject", "30-two", "40-three"];
const SUBJECT: &str = "subject";
/// The runtime goes on when it loses a plugin with these in the midst of a request.
const TOLERANT: &[&str] = &["Synchronize", "CreateContainer"];
/// The runtime fails a creation when it loses a plugin with these that has yet to validate it.
const SENSITIVE: &[&str] = &[
    "Synchronize",
    "CreateContainer",
    "ValidateContainerAdjustment",
];
/// Time between two creations in which the runtime has nothing to do.
const PAUSE: Duration = Duration::from_millis(40);
/// The drop-in of the component that is changed.
const FILE: &str = "subject.toml";

/// The component that is changed: it marks what it was asked about.
fn subject(version: usize, methods: &[&str]) -> Component {
    let text = format!("version={version}");
    let config = json!({
        "methods": methods,
        "on": { "CreateContainer": { "do": "annotate", "text": text } },
    });
    Component::faulty(SUBJECT, 20, config)
}

struct Node {
    runtime: Arc<Reference>,
    host: Host,
    methods: &'static [&'static str],
    created: usize,
    _dir: tempfile::TempDir,
}

impl Node {
    fn new(methods: &'static [&'static str]) -> Result<Option<Self>> {
        let Some(Stage { runtime, dir }) = Stage::with(&Options::default())? else {
            return Ok(None);
        };
        let config = json!({ "methods": methods });
        let other = |name: &str, index| Component::faulty(name, index, config.clone());
        let host = Host::builder()
            .socket(runtime.socket())
            .component(other("one", 10))
            .component(other("two", 30))
            .component(other("three", 40))
            .drop_in(FILE, &subject(0, methods).drop_in())
            .start()?;
        runtime.wait_connected(&PLUGINS);
        Ok(Some(Self {
            runtime: Arc::new(runtime),
            host,
            methods,
            created: 0,
            _dir: dir,
        }))
    }

    fn describe(&self, version: usize) -> Result<()> {
        let subject = subject(version, self.methods);
        self.host.write_drop_in(FILE, &subject.drop_in())
    }

    async fn reload(&self, version: usize) -> Result<()> {
        self.describe(version)?;
        let reloaded = self.host.reload().await?;
        let expected = [
            "10-one: unchanged",
            "20-subject: restarted",
            "30-two: unchanged",
            "40-three: unchanged",
        ];
        ensure!(reloaded.outcomes() == expected, "{reloaded:?}");
        Ok(())
    }

    /// How often each plugin came to be connected.
    fn connections(&self) -> [usize; 4] {
        let events = self.runtime.events();
        PLUGINS.map(|plugin| {
            let connected = |event: &&nri_host_tests::reference::Event| {
                event.name == "connected" && event.text == plugin
            };
            events.iter().filter(connected).count()
        })
    }

    /// The components that were not changed have missed nothing.
    async fn others_are_unaware(&self) -> Result<()> {
        let status = self.host.status().await?;
        for name in ["one", "two", "three"] {
            let component = status.component(name).context("a component")?;
            let keys = [
                "sessions",
                "failures",
                "late",
                "missed",
                "created_while_away",
            ];
            let counts = keys.map(|key| component.count(key));
            assert_eq!(
                counts,
                [Some(1), Some(0), Some(0), Some(0), Some(0)],
                "{name}"
            );
            let created = &component.rest["calls_by_method"]["CreateContainer"];
            assert_eq!(created.as_u64().unwrap_or(0), self.created as u64, "{name}");
        }
        Ok(())
    }
}

/// Creates containers one after the other, as a runtime does: nobody is synchronized meanwhile.
struct Kubelet {
    runtime: Arc<Reference>,
    state: SynchronizeRequest,
    /// Those that the component under test was not asked about.
    missed: usize,
}

impl Kubelet {
    fn new(runtime: &Arc<Reference>) -> Self {
        let pod = PodSandbox {
            id: "pod".to_owned(),
            name: "web".to_owned(),
            ..PodSandbox::default()
        };
        Self {
            runtime: Arc::clone(runtime),
            state: SynchronizeRequest {
                pods: vec![pod],
                ..SynchronizeRequest::default()
            },
            missed: 0,
        }
    }

    fn create(&mut self) -> Result<()> {
        let container = Container {
            id: format!("container-{}", self.state.containers.len()),
            pod_sandbox_id: "pod".to_owned(),
            name: "server".to_owned(),
            ..Container::default()
        };
        let response = self.runtime.call(&CreateContainerRequest {
            pod: MessageField::some(self.state.pods[0].clone()),
            container: MessageField::some(container.clone()),
            ..CreateContainerRequest::default()
        })?;
        if !response.adjust.annotations.contains_key("version") {
            self.missed += 1;
        }
        self.state.containers.push(container);
        self.runtime.set_state(&self.state)
    }

    fn create_until(mut self, stop: &AtomicBool, pause: Duration) -> Result<Self> {
        while !stop.load(Ordering::Relaxed) {
            self.runtime.hold_sync()?;
            let created = self.create();
            self.runtime.release_sync()?;
            created?;
            thread::sleep(pause);
        }
        Ok(self)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_four_is_registered_anew_once_and_the_others_are_not() -> Result<()> {
    let Some(node) = Node::new(SENSITIVE)? else {
        return Ok(());
    };
    node.reload(1).await?;
    assert_eq!(node.connections(), [1, 2, 1, 1]);
    // A mistake in it changes nothing.
    let broken = subject(2, SENSITIVE).set("timeuot", "1s");
    node.host.write_drop_in(FILE, &broken.drop_in())?;
    let reloaded = node.host.reload().await?;
    assert_eq!(reloaded.outcomes()[1], "20-subject: failed");
    assert_eq!(node.connections(), [1, 2, 1, 1]);
    node.others_are_unaware().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_created_while_a_component_restarts_is_counted() -> Result<()> {
    let Some(mut node) = Node::new(SENSITIVE)? else {
        return Ok(());
    };
    let mut kubelet = Kubelet::new(&node.runtime);
    kubelet.create()?;
    node.runtime.hold_sync()?;
    node.describe(1)?;
    let runtime = Arc::clone(&node.runtime);
    let creating = spawn_blocking(move || {
        runtime.wait("the old instance to leave", |events| {
            let mut events = events.iter();
            events
                .any(|event| event.name == "closed" && event.text == "20-subject")
                .then_some(())
        });
        for _ in 0..3 {
            kubelet.create()?;
        }
        runtime.release_sync()?;
        anyhow::Ok(kubelet)
    });
    let reloaded = node.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let kubelet = creating.await??;
    assert_eq!(kubelet.missed, 3);
    let subject = node.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(subject.count("created_while_away"), Some(3));
    node.created = 4;
    node.others_are_unaware().await
}

#[expect(clippy::print_stdout, reason = "the figures are for people, too")]
async fn no_call_fails_and_what_is_missed_is_counted(
    reloads: usize,
    methods: &'static [&'static str],
    pause: Duration,
) -> Result<()> {
    let Some(mut node) = Node::new(methods)? else {
        return Ok(());
    };
    let stop = Arc::new(AtomicBool::new(false));
    let kubelet = Kubelet::new(&node.runtime);
    let until = Arc::clone(&stop);
    let creating = spawn_blocking(move || kubelet.create_until(&until, pause));
    let mut outcome = Ok(());
    for version in 1..=reloads {
        outcome = node.reload(version).await;
        if outcome.is_err() {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let kubelet = creating.await??;
    outcome?;
    assert_eq!(node.connections(), [1, 1 + reloads, 1, 1]);
    let subject = node.host.wait_state(SUBJECT, State::Active).await?;
    let counts = ["failures", "late", "missed"].map(|key| subject.count(key));
    assert_eq!(counts, [Some(0); 3]);
    assert_eq!(
        subject.count("created_while_away"),
        Some(kubelet.missed as u64)
    );
    node.created = kubelet.state.containers.len();
    println!(
        "{reloads} reloads under {} creations, of which {} were missed",
        node.created, kubelet.missed
    );
    node.others_are_unaware().await
}

/// One creation follows the other, and the runtime has no rest.
#[tokio::test(flavor = "multi_thread")]
async fn ten_reloads_under_traffic_fail_no_call_and_count_what_is_missed() -> Result<()> {
    no_call_fails_and_what_is_missed_is_counted(10, TOLERANT, Duration::ZERO).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_reloads_of_a_component_that_validates_fail_no_call() -> Result<()> {
    no_call_fails_and_what_is_missed_is_counted(10, SENSITIVE, PAUSE).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_hundred_reloads_under_traffic_fail_no_call_and_count_what_is_missed() -> Result<()> {
    no_call_fails_and_what_is_missed_is_counted(100, TOLERANT, Duration::ZERO).await?;
    no_call_fails_and_what_is_missed_is_counted(100, SENSITIVE, PAUSE).await
}
