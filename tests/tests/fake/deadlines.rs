//! Components that are not back in time.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use nri_host_tests::fake_runtime::{CallError, FakeRuntime, Profile, Reply};
use nri_host_tests::host::{Component, ComponentStatus, State};
use serde_json::json;

use crate::callbacks::CALLBACKS;
use crate::outcomes::{word, word_of_failure};
use crate::record::Record;
use crate::scene::{SUBJECT, Scene, in_every_call};

/// A file whose appearance ends the calls that hang.
pub(crate) struct Gate<'a>(pub(crate) &'a Path);

impl Gate<'_> {
    pub(crate) fn open(&self) {
        fs::write(self.0, "").unwrap();
    }

    pub(crate) fn shut(&self) {
        fs::remove_file(self.0).unwrap();
    }
}

#[tokio::test]
async fn an_overdue_call_is_answered_at_its_deadline_and_the_next_ones_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let hang = json!({ "do": "hang", "until": gate });
    let own_timeout = Duration::from_millis(300);
    for on_failure in ["ignore", "fail"] {
        let subject = in_every_call(&hang)
            .set("on_failure", on_failure)
            .set("timeout", "300ms");
        let scene = Scene::new(subject).await?;
        for callback in &CALLBACKS {
            let call = || callback.tell(&scene.plugin, &scene.pod, &scene.container);
            let took = |answer: Result<Reply<_>, CallError>| {
                let took = match &answer {
                    Ok(reply) => reply.took,
                    Err(error) => error.took,
                };
                let word = word(
                    &scene.plugin,
                    callback,
                    (&scene.pod, &scene.container),
                    answer,
                );
                assert_eq!(word, word_of_failure(callback, on_failure));
                took
            };
            let first = took(call().await);
            assert!(first >= own_timeout, "{} after {first:?}", callback.method);
            // Counted below as missed, not as late: nobody waited for it.
            took(call().await);
            scene.host.wait_state(SUBJECT, State::Overdue).await?;
            Gate(&gate).open();
            scene.host.wait_state(SUBJECT, State::Active).await?;
            Gate(&gate).shut();
        }
        assert!(scene.plugin.is_connected());
        let counted = |component: &ComponentStatus| {
            (component.count("late"), component.count("missed")) == (Some(14), Some(14))
        };
        scene
            .host
            .wait_component(SUBJECT, "late and missed as often as called", counted)
            .await?;
        scene.bystander_is_unaware().await?;
    }
    Ok(())
}

#[tokio::test]
async fn other_components_serve_while_one_hangs() -> Result<()> {
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let subject = Component::faulty(
        SUBJECT,
        10,
        json!({ "methods": ["CreateContainer"], "on": on }),
    )
    .set("timeout", "2s");
    let scene = Scene::new(subject).await?;
    let hanging = scene.create_container();
    let others = async {
        for _ in 0..10 {
            scene.bystander_is_unaware().await?;
        }
        anyhow::Ok(())
    };
    let (answer, others) = tokio::join!(hanging, others);
    others?;
    answer?;
    Ok(())
}

#[tokio::test]
async fn the_answer_comes_before_the_runtime_gives_up_whatever_the_component_may_take() -> Result<()>
{
    let on = json!({ "CreateContainer": { "do": "hang" } });
    let config = json!({ "methods": ["CreateContainer"], "on": on });
    // A longer timeout of its own does not help it.
    let subject = Component::faulty(SUBJECT, 10, config).set("timeout", "1h");
    let runtime = FakeRuntime::builder(Profile::newest()).request_timeout(Duration::from_secs(2));
    let scene = Scene::with(runtime, subject).await?;
    let reply = scene.create_container().await?;
    // Nine tenths of the two seconds that the call had.
    assert!(
        reply.took >= Duration::from_millis(1800),
        "after {:?}",
        reply.took
    );
    Ok(())
}

#[tokio::test]
async fn a_late_answer_is_never_taken_for_another_call() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let on = json!({
        "CreateContainer": {
            "do": "hang", "until": gate, "times": 1, "for": { "pod_name_prefix": "web" },
        },
        "StopContainer": { "do": "large", "bytes": 100 },
    });
    let config = json!({ "methods": ["CreateContainer", "StopContainer"], "on": on });
    let subject = Component::faulty(SUBJECT, 10, config).set("timeout", "100ms");
    let scene = Scene::new(subject).await?;
    let late = scene.create_container().await?;
    assert_eq!(late.message, Default::default());
    Gate(&gate).open();
    scene.host.wait_state(SUBJECT, State::Active).await?;
    let stop = scene
        .plugin
        .stop_container(&scene.pod, &scene.container)
        .await?;
    assert_eq!(stop.update.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_component_with_state_is_brought_in_step_by_one_reconnect_after_a_late_call() -> Result<()>
{
    let folder = tempfile::tempdir()?;
    let (gate, record) = (folder.path().join("gate"), Record::new(folder.path()));
    let on = json!({ "CreateContainer": { "do": "hang", "until": gate, "times": 1 } });
    let config = json!({ "on": on, "record": record.path() });
    let subject = Component::faulty(SUBJECT, 10, config).set("timeout", "100ms");
    let scene = Scene::new(subject).await?;
    scene.create_container().await?;
    Gate(&gate).open();
    let again = scene.runtime.reconnected(&scene.plugin).await?;
    assert_eq!(record.calls_of("Synchronize").len(), 2);
    again.create_container(&scene.pod, &scene.container).await?;
    scene.bystander_is_unaware().await
}
