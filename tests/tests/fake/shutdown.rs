//! The host ends when it is told to, at any moment.

use std::os::fd::AsRawFd;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket,
};
use nri_host_tests::fake_runtime::mux::End;
use nri_host_tests::fake_runtime::{FakeRuntime, Fault, Plugin, Profile, SocketFile, Step};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use nri_plugin_api::api::{Container, PodSandbox};
use serde_json::json;

use crate::record::Record;

/// Far below what a service manager waits before it kills.
const PROMPTLY: Duration = Duration::from_secs(5);

fn subject(config: serde_json::Value) -> Component {
    Component::faulty("subject", 10, config)
}

/// A host with one component that does something in CreateContainer, and the container for it.
struct Active {
    runtime: FakeRuntime,
    host: Host,
    plugin: Plugin,
    pod: PodSandbox,
    container: Container,
}

impl Active {
    async fn with(component: Component) -> Result<Self> {
        let runtime = FakeRuntime::start(Profile::newest()).await?;
        let host = Host::builder()
            .socket(runtime.socket())
            .component(component)
            .start()?;
        let plugin = runtime.plugin("10-subject").await?;
        let pod = pods::pod("web").build();
        let container = pods::container(&pod, "server").build();
        Ok(Self {
            runtime,
            host,
            plugin,
            pod,
            container,
        })
    }
}

async fn ends_well(host: &mut Host) -> Result<()> {
    let (status, took) = host.stop().await?;
    assert_eq!(status.code(), Some(0), "{status}\n{}", host.log());
    assert!(took < PROMPTLY, "after {took:?}");
    Ok(())
}

#[tokio::test]
async fn while_there_is_no_runtime() -> Result<()> {
    let mut host = Host::builder().component(subject(json!({}))).start()?;
    host.wait_state("subject", State::Waiting).await?;
    ends_well(&mut host).await
}

#[tokio::test]
async fn while_it_backs_off_from_a_stale_socket() -> Result<()> {
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.kill(SocketFile::Left).await?;
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(subject(json!({})))
        .start()?;
    host.wait_component("subject", "refused", |component| {
        component.state == State::Waiting && component.reason.is_some()
    })
    .await?;
    ends_well(&mut host).await
}

#[tokio::test]
async fn while_the_runtime_s_queue_of_connections_is_full() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("nri.sock");
    let address = UnixAddr::new(&path)?;
    let open = || {
        socket(
            AddressFamily::Unix,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
    };
    let listener = open()?;
    bind(listener.as_raw_fd(), &address)?;
    listen(&listener, Backlog::new(0)?)?;
    // The queue holds one.
    let first = open()?;
    connect(first.as_raw_fd(), &address)?;
    let mut host = Host::builder()
        .socket(&path)
        .component(subject(json!({})))
        .start()?;
    host.wait_state("subject", State::Waiting).await?;
    ends_well(&mut host).await
}

#[tokio::test]
async fn in_each_step_of_the_handshake() -> Result<()> {
    for step in Step::ALL {
        let builder = FakeRuntime::builder(Profile::newest()).fault(Fault::Hold(step));
        let mut runtime = builder.build()?;
        runtime.listen()?;
        let mut host = Host::builder()
            .socket(runtime.socket())
            .component(subject(json!({})))
            .start()?;
        runtime.held().await?;
        ends_well(&mut host).await?;
    }
    Ok(())
}

#[tokio::test]
async fn while_active_with_the_instance_destroyed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let config = json!({ "record": record.path() });
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(subject(config))
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    ends_well(&mut host).await?;
    assert_eq!(plugin.ended().await?, End::ClosedByPeer);
    assert_eq!(record.calls_of("destroy").len(), 1);
    assert!(!host.admin_socket().exists() || host.status_from_socket().await.is_err());
    Ok(())
}

#[tokio::test]
async fn while_more_results_wait_than_there_is_time_to_tell() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    // Updates that change nothing: their results are there at once.
    let updates = json!({
        "in_create": vec![""; 40], "on_result": { "do": "sleep", "ms": 300 },
    });
    let config = json!({
        "methods": ["CreateContainer"], "record": record.path(), "updates": updates,
    });
    let mut active = Active::with(subject(config)).await?;
    record.wait_for("update_result").await?;
    ends_well(&mut active.host).await?;
    assert_eq!(record.calls_of("destroy").len(), 1);
    let log = active.host.log();
    assert!(!log.contains("did not stop in time"), "{log}");
    Ok(())
}

#[tokio::test]
async fn a_call_under_way_is_still_answered() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let on = json!({ "CreateContainer": { "do": "sleep", "ms": 300 } });
    let config = json!({ "on": on, "record": record.path() });
    let mut active = Active::with(subject(config)).await?;
    let call = active
        .plugin
        .create_container(&active.pod, &active.container);
    let stop = async {
        record.wait_for("CreateContainer").await?;
        ends_well(&mut active.host).await
    };
    let (answer, stopped) = tokio::join!(call, stop);
    stopped?;
    answer?;
    Ok(())
}

#[tokio::test]
async fn a_call_that_hangs_is_answered_at_its_deadline() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let component = subject(json!({ "on": on, "record": record.path() }));
    let mut active = Active::with(component.set("timeout", "1s")).await?;
    let call = active
        .plugin
        .create_container(&active.pod, &active.container);
    let stop = async {
        record.wait_for("CreateContainer").await?;
        ends_well(&mut active.host).await
    };
    let (answer, stopped) = tokio::join!(call, stop);
    stopped?;
    assert_eq!(answer?.message, Default::default());
    Ok(())
}

#[tokio::test]
async fn while_create_hangs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let config = json!({ "create": "hang", "record": record.path() });
    let mut host = Host::builder().component(subject(config)).start()?;
    record.wait_for("create").await?;
    ends_well(&mut host).await
}

#[tokio::test]
async fn while_create_is_to_be_tried_later() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(subject(json!({ "create": "try-later" })))
        .start()?;
    host.wait_component("subject", "told to wait", |component| {
        let reason = component.reason.as_deref().unwrap_or_default();
        component.state == State::Waiting && reason.contains("as configured")
    })
    .await?;
    ends_well(&mut host).await
}

#[tokio::test]
async fn while_a_component_is_quarantined() -> Result<()> {
    let on = json!({ "CreateContainer": { "do": "error" } });
    let mut active = Active::with(subject(json!({ "on": on })).quarantined_after(1)).await?;
    active
        .plugin
        .create_container(&active.pod, &active.container)
        .await?;
    active
        .host
        .wait_state("subject", State::Quarantined)
        .await?;
    ends_well(&mut active.host).await
}

#[tokio::test]
async fn while_a_component_waits_to_be_brought_in_step() -> Result<()> {
    let on = json!({ "Synchronize": { "do": "error" } });
    let mut active = Active::with(subject(json!({ "on": on })).never_quarantined()).await?;
    active.host.wait_state("subject", State::Unsynced).await?;
    ends_well(&mut active.host).await?;
    assert_eq!(active.runtime.active(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn while_a_component_hangs() -> Result<()> {
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let component = subject(json!({ "on": on })).set("timeout", "100ms");
    let mut active = Active::with(component).await?;
    active
        .plugin
        .create_container(&active.pod, &active.container)
        .await?;
    active.host.wait_state("subject", State::Overdue).await?;
    ends_well(&mut active.host).await
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let config = json!({ "on": on, "record": record.path() });
    let mut active = Active::with(subject(config)).await?;
    let call = active
        .plugin
        .create_container(&active.pod, &active.container);
    let stop = async {
        record.wait_for("CreateContainer").await?;
        active.host.signal(Signal::SIGTERM)?;
        active.host.logged("stopping").await?;
        active.host.signal(Signal::SIGTERM)?;
        active.host.ended().await
    };
    let (_, status) = tokio::join!(call, stop);
    assert_ne!(status?.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_says_shutdown_is_connected_to_again() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = Host::builder()
        .socket(runtime.socket())
        .component(subject(json!({})))
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    assert_eq!(plugin.shutdown().await?.message, Vec::<u8>::new());
    plugin.close();
    runtime.reconnected(&plugin).await?;
    assert!(host.is_running());
    Ok(())
}

#[tokio::test]
async fn signals_that_mean_no_harm_disturb_nothing() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(subject(json!({})))
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    for round in 0..250 {
        for signal in [
            Signal::SIGHUP,
            Signal::SIGUSR1,
            Signal::SIGUSR2,
            Signal::SIGCHLD,
        ] {
            host.signal(signal)?;
        }
        if round % 10 == 0 {
            plugin.create_container(&pod, &container).await?;
        }
    }
    plugin.create_container(&pod, &container).await?;
    let status = host.wait_state("subject", State::Active).await?;
    assert_eq!(status.count("sessions"), Some(1));
    ends_well(&mut host).await
}
