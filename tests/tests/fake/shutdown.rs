//! The host ends when it is told to, at any moment.

use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;
use nri_host_tests::fake_runtime::mux::End;
use nri_host_tests::fake_runtime::{FakeRuntime, Fault, Profile, Step};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::record::Record;

/// Far below what a service manager waits before it kills.
const PROMPTLY: Duration = Duration::from_secs(5);

fn subject(config: serde_json::Value) -> Component {
    Component::faulty("subject", 10, config)
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
async fn in_each_step_of_the_handshake() -> Result<()> {
    for step in [
        Step::Read,
        Step::Register,
        Step::Configure,
        Step::Synchronize,
        Step::Activate,
    ] {
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
async fn a_call_under_way_is_still_answered() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let on = json!({ "CreateContainer": { "do": "sleep", "ms": 300 } });
    let config = json!({ "on": on, "record": record.path() });
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(subject(config))
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    let call = plugin.create_container(&pod, &container);
    let stop = async {
        record.wait_for("CreateContainer").await?;
        ends_well(&mut host).await
    };
    let (answer, stopped) = tokio::join!(call, stop);
    stopped?;
    answer?;
    Ok(())
}

#[tokio::test]
async fn while_a_component_hangs() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let component = subject(json!({ "on": on })).set("timeout", "100ms");
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(component)
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let pod = pods::pod("web").build();
    plugin
        .create_container(&pod, &pods::container(&pod, "server").build())
        .await?;
    host.wait_state("subject", State::Overdue).await?;
    ends_well(&mut host).await
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let config = json!({ "on": on, "record": record.path() });
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(subject(config))
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    let call = plugin.create_container(&pod, &container);
    let stop = async {
        record.wait_for("CreateContainer").await?;
        host.signal(Signal::SIGTERM)?;
        host.logged("stopping").await?;
        host.signal(Signal::SIGTERM)?;
        host.ended().await
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
