//! The promise: whatever a component does, the runtime gets an answer, in time, and the connection
//! stays. Each test is for one thing that a component may do, in each of the fourteen calls.

use std::time::Duration;

use anyhow::Result;
use nri_host_tests::artifacts::c_component;
use nri_host_tests::fake_runtime::{CallError, FakeRuntime, Profile, Reply};
use nri_host_tests::host::{Component, ComponentStatus, State};
use nri_host_tests::pods;
use nri_plugin_api::api;
use protobuf::Message;
use serde_json::json;

use crate::callbacks::{CALLBACKS, Callback, all_methods};
use crate::scene::{SUBJECT, Scene, in_every_call};

/// Words that a component gives as its reason.
const REASON: &str = "the moon is not full";

/// What a component does in a call, as far as the runtime is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answer,
    Rejection,
    Failure,
}

/// What the runtime must get.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Empty,
    /// An error that names the component and the pod, and the container where there is one.
    Error,
    /// A validation that was made and not passed.
    Verdict,
}

pub(crate) fn expected(callback: &Callback, outcome: Outcome, on_failure: &str) -> Expected {
    let validation = callback.event == api::Event::VALIDATE_CONTAINER_ADJUSTMENT;
    match outcome {
        Outcome::Rejection if validation => Expected::Verdict,
        Outcome::Rejection if callback.decides => Expected::Error,
        // A check that was not made has not passed.
        Outcome::Failure if validation => Expected::Error,
        Outcome::Failure if on_failure == "fail" && may_fail(callback) => Expected::Error,
        _ => Expected::Empty,
    }
}

/// Whether a failure in this call may become an error: nothing may keep a pod from stopping, and
/// what only tells of something that happened cannot undo it.
fn may_fail(callback: &Callback) -> bool {
    callback.decides || callback.event == api::Event::UPDATE_POD_SANDBOX
}

pub(crate) fn check(
    scene: &Scene,
    callback: &Callback,
    expected: &Expected,
    answer: Result<Reply<Vec<u8>>, CallError>,
) {
    let method = callback.method;
    match (expected, answer) {
        (Expected::Empty, answer) => assert_eq!(answer.unwrap().message, [0_u8; 0], "{method}"),
        (Expected::Verdict, answer) => {
            let verdict =
                api::ValidateContainerAdjustmentResponse::parse_from_bytes(&answer.unwrap());
            let verdict = verdict.unwrap();
            assert!(
                verdict.reject && verdict.reason.contains(REASON),
                "{verdict:?}"
            );
        }
        (Expected::Error, answer) => {
            let error = answer.expect_err(method);
            let (_, text) = error.status().expect(method);
            assert!(
                text.contains(SUBJECT) && text.contains(&scene.pod.name),
                "{method}: {text}"
            );
            if callback.has_container {
                assert!(text.contains(&scene.container.name), "{method}: {text}");
            }
        }
    }
}

/// Makes each of the fourteen calls under both policies.
async fn in_each_call(outcome: Outcome, subject: impl Fn() -> Component) -> Result<()> {
    for on_failure in ["ignore", "fail"] {
        let scene = Scene::new(subject().set("on_failure", on_failure)).await?;
        for callback in &CALLBACKS {
            let answer = callback
                .tell(&scene.plugin, &scene.pod, &scene.container)
                .await;
            check(
                &scene,
                callback,
                &expected(callback, outcome, on_failure),
                answer,
            );
            assert!(
                scene.plugin.is_connected(),
                "{} with {on_failure}",
                callback.method
            );
        }
        scene.bystander_is_unaware().await?;
        let expected = match outcome {
            Outcome::Answer => (0, 0),
            Outcome::Rejection => (14, 0),
            Outcome::Failure => (0, 14),
        };
        // The answer goes out before it is counted.
        let counted = |component: &ComponentStatus| {
            let count = |key| component.count(key).unwrap_or_default();
            (count("rejections"), count("failures") + count("missed")) == expected
        };
        let what = format!("counted {expected:?} times");
        scene.host.wait_component(SUBJECT, &what, counted).await?;
    }
    Ok(())
}

pub(crate) fn raw_faults(fault: &str) -> Component {
    let library = c_component("raw_faults").unwrap();
    let config = json!({ "fault": fault, "on": all_methods() });
    Component::new(SUBJECT, 10, library)
        .config(config)
        .never_quarantined()
}

#[tokio::test]
async fn an_answer_reaches_the_runtime() -> Result<()> {
    in_each_call(Outcome::Answer, || {
        in_every_call(&json!({ "do": "answer" }))
    })
    .await
}

#[tokio::test]
async fn an_adjustment_reaches_the_runtime_as_it_is() -> Result<()> {
    let annotate = json!({ "CreateContainer": { "do": "annotate", "text": "moon=full" } });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({ "on": annotate }))).await?;
    let reply = scene
        .plugin
        .create_container(&scene.pod, &scene.container)
        .await?;
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
        let reply = scene
            .plugin
            .create_container(&scene.pod, &scene.container)
            .await?;
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
async fn a_rejection_stops_only_what_can_be_decided() -> Result<()> {
    let reject = json!({ "do": "reject", "text": REASON });
    in_each_call(Outcome::Rejection, || in_every_call(&reject)).await
}

#[tokio::test]
async fn an_error_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || {
        in_every_call(&json!({ "do": "error" }))
    })
    .await
}

#[tokio::test]
async fn a_panic_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || {
        in_every_call(&json!({ "do": "panic" }))
    })
    .await
}

#[tokio::test]
async fn garbage_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("garbage")).await
}

#[tokio::test]
async fn no_answer_at_all_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("none")).await
}

#[tokio::test]
async fn bytes_at_a_null_pointer_are_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("null_with_length")).await
}

#[tokio::test]
async fn too_much_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("too_large")).await
}

#[tokio::test]
async fn an_unknown_status_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("unknown")).await
}

#[tokio::test]
async fn an_unknown_status_of_a_reply_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("reply_unknown")).await
}

#[tokio::test]
async fn a_reply_for_another_call_is_answered_by_the_policy() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("stale_token")).await
}

#[tokio::test]
async fn a_reply_after_the_return_is_not_taken_for_the_next_call() -> Result<()> {
    in_each_call(Outcome::Failure, || raw_faults("late_reply")).await
}

#[tokio::test]
async fn the_first_of_two_replies_is_the_answer() -> Result<()> {
    in_each_call(Outcome::Answer, || raw_faults("double_reply")).await
}

#[tokio::test]
async fn failures_never_fail_pods_of_exempt_namespaces() -> Result<()> {
    let subject = in_every_call(&json!({ "do": "error" })).set("on_failure", "fail");
    let mut scene = Scene::new(subject).await?;
    scene.pod = pods::pod("dns").namespace("kube-system").build();
    for callback in &CALLBACKS {
        let answer = callback
            .tell(&scene.plugin, &scene.pod, &scene.container)
            .await;
        check(
            &scene,
            callback,
            &expected(callback, Outcome::Failure, "ignore"),
            answer,
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_long_reason_is_cut() -> Result<()> {
    let reject = json!({ "do": "reject", "text": "x".repeat(5000) });
    let scene = Scene::new(in_every_call(&reject)).await?;
    let answer = scene
        .plugin
        .create_container(&scene.pod, &scene.container)
        .await;
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
        scene
            .plugin
            .create_container(&scene.pod, &scene.container)
            .await?;
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
    let reply = scene
        .plugin
        .create_container(&scene.pod, &scene.container)
        .await?;
    assert!(reply.took >= Duration::from_millis(50));
    let status = scene.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(status.count("late"), Some(0));
    Ok(())
}
