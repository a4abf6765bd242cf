//! Components that fail again and again are left alone.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile, SocketFile};
use nri_host_tests::host::{Component, ComponentStatus, State};
use serde_json::json;

use crate::callbacks::{CALLBACKS, all_methods};
use crate::deadlines::Gate;
use crate::outcomes::{word, word_of_failure};
use crate::record::Record;
use crate::scene::{SUBJECT, Scene, in_every_call, raw_faults};

/// Failures that lead to quarantine here.
const FAILURES: u32 = 3;

/// Failed and late calls so far.
fn failed(component: &ComponentStatus) -> u64 {
    let count = |key| component.count(key).unwrap_or_default();
    count("failures") + count("late")
}

/// Makes a call that fails, and waits until the component could take the next one.
async fn fail_once(scene: &Scene, failures: u64) -> Result<()> {
    // What the runtime gets is the policy's business.
    let _ = scene.create_container().await;
    let is_over = |component: &ComponentStatus| {
        failed(component) == failures
            && matches!(component.state, State::Active | State::Quarantined)
    };
    let what = format!("back from failure {failures}");
    scene.host.wait_component(SUBJECT, &what, is_over).await?;
    Ok(())
}

/// Makes calls that fail until the component is in quarantine.
async fn fail_until_quarantined(scene: &Scene) -> Result<ComponentStatus> {
    for failures in 1..=u64::from(FAILURES) {
        scene.host.wait_state(SUBJECT, State::Active).await?;
        fail_once(scene, failures).await?;
    }
    scene.host.wait_state(SUBJECT, State::Quarantined).await
}

/// Each call of the runtime is answered by the policy, and none reaches the component.
async fn is_not_called(scene: &Scene, on_failure: &str) -> Result<()> {
    let before = scene.host.wait_state(SUBJECT, State::Quarantined).await?;
    for callback in &CALLBACKS {
        let answer = callback
            .tell(&scene.plugin, &scene.pod, &scene.container)
            .await;
        if let Err(error) = &answer {
            let (_, text) = error.status().expect("an answer");
            assert!(text.contains("quarantine"), "{text}");
        }
        let got = word(
            &scene.plugin,
            callback,
            (&scene.pod, &scene.container),
            answer,
        );
        assert_eq!(
            got,
            word_of_failure(callback, on_failure),
            "{}",
            callback.method
        );
    }
    let missed = |component: &ComponentStatus| component.count("missed").unwrap_or_default();
    let all = |component: &ComponentStatus| missed(component) == missed(&before) + 14;
    let after = scene
        .host
        .wait_component(SUBJECT, "missing each call", all)
        .await?;
    assert_eq!(after.count("calls"), before.count("calls"));
    assert_eq!(failed(&after), failed(&before));
    assert_eq!(after.count("recreated"), before.count("recreated"));
    assert_eq!(after.last_error(), before.last_error());
    Ok(())
}

async fn leads_to_quarantine(subject: impl Fn() -> Component, words: &str) -> Result<()> {
    for on_failure in ["ignore", "fail"] {
        let subject = subject()
            .quarantined_after(FAILURES)
            .set("on_failure", on_failure);
        let scene = Scene::new(subject).await?;
        let component = fail_until_quarantined(&scene).await?;
        let last_error = component.last_error().unwrap_or_default();
        assert!(last_error.contains(words), "{component:?}");
        is_not_called(&scene, on_failure).await?;
        assert!(scene.plugin.is_connected());
        scene.bystander_is_unaware().await?;
    }
    Ok(())
}

#[tokio::test]
async fn errors_lead_to_quarantine() -> Result<()> {
    let error = json!({ "do": "error", "text": "out of tape" });
    leads_to_quarantine(|| in_every_call(&error), "out of tape").await
}

#[tokio::test]
async fn panics_lead_to_quarantine() -> Result<()> {
    let panic = json!({ "do": "panic", "text": "out of tape" });
    leads_to_quarantine(|| in_every_call(&panic), "out of tape").await
}

#[tokio::test]
async fn garbage_leads_to_quarantine() -> Result<()> {
    leads_to_quarantine(|| raw_faults("garbage"), "cannot be read").await
}

#[tokio::test]
async fn late_calls_lead_to_quarantine() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let subject = in_every_call(&json!({ "do": "hang", "until": gate }))
        .quarantined_after(FAILURES)
        .set("timeout", "100ms");
    let scene = Scene::new(subject).await?;
    for failures in 1..=FAILURES {
        scene.create_container().await?;
        let overdue = scene.host.wait_state(SUBJECT, State::Overdue).await?;
        assert_eq!(failed(&overdue), u64::from(failures));
        let quarantined = overdue.count("quarantine_left_seconds").is_some();
        assert_eq!(quarantined, failures == FAILURES, "{overdue:?}");
        Gate(&gate).open();
        let back = [State::Active, State::Quarantined][usize::from(quarantined)];
        scene.host.wait_state(SUBJECT, back).await?;
        Gate(&gate).shut();
    }
    is_not_called(&scene, "ignore").await?;
    assert!(scene.plugin.is_connected());
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn rejections_never_lead_to_quarantine() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let on = json!({ "CreateContainer": { "do": "reject" } });
    let config = json!({ "on": on, "record": record.path() });
    let subject = Component::faulty(SUBJECT, 10, config).quarantined_after(1);
    let scene = Scene::new(subject).await?;
    for _ in 0..20 {
        let answer = scene.create_container().await;
        answer.unwrap_err();
    }
    let rejected = |component: &ComponentStatus| component.count("rejections") == Some(20);
    let component = scene
        .host
        .wait_component(SUBJECT, "rejecting all", rejected)
        .await?;
    assert_eq!(component.state, State::Active);
    assert_eq!(record.calls_of("CreateContainer").len(), 20);
    Ok(())
}

#[tokio::test]
async fn five_failures_are_too_many_by_default() -> Result<()> {
    let on = json!({ "CreateContainer": { "do": "error" } });
    let config = json!({ "methods": ["CreateContainer"], "on": on });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, config)).await?;
    for failures in 1..=5 {
        scene.host.wait_state(SUBJECT, State::Active).await?;
        fail_once(&scene, failures).await?;
    }
    let component = scene.host.wait_state(SUBJECT, State::Quarantined).await?;
    let left = component.count("quarantine_left_seconds").unwrap();
    // However slow this machine is: it began after the test.
    assert!((1..=600).contains(&left), "{left}");
    Ok(())
}

#[tokio::test]
async fn it_is_told_once_when_it_begins_and_shown_while_it_lasts() -> Result<()> {
    let error = json!({ "do": "error", "text": "out of tape" });
    let subject = in_every_call(&error).quarantined_after(FAILURES);
    let scene = Scene::new(subject).await?;
    fail_until_quarantined(&scene).await?;
    is_not_called(&scene, "ignore").await?;
    scene.host.logged("in quarantine").await?;
    let log = scene.host.log();
    assert_eq!(log.matches("in quarantine").count(), 1, "{log}");
    let shown = scene.host.run(&["status"]).await?.stdout;
    for words in [
        "quarantined",
        "3 of its calls failed",
        "`nri-host reset subject` ends it",
        "out of tape",
    ] {
        assert!(
            shown.contains(words),
            "nothing about {words:?} in:\n{shown}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_host_is_not_ready_while_a_required_component_is_in_quarantine() -> Result<()> {
    let subject = in_every_call(&json!({ "do": "error" }))
        .quarantined_after(FAILURES)
        .set("required", true);
    let scene = Scene::new(subject).await?;
    scene
        .host
        .wait_status("ready", |status| status.ready)
        .await?;
    fail_until_quarantined(&scene).await?;
    scene
        .host
        .wait_status("not ready", |status| !status.ready)
        .await?;
    scene.host.run(&["reset", SUBJECT]).await?;
    scene
        .host
        .wait_status("ready", |status| status.ready)
        .await?;
    Ok(())
}

#[tokio::test]
async fn in_quarantine_it_stays_connected_over_a_restart_of_the_runtime_uncalled() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let on = json!({ "CreateContainer": { "do": "error" } });
    let config = json!({ "on": on, "record": record.path() });
    let subject = Component::faulty(SUBJECT, 10, config).quarantined_after(FAILURES);
    let mut scene = Scene::with(FakeRuntime::builder(Profile::newest()), subject).await?;
    fail_until_quarantined(&scene).await?;
    let called = record.lines().len();
    scene.runtime.kill(SocketFile::Removed).await?;
    scene.runtime.listen()?;
    scene.plugin = scene.runtime.reconnected(&scene.plugin).await?;
    scene.host.wait_state(SUBJECT, State::Quarantined).await?;
    assert_eq!(record.lines().len(), called, "{:?}", record.lines());
    // It knows nothing of what this runtime has said, and is told when it is called again.
    scene.host.run(&["reset", SUBJECT]).await?;
    scene.plugin = scene.runtime.reconnected(&scene.plugin).await?;
    assert_eq!(record.calls_of("Synchronize").len(), 2);
    Ok(())
}

#[tokio::test]
async fn panics_are_no_endless_loop_of_create_and_destroy() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let on = json!({ "CreateContainer": { "do": "panic" } });
    let methods: Vec<_> = all_methods();
    let config = json!({ "methods": methods, "on": on, "record": record.path() });
    let subject = Component::faulty(SUBJECT, 10, config).quarantined_after(FAILURES);
    let scene = Scene::new(subject).await?;
    fail_until_quarantined(&scene).await?;
    is_not_called(&scene, "ignore").await?;
    assert_eq!(record.calls_of("create").len(), 1 + FAILURES as usize);
    assert_eq!(record.calls_of("destroy").len(), FAILURES as usize);
    Ok(())
}
