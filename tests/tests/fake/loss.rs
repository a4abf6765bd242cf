//! Connections that are lost, or of no use though they are not.

use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::Signal;
use nri_host_tests::fake_runtime::mux::Limits;
use nri_host_tests::fake_runtime::{
    Complaint, Connection, EVENTS_0_10, FakeRuntime, Fault, Profile, Split, Stage, Step,
};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::record::Record;
use crate::scene::{SUBJECT, Scene};

const PLUGIN: &str = "10-subject";

fn host(runtime: &FakeRuntime, config: serde_json::Value) -> Result<Host> {
    Host::builder()
        .socket(runtime.socket())
        .component(Component::faulty(SUBJECT, 10, config))
        .start()
}

#[tokio::test]
async fn a_runtime_that_takes_no_more_answers_is_connected_to_anew() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    scene.plugin.stop_taking();
    // The runtime lets nobody in before it has given up the call.
    let impatient = scene.plugin.with_deadline(Duration::from_millis(500));
    let call = impatient.create_container(&scene.pod, &scene.container);
    let (lost, again) = tokio::join!(call, scene.runtime.reconnected(&scene.plugin));
    lost.unwrap_err();
    again?
        .create_container(&scene.pod, &scene.container)
        .await?;
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn after_shutdown_without_an_end_the_session_serves_on() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    scene.plugin.shutdown().await?;
    scene.create_container().await?;
    let subject = scene.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(subject.count("sessions"), Some(1));
    Ok(())
}

#[tokio::test]
async fn what_came_of_a_synchronization_that_broke_off_is_forgotten() -> Result<()> {
    let pods: Vec<_> = (0..4)
        .map(|n| pods::pod(&format!("p{n}")).build())
        .collect();
    let split = Split::Chunks(vec![(1, 0), (1, 0), (1, 0)]);
    let whole = {
        let mut runtime = FakeRuntime::builder(Profile::nri_0_10())
            .state(pods.clone(), Vec::new())
            .split(split.clone())
            .build()?;
        runtime.listen()?;
        let _host = host(&runtime, json!({}))?;
        runtime.plugin(PLUGIN).await?.record().bytes_written
    };
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    // The last chunk is cut short; those before it came.
    let within_the_last = Limits {
        written: Some(whole - 20),
        read: None,
    };
    let mut runtime = FakeRuntime::builder(Profile::nri_0_10())
        .state(pods, Vec::new())
        .split(split)
        .fault(Fault::CutOff(within_the_last))
        .build()?;
    runtime.listen()?;
    let _host = host(&runtime, json!({ "record": record.path() }))?;
    let plugin = runtime.plugin(PLUGIN).await?;
    assert_eq!(plugin.connection(), 2);
    // That it began means that the subscription was accepted.
    assert_eq!(plugin.mask(), EVENTS_0_10);
    let synchronized = record.calls_of("Synchronize");
    let pods: Vec<_> = synchronized.iter().map(|call| call.pods).collect();
    assert_eq!(pods, [Some(4)]);
    Ok(())
}

/// A runtime that keeps a connection whose synchronization failed, as all before NRI 0.12.
fn keeping() -> Result<FakeRuntime> {
    let mut runtime = FakeRuntime::builder(Profile::nri_0_8())
        .request_timeout(Duration::from_secs(4))
        .build()?;
    runtime.listen()?;
    Ok(runtime)
}

/// Stops the host while it is in Synchronize until the runtime has given it up. The host learns of
/// the request some time after it was sent, so it sleeps for that long, too.
async fn miss_synchronize(runtime: &FakeRuntime, host: &Host, number: usize) -> Result<()> {
    host.signal(Signal::SIGSTOP)?;
    let known = Instant::now();
    let dead = |known: &Connection| known.number == number && known.stage == Stage::Dead;
    runtime.connection("a dead connection", dead).await?;
    tokio::time::sleep_until((known + runtime.request_timeout()).into()).await;
    host.signal(Signal::SIGCONT)
}

#[tokio::test]
async fn a_connection_that_an_old_runtime_keeps_after_a_late_synchronization_is_given_up()
-> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let mut runtime = keeping()?;
    let on = json!({ "Synchronize": { "do": "hang", "until": folder.path().join("never") } });
    let host = host(&runtime, json!({ "on": on, "record": record.path() }))?;
    record.wait_for("Synchronize").await?;
    miss_synchronize(&runtime, &host, 1).await?;
    host.logged("the runtime has given up the synchronization: the answer took")
        .await?;
    // The component hangs on; the host answers for it.
    assert_eq!(runtime.plugin(PLUGIN).await?.connection(), 2);
    host.wait_state(SUBJECT, State::Overdue).await?;
    runtime.restart().await?;
    runtime.plugin(PLUGIN).await?;
    Ok(())
}

#[tokio::test]
async fn late_synchronizations_cost_one_reconnect_a_minute_but_for_a_new_socket() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let mut runtime = keeping()?;
    let on = json!({ "Synchronize": { "do": "sleep", "ms": 3000, "times": 2 } });
    let host = host(&runtime, json!({ "on": on, "record": record.path() }))?;
    record.wait_for("Synchronize").await?;
    // The component is back from the first one before it is told the second.
    runtime.inject(Fault::Hold(Step::Synchronize));
    miss_synchronize(&runtime, &host, 1).await?;
    runtime.held().await?;
    host.wait_component(SUBJECT, "back", |subject| {
        subject.state == State::Handshaking
    })
    .await?;
    runtime.release();
    record.wait_for_calls("Synchronize", 2).await?;
    miss_synchronize(&runtime, &host, 2).await?;
    let waiting = host
        .wait_component(SUBJECT, "given up", |subject| {
            let reason = subject.reason.as_deref().unwrap_or_default();
            subject.state == State::Waiting && reason.contains("given up the synchronization")
        })
        .await?;
    assert_eq!(runtime.connections().len(), 2, "{waiting:?}");
    runtime.restart().await?;
    assert_eq!(runtime.plugin(PLUGIN).await?.connection(), 3);
    host.wait_state(SUBJECT, State::Active).await?;
    Ok(())
}

const SUSPICION: &str = "does another host with the same component names run on this node?";

#[tokio::test]
async fn two_hosts_with_the_same_names_do_not_take_the_place_from_each_other_for_ever() -> Result<()>
{
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .replace_namesakes()
        .build()?;
    runtime.listen()?;
    let (first, second) = (host(&runtime, json!({}))?, host(&runtime, json!({}))?);
    tokio::select! {
        said = first.logged(SUSPICION) => said?,
        said = second.logged(SUSPICION) => said?,
    }
    // Six sessions each, and what was under way.
    assert!(
        runtime.connections().len() <= 13,
        "{:?}",
        runtime.connections()
    );
    let out = if first.log().contains(SUSPICION) {
        &first
    } else {
        &second
    };
    let waiting = out.wait_state(SUBJECT, State::Waiting).await?;
    let reason = waiting.reason.unwrap_or_default();
    assert!(reason.contains(SUSPICION), "{reason}");
    // A new socket: both may try again.
    let before = runtime.connections().len();
    runtime.restart().await?;
    let newer = move |connection: &Connection| {
        connection.number > before + 1 && connection.active.is_some()
    };
    runtime.connection("both hosts again", newer).await?;
    // Two hosts know nothing of each other's handshakes.
    let complaints = runtime.take_complaints();
    let overlap = |complaint: &Complaint| matches!(complaint, Complaint::Overlap { .. });
    assert!(complaints.iter().all(overlap), "{complaints:?}");
    Ok(())
}
