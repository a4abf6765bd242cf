//! The whole state, in messages that the library cuts.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use nri_host_tests::reference::{Event, Options};
use nri_plugin_api::api::SynchronizeRequest;
use serde_json::{Value, json};

use crate::stage::Stage;

/// The library cuts below its message limit of 4 MiB: three messages.
const PODS: usize = 300;
const CONTAINERS: usize = 900;

#[tokio::test(flavor = "multi_thread")]
async fn a_state_in_several_messages_reaches_a_component_once_and_whole() -> Result<()> {
    let Some(stage) = Stage::silent()? else {
        return Ok(());
    };
    stage.runtime.set_state(&state())?;
    stage.runtime.listen(&Options::default())?;
    let record = stage.dir.path().join("calls.jsonl");
    let component = Component::faulty("recorder", 10, json!({ "record": record }));
    let _host = Host::builder()
        .socket(stage.runtime.socket())
        .component(component)
        .start()?;
    stage.runtime.wait_connected(&["10-recorder"]);

    let log = std::fs::read_to_string(stage.runtime.socket().with_extension("log"))?;
    let messages = log.matches("sending sync message").count();
    let too_large = log.matches("oversized message").count();
    assert!(
        messages - too_large == 3,
        "the state was sent in {messages} messages: {log}"
    );
    let calls = recorded(&record, "Synchronize")?;
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["pods"], PODS);
    assert_eq!(calls[0]["containers"], CONTAINERS);
    Ok(())
}

/// With few pods beside many containers the library halves the number of pods down to none and then
/// sends one empty message after another, until the time for all of them is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_the_library_never_gets_sent_is_outlived() -> Result<()> {
    let Some(stage) = Stage::silent()? else {
        return Ok(());
    };
    let mut many = state();
    many.pods.truncate(1);
    for container in &mut many.containers {
        container.pod_sandbox_id.clone_from(&many.pods[0].id);
    }
    stage.runtime.set_state(&many)?;
    stage.runtime.listen(&Options {
        request_timeout: Duration::from_secs(5),
        ..Options::default()
    })?;
    let host = Host::builder()
        .socket(stage.runtime.socket())
        .component(Component::faulty("patient", 10, json!({})))
        .start()?;
    let tries = |events: &[Event]| {
        let begun = events.iter().filter(|event| event.name == "synchronizing");
        (begun.count() >= 2).then_some(())
    };
    stage.runtime.wait("a second attempt", tries);
    let log = std::fs::read_to_string(stage.runtime.socket().with_extension("log"))?;
    assert!(log.matches("sending sync message").count() > 10, "{log}");

    host.logged("in the middle of the synchronization").await?;
    // Nothing is wrong with the connection: a state that fits is taken at once.
    stage.runtime.set_state(&SynchronizeRequest::default())?;
    stage.runtime.wait_connected(&["10-patient"]);
    host.wait_state("patient", State::Active).await?;
    Ok(())
}

fn state() -> SynchronizeRequest {
    let pods: Vec<_> = (0..PODS)
        .map(|n| pods::pod(&format!("pod{n}")).build())
        .collect();
    let container = |n: usize| {
        let container = pods::container(&pods[n % PODS], &format!("container{n}"));
        // 900 of the common size are less than three messages.
        container
            .annotation("padding", &"x".repeat(4000))
            .running()
            .build()
    };
    SynchronizeRequest {
        containers: (0..CONTAINERS).map(container).collect(),
        pods,
        ..SynchronizeRequest::default()
    }
}

/// The calls of a method in a component's record.
fn recorded(record: &Path, method: &str) -> Result<Vec<Value>> {
    let lines = std::fs::read_to_string(record).context("reading the record")?;
    let calls = lines.lines().map(serde_json::from_str::<Value>);
    let calls: Vec<Value> = calls.collect::<Result<_, _>>()?;
    Ok(calls
        .into_iter()
        .filter(|call| call["method"] == method)
        .collect())
}
