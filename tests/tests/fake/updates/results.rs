//! What came of an update, and being told it.

use std::time::{Duration, Instant};

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile, UpdateAnswer};
use nri_host_tests::host::{ComponentStatus, Host, State};
use nri_plugin_api::api;
use serde_json::json;

use super::asker::{Asker, RESULT, fine, start, wait_counted};
use super::{containers, create_container};

/// How long the host waits for the answer to an update.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn what_the_runtime_refuses_reaches_the_component_with_its_words() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.set_update_answer(UpdateAnswer::Error("no such cgroup".to_owned()));
    let asker = Asker::new("asker")?.in_create(&["c0"]);
    let host = start(&runtime, &[&asker])?;
    let told = asker.told(1).await?;
    assert!(told[0].1.contains("no such cgroup"), "{told:?}");
    wait_counted(&host, "asker", "failed", 1).await?;
    host.logged("no such cgroup").await
}

#[tokio::test]
async fn containers_that_could_not_be_updated_are_told_and_logged() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let failed = api::ContainerUpdate {
        container_id: "c0".to_owned(),
        ..Default::default()
    };
    runtime.set_update_answer(UpdateAnswer::Failed(vec![failed]));
    let asker = Asker::new("asker")?.in_create(&["c0"]);
    let host = start(&runtime, &[&asker])?;
    asker.record.wait_for(RESULT).await?;
    let told = asker.record.calls_of(RESULT);
    assert_eq!(
        (&told[0].failed[..], &told[0].error[..]),
        (&["c0".to_owned()][..], "")
    );
    wait_counted(&host, "asker", "failed", 1).await?;
    host.logged("containers were not updated").await
}

#[tokio::test]
async fn a_lost_session_fails_what_was_sent_and_keeps_what_was_not() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.set_update_answer(UpdateAnswer::Held);
    let asker = Asker::new("asker")?.burst(&["c0", "c1"]);
    let host = start(&runtime, &[&asker])?;
    let plugin = runtime.plugin("10-asker").await?;
    asker.go()?;
    runtime.updates(1).await?;
    wait_counted(&host, "asker", "queued", 2).await?;
    runtime.set_update_answer(UpdateAnswer::Applied);
    plugin.close();
    let told = asker.told(2).await?;
    assert!(
        told[0].0 == "c0" && told[0].1.contains("session was lost"),
        "{told:?}"
    );
    assert_eq!(told[1], fine("c1"));
    Ok(())
}

#[tokio::test]
async fn an_update_without_an_answer_is_given_up_and_the_next_one_goes() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.set_update_answer(UpdateAnswer::Held);
    let asker = Asker::new("asker")?.burst(&["c0", "c1"]);
    let host = start(&runtime, &[&asker])?;
    let plugin = runtime.plugin("10-asker").await?;
    let start = Instant::now();
    asker.go()?;
    let updates = runtime.updates(2).await?;
    let waited = updates[1].at - start;
    assert!(waited >= ANSWER_LIMIT, "given up after {waited:?}");
    // The thread has had no turn yet.
    create_container(&plugin).await?;
    let told = asker.told(1).await?;
    assert_eq!(told[0].0, "c0");
    assert!(told[0].1.contains("within 10 s"), "{told:?}");
    // Both are answered now, and the first answer comes too late for anyone.
    runtime.release();
    assert_eq!(asker.told(2).await?[1..], [fine("c1")]);
    wait_counted(&host, "asker", "failed", 1).await
}

#[tokio::test]
async fn an_update_that_changes_nothing_is_told_without_asking_the_runtime() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let asker = Asker::new("asker")?.in_create(&["", "c0"]);
    let host = start(&runtime, &[&asker])?;
    let mut told = asker.told(2).await?;
    told.sort();
    assert_eq!(told, ["", "c0"].map(fine));
    assert_eq!(containers(&runtime.updates(1).await?), ["c0"]);
    wait_counted(&host, "asker", "dropped", 1).await
}

#[tokio::test]
async fn a_panic_over_a_result_counts_like_one_in_a_call() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let asker = Asker::new("asker")?
        .in_call(&json!({ "do": "update", "text": "c0", "times": 1 }))
        .on_result(&json!({ "do": "panic", "text": "ouch" }));
    let host = start(&runtime, &[&asker])?;
    let plugin = runtime.plugin("10-asker").await?;
    create_container(&plugin).await?;
    let created_again = |component: &ComponentStatus| component.count("recreated") == Some(1);
    let status = host
        .wait_component("asker", "created again", created_again)
        .await?;
    assert_eq!(status.count("failures"), Some(1));
    let error = status.last_error();
    assert!(
        error.is_some_and(|error| error.contains("ouch")),
        "{error:?}"
    );
    assert!(plugin.is_connected());
    Ok(())
}

#[tokio::test]
async fn requests_are_answered_while_a_component_does_not_come_back_from_a_result() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let asker = Asker::new("asker")?;
    let hang = json!({ "do": "hang", "until": asker.signal() });
    let asker = asker.in_create(&["c0"]).on_result(&hang);
    let host = Host::builder()
        .socket(runtime.socket())
        .component(asker.component(10).set("timeout", "100ms"))
        .start()?;
    let plugin = runtime.plugin("10-asker").await?;
    asker.told(1).await?;
    create_container(&plugin).await?;
    let status = host.wait_state("asker", State::Overdue).await?;
    assert_eq!(
        (status.count("late"), status.count("missed")),
        (Some(1), Some(1))
    );
    asker.go()?;
    host.wait_state("asker", State::Active).await?;
    create_container(&plugin).await?;
    assert_eq!(asker.record.calls_of("CreateContainer").len(), 1);
    assert!(plugin.is_connected());
    Ok(())
}

#[tokio::test]
async fn the_call_after_an_overdue_result_has_all_of_its_time() -> Result<()> {
    let request_timeout = Duration::from_secs(3);
    let runtime = FakeRuntime::builder(Profile::newest()).request_timeout(request_timeout);
    let mut runtime = runtime.build()?;
    runtime.listen()?;
    let asker = Asker::new("asker")?;
    let hang = json!({ "do": "hang", "until": asker.signal() });
    let asker = asker.in_create(&["c0"]).on_result(&hang);
    let host = start(&runtime, &[&asker])?;
    let plugin = runtime.plugin("10-asker").await?;
    asker.told(1).await?;
    let told = Instant::now();
    // As long as a call may take at all: the time of the next one must not be less by that.
    while told.elapsed() < request_timeout {
        create_container(&plugin).await?;
    }
    host.wait_state("asker", State::Overdue).await?;
    asker.go()?;
    host.wait_state("asker", State::Active).await?;
    create_container(&plugin).await?;
    let status = host.wait_state("asker", State::Active).await?;
    assert_eq!(status.count("late"), Some(1));
    assert_eq!(asker.record.calls_of("CreateContainer").len(), 1);
    Ok(())
}
