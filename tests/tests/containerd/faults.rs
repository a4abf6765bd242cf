//! Components that misbehave beside a real containerd: what the node sees of it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nri_host_tests::containerd::{self, Container, Containerd, Pod, Release, V1_7, V2_4};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::tier;
use serde_json::json;

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];
/// Time that the components have for a call.
const TIMEOUT: Duration = Duration::from_secs(1);
/// What containerd logs when it gives a plugin up, and when it has lost one.
const DROPPED: &str = "closing plugin";
const LOST: &str = "connection to plugin";

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_hangs_costs_containerd_1_7_its_timeout_once() -> Result<()> {
    a_hang_costs_its_timeout_once(V1_7).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_hangs_costs_containerd_2_4_its_timeout_once() -> Result<()> {
    a_hang_costs_its_timeout_once(V2_4).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_must_not_fail_refuses_containers_save_of_exempt_namespaces() -> Result<()>
{
    let Some(containerd) = start(V2_4)? else {
        return Ok(());
    };
    let host = host(&containerd, hanging("strict").set("on_failure", "fail")).await?;

    let pod = containerd.run_pod("hung-0", &[])?;
    for _ in 0..2 {
        let refused = containerd.create_container(&pod, "main", &SLEEP);
        let error = format!("{:#}", refused.map(|_| ()).unwrap_err());
        for name in ["10-strict", "hung-0", "main"] {
            assert!(error.contains(name), "{name} is not in {error}");
        }
    }
    let healing = containerd.run_pod_in("kube-system", "hung-1", &[])?;
    let main = containerd.run_container(&healing, "main", &SLEEP)?;
    runs(&containerd, &main)?;

    is_still_a_plugin(&containerd, host, "strict").await
}

async fn a_hang_costs_its_timeout_once(release: Release) -> Result<()> {
    let Some(containerd) = start(release)? else {
        return Ok(());
    };
    let host = host(&containerd, hanging("lenient")).await?;

    let (before, _) = timed(&containerd, &containerd.run_pod("plain", &[])?)?;
    let mut took = Vec::new();
    for n in 0..4 {
        let pod = containerd.run_pod(&format!("hung-{n}"), &[])?;
        let (time, container) = timed(&containerd, &pod)?;
        runs(&containerd, &container)?;
        took.push(time);
    }
    tier::say(&format!(
        "containerd {}: a container took {before:?}, one whose component hangs {:?}, the next {:?}",
        containerd.version(),
        took[0],
        &took[1..]
    ));
    assert!(took[0] >= TIMEOUT, "{took:?}");
    // The others waited for nobody: each answer was there at once.
    let component = host.wait_state("lenient", State::Overdue).await?;
    assert_eq!(
        ["calls", "late", "missed"].map(|key| component.count(key)),
        [Some(2), Some(1), Some(3)]
    );
    is_still_a_plugin(&containerd, host, "lenient").await
}

/// A containerd, or nothing if the test is to be skipped.
fn start(release: Release) -> Result<Option<Containerd>> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(None);
    }
    Containerd::start(release).map(Some)
}

/// A component that never returns from CreateContainer for a pod whose name begins with `hung`.
fn hanging(name: &str) -> Component {
    let hang = json!({ "do": "hang", "for": { "pod_name_prefix": "hung" } });
    let config = json!({ "methods": ["CreateContainer"], "on": { "CreateContainer": hang } });
    let timeout = format!("{}ms", TIMEOUT.as_millis());
    Component::faulty(name, 10, config).set("timeout", timeout)
}

/// A host with one component, which is active.
async fn host(containerd: &Containerd, component: Component) -> Result<Host> {
    let host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(component)
        .start()?;
    host.wait_status("ready", |status| {
        status
            .components
            .iter()
            .all(|component| component.state == State::Active)
    })
    .await?;
    Ok(host)
}

/// Creates and starts a container, and says how long creating it took.
fn timed(containerd: &Containerd, pod: &Pod) -> Result<(Duration, Container)> {
    let begin = Instant::now();
    let container = containerd.run_container(pod, "main", &SLEEP)?;
    Ok((begin.elapsed(), container))
}

fn runs(containerd: &Containerd, container: &Container) -> Result<()> {
    let process = containerd.exec(container, &["cat", "/proc/1/comm"])?;
    assert_eq!(process, "sleep");
    Ok(())
}

/// The runtime has not given the plugin up; that it would have said so shows when the host ends.
async fn is_still_a_plugin(containerd: &Containerd, mut host: Host, name: &str) -> Result<()> {
    let component = host.status().await?.component(name).cloned();
    let component = component.context("it is configured")?;
    assert_eq!(component.count("sessions"), Some(1));
    let log = containerd.log()?;
    for words in [DROPPED, LOST] {
        assert!(
            !log.contains(words),
            "{words:?} is in containerd's log:\n{log}"
        );
    }
    host.stop().await?;
    containerd.logged(LOST)
}
