//! The host and its components beside a real containerd.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nri_host_tests::artifacts::c_component;
use nri_host_tests::containerd::{self, Container, Containerd, RELEASES, Release, V1_7, V2_4};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::patience::PATIENCE;
use nri_host_tests::tier;
use serde_json::{Value, json};

/// A device that every kernel has and no container gets by itself.
const HOST_DEVICE: &str = "/dev/kmsg";
/// Asks for it for the container `main`.
const ANNOTATION: (&str, &str) = (
    "devices.noderesource.dev/container.main",
    "- {path: /dev/injected, type: c, major: 1, minor: 11}",
);

/// Time between two looks at a file.
const POLL: Duration = Duration::from_millis(10);

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

/// `INDEX-NAME` of the components, two of them from one library.
const PLUGINS: [&str; 4] = ["10-injector", "20-in-c", "90-logger", "91-second-logger"];

#[tokio::test(flavor = "multi_thread")]
async fn containerd_1_7_gives_devices_where_annotations_ask_for_them() -> Result<()> {
    devices_where_annotations_ask(V1_7).await
}

#[tokio::test(flavor = "multi_thread")]
async fn containerd_2_4_gives_devices_where_annotations_ask_for_them() -> Result<()> {
    devices_where_annotations_ask(V2_4).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds four more releases of containerd"]
async fn every_release_gives_devices_where_annotations_ask_for_them() -> Result<()> {
    for release in RELEASES {
        devices_where_annotations_ask(release)
            .await
            .with_context(|| format!("containerd {}", release.version))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn components_survive_the_death_of_containerd_1_7() -> Result<()> {
    components_survive_the_death(V1_7).await
}

#[tokio::test(flavor = "multi_thread")]
async fn components_survive_the_death_of_containerd_2_4() -> Result<()> {
    components_survive_the_death(V2_4).await
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

/// The file that the logger writes, behind the requests.
struct Log(PathBuf);

impl Log {
    /// Waits until there is an event for which `is_it` holds.
    async fn wait(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(&self.0).context("reading the logger's file")?;
            // The last line may be half written.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            for line in whole.lines() {
                if is_it(&serde_json::from_str(line)?) {
                    return Ok(());
                }
            }
            ensure!(
                Instant::now() < until,
                "waited in vain for {what} in\n{text}"
            );
            tokio::time::sleep(POLL).await;
        }
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
