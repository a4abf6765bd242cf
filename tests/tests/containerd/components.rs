//! The host and its components beside a real containerd.

use anyhow::{Context, Result};
use nri_host_tests::artifacts::c_component;
use nri_host_tests::containerd::{
    self, Container, Containerd, RELEASES, Release, V1_7, V2_1, V2_4,
};
use nri_host_tests::host::{Component, ComponentStatus, Host, State};
use nri_host_tests::tier;
use serde_json::{Value, json};

use crate::log::Log;

/// A device that every kernel has and no container gets by itself.
const HOST_DEVICE: &str = "/dev/kmsg";
/// Asks for it for the container `main`.
const ANNOTATION: (&str, &str) = (
    "devices.noderesource.dev/container.main",
    "- {path: /dev/injected, type: c, major: 1, minor: 11}",
);

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

/// `INDEX-NAME` of the components, two of them from one library.
const PLUGINS: [&str; 4] = ["10-injector", "20-in-c", "90-logger", "91-second-logger"];

/// The releases that `make test` runs: the oldest, the newest, and the most common one between.
const FEW: [Release; 3] = [V1_7, V2_1, V2_4];

#[tokio::test(flavor = "multi_thread")]
async fn devices_are_there_where_annotations_ask_for_them() -> Result<()> {
    each(&FEW, devices_where_annotations_ask).await
}

#[tokio::test(flavor = "multi_thread")]
async fn components_survive_the_death_of_containerd() -> Result<()> {
    each(&FEW, components_survive_the_death).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_missed_a_call_gets_the_state_again() -> Result<()> {
    each(&FEW, the_state_comes_again).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds three more releases of containerd"]
async fn every_release_serves_as_those_of_the_short_run() -> Result<()> {
    let others: Vec<_> = RELEASES
        .into_iter()
        .filter(|release| !FEW.contains(release))
        .collect();
    each(&others, devices_where_annotations_ask).await?;
    each(&others, components_survive_the_death).await?;
    each(&others, the_state_comes_again).await
}

async fn each(releases: &[Release], check: impl AsyncFn(Release) -> Result<()>) -> Result<()> {
    for release in releases {
        check(*release)
            .await
            .with_context(|| format!("containerd {}", release.version))?;
    }
    Ok(())
}

async fn devices_where_annotations_ask(release: Release) -> Result<()> {
    let Some(node) = Node::start(release).await? else {
        return Ok(());
    };
    let containerd = &node.containerd;
    let pod = containerd.run_pod("asking", &[ANNOTATION])?;
    let main = containerd.run_container(&pod, "main", &SLEEP)?;
    let other = containerd.run_container(&pod, "other", &SLEEP)?;
    let plain = containerd.run_pod("plain", &[])?;
    let plain_main = containerd.run_container(&plain, "main", &SLEEP)?;

    assert_has_device(containerd, &main)?;
    for without in [&other, &plain_main] {
        assert!(
            containerd
                .exec(without, &["stat", "/dev/injected"])
                .is_err(),
            "{}",
            without.name
        );
    }
    for (pod, container) in [(&pod, &main), (&pod, &other), (&plain, &plain_main)] {
        let is_it = |event: &Value| {
            event["event"] == "CreateContainer"
                && event["pod"]["id"] == pod.id.as_str()
                && event["container"]["name"] == container.name.as_str()
        };
        node.log.wait("a created container", is_it).await?;
    }

    let log = containerd.log()?;
    for plugin in PLUGINS {
        assert!(
            log.contains(plugin),
            "{plugin} is in containerd's log:\n{log}"
        );
    }
    Ok(())
}

async fn components_survive_the_death(release: Release) -> Result<()> {
    let Some(mut node) = Node::start(release).await? else {
        return Ok(());
    };
    let pod = node.containerd.run_pod("surviving", &[ANNOTATION])?;
    let first = node.containerd.run_container(&pod, "main", &SLEEP)?;

    node.containerd.kill9()?;
    for name in names() {
        node.host.wait_state(name, State::Waiting).await?;
    }
    node.containerd.restart()?;
    node.wait_active(2).await?;

    let holds_first = |event: &Value| {
        let containers = event["containers"].as_array();
        event["event"] == "Synchronize"
            && containers.is_some_and(|all| all.iter().any(|one| one["id"] == first.id.as_str()))
    };
    node.log
        .wait("the running container in Synchronize", holds_first)
        .await?;

    assert_has_device(&node.containerd, &first)?;
    let pod = node.containerd.run_pod("new", &[ANNOTATION])?;
    let second = node.containerd.run_container(&pod, "main", &SLEEP)?;
    assert_has_device(&node.containerd, &second)
}

/// A component that is late once is answered for, keeps its place, and learns of what it missed.
async fn the_state_comes_again(release: Release) -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let containerd = Containerd::start(release)?;
    let record = containerd.dir().join("record.jsonl");
    let late = json!({ "CreateContainer": { "do": "sleep", "ms": 1500, "times": 1 } });
    let config =
        json!({ "methods": ["CreateContainer", "Synchronize"], "on": late, "record": record });
    let host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(Component::faulty("late", 10, config).set("timeout", "200ms"))
        .start()?;
    host.wait_state("late", State::Active).await?;
    let pod = containerd.run_pod("missed", &[])?;
    let main = containerd.run_container(&pod, "main", &SLEEP)?;
    let again =
        |late: &ComponentStatus| late.state == State::Active && late.count("sessions") == Some(2);
    let late = host.wait_component("late", "in step again", again).await?;
    assert_eq!(
        (late.count("late"), late.count("sessions")),
        (Some(1), Some(2))
    );
    let synchronized = |containers: u64| {
        move |call: &Value| {
            call["method"] == "Synchronize" && call["containers"].as_u64() == Some(containers)
        }
    };
    let record = Log(record);
    record
        .wait("nothing in the first state", synchronized(0))
        .await?;
    record
        .wait("the container in the second", synchronized(1))
        .await?;
    containerd.exec(&main, &["cat", "/proc/1/comm"])?;
    Ok(())
}

/// A containerd, a host with four components, and what the logger writes.
struct Node {
    containerd: Containerd,
    host: Host,
    log: Log,
}

impl Node {
    /// Starts everything, or nothing if the test is to be skipped.
    async fn start(release: Release) -> Result<Option<Self>> {
        if tier::skipped("real containerd", containerd::missing()) {
            return Ok(None);
        }
        let containerd = Containerd::start(release)?;
        let log = Log(containerd.dir().join("events.jsonl"));
        let second_log = containerd.dir().join("pod-events.jsonl");
        let injector = Component::new("injector", 10, "libnri_device_injector.so")
            .config(json!({ "allow_devices": [HOST_DEVICE] }));
        let logger = Component::new("logger", 90, "libnri_logger.so")
            .config(json!({ "file": log.0, "events": ["all"] }));
        let second = Component::new("second-logger", 91, "libnri_logger.so")
            .config(json!({ "file": second_log, "events": ["pod"] }));
        let host = Host::builder()
            .socket(&containerd.nri_socket())
            .component(injector)
            .component(Component::new("in-c", 20, c_component("minimal")?))
            .component(logger)
            .component(second)
            .start()?;
        let node = Self {
            containerd,
            host,
            log,
        };
        node.wait_active(1).await?;
        Ok(Some(node))
    }

    /// Waits until all components are active in their nth session.
    async fn wait_active(&self, session: u64) -> Result<()> {
        for name in names() {
            let what = format!("active in session {session}");
            self.host
                .wait_component(name, &what, |component| {
                    component.state == State::Active
                        && component.count("sessions").is_some_and(|n| n >= session)
                })
                .await?;
        }
        Ok(())
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    PLUGINS
        .into_iter()
        .filter_map(|plugin| plugin.split_once('-'))
        .map(|(_, name)| name)
}

/// The device is there, is the one that was asked for, and may be opened.
fn assert_has_device(containerd: &Containerd, container: &Container) -> Result<()> {
    let stat = containerd.exec(container, &["stat", "-c", "%F %t:%T", "/dev/injected"])?;
    assert_eq!(stat, "character special file 1:b");
    containerd.exec(container, &["sh", "-c", ": > /dev/injected"])?;
    Ok(())
}
