//! What the runtime gets of a component's answers and failures, beside the table of outcomes.

use std::time::Duration;

use anyhow::Result;
use nri_host_tests::artifacts::c_component;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Component, ComponentStatus, State};
use serde_json::json;

use crate::scene::{SUBJECT, Scene, in_every_call};

#[tokio::test]
async fn an_adjustment_reaches_the_runtime_as_it_is() -> Result<()> {
    let annotate = json!({ "CreateContainer": { "do": "annotate", "text": "moon=full" } });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({ "on": annotate }))).await?;
    let reply = scene.create_container().await?;
    assert_eq!(reply.adjust.annotations["moon"], "full");
    Ok(())
}

#[tokio::test]
async fn a_sysctl_is_kept_from_the_runtimes_that_die_of_it_and_from_no_others() -> Result<()> {
    for (profile, passes) in [
        (Profile::nri_0_10(), true),
        (Profile::nri_0_11(), false),
        (Profile::nri_0_12_0(), true),
    ] {
        let nri = profile.nri;
        let config = json!({ "fault": "sysctl", "on": ["CreateContainer"] });
        let subject = Component::new(SUBJECT, 10, c_component("raw_faults")?).config(config);
        let scene = Scene::with(FakeRuntime::builder(profile), subject).await?;
        let reply = scene.create_container().await?;
        assert_eq!(
            reply.adjust.linux.sysctl.len(),
            usize::from(passes),
            "{nri}"
        );
        let counted =
            |component: &ComponentStatus| component.count("failures") == Some(u64::from(!passes));
        scene
            .host
            .wait_component(SUBJECT, "counted", counted)
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_long_reason_is_cut() -> Result<()> {
    let reject = json!({ "do": "reject", "text": "x".repeat(5000) });
    let scene = Scene::new(in_every_call(&reject)).await?;
    let answer = scene.create_container().await;
    let error = answer.unwrap_err();
    let (_, text) = error.status().unwrap();
    let reason = text.matches('x').count();
    assert!(
        (1000..=1024).contains(&reason),
        "{reason} bytes of the reason"
    );
    Ok(())
}

#[tokio::test]
async fn after_a_panic_there_is_a_new_instance() -> Result<()> {
    let panic_once = json!({ "CreateContainer": { "do": "panic", "times": 1 } });
    let config = json!({ "methods": ["CreateContainer"], "on": panic_once });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, config)).await?;
    // Each instance panics once.
    for panics in 1..=3 {
        scene.create_container().await?;
        let is_back = |component: &ComponentStatus| {
            component.count("recreated") == Some(panics) && component.state == State::Active
        };
        scene
            .host
            .wait_component(SUBJECT, "created again", is_back)
            .await?;
    }
    assert_eq!(
        scene
            .host
            .wait_state(SUBJECT, State::Active)
            .await?
            .count("sessions"),
        Some(1)
    );
    Ok(())
}

#[tokio::test]
async fn the_runtime_is_asked_to_keep_the_connection_and_to_fail_by_the_policy() -> Result<()> {
    for (on_failure, fails) in [("ignore", false), ("fail", true)] {
        let subject = Component::faulty(SUBJECT, 10, json!({})).set("on_failure", on_failure);
        let builder = FakeRuntime::builder(Profile::nri_0_12_4());
        let scene = Scene::with(builder, subject).await?;
        assert!(scene.plugin.asks_to_keep_connected());
        assert_eq!(
            scene.plugin.asks_to_fail_requests(),
            fails,
            "on_failure = {on_failure}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_slow_answer_in_time_is_the_answer() -> Result<()> {
    let on = json!({ "CreateContainer": { "do": "sleep", "ms": 50 } });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({ "on": on }))).await?;
    let reply = scene.create_container().await?;
    assert!(reply.took >= Duration::from_millis(50));
    let status = scene.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(status.count("late"), Some(0));
    Ok(())
}
