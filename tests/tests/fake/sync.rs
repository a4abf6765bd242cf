//! Synchronize: the whole state, once, whatever way it comes.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile, Split};
use nri_host_tests::host::{Component, State};
use nri_host_tests::pods;
use nri_plugin_api::api::{Container, PodSandbox};
use serde_json::json;

use crate::record::Record;
use crate::scene::{SUBJECT, Scene};

/// Pods with so many containers each.
fn state(pod_count: usize, containers_each: usize) -> (Vec<PodSandbox>, Vec<Container>) {
    let pods: Vec<_> = (0..pod_count)
        .map(|n| pods::pod(&format!("pod-{n}")).build())
        .collect();
    let containers = pods.iter().flat_map(|pod| {
        (0..containers_each).map(|n| pods::container(pod, &format!("c{n}")).running().build())
    });
    let containers = containers.collect();
    (pods, containers)
}

/// What the component got in each Synchronize, as counts of pods and containers.
fn synchronized(record: &Record) -> Vec<(usize, usize)> {
    let calls = record.calls_of("Synchronize").into_iter();
    calls
        .map(|call| (call.pods.unwrap(), call.containers.unwrap()))
        .collect()
}

#[tokio::test]
async fn nine_hundred_containers_in_three_chunks_arrive_once_and_whole() -> Result<()> {
    let (pods, containers) = state(90, 10);
    let splits = [
        Split::Chunks(vec![(30, 300), (30, 300)]),
        Split::Chunks(vec![(90, 0), (0, 450)]),
        Split::WhenNeeded,
    ];
    for split in splits {
        let folder = tempfile::tempdir()?;
        let record = Record::new(folder.path());
        let builder = FakeRuntime::builder(Profile::newest())
            .state(pods.clone(), containers.clone())
            .split(split.clone());
        let subject = Component::faulty(SUBJECT, 10, json!({ "record": record.path() }));
        let scene = Scene::with(builder, subject).await?;
        assert_eq!(synchronized(&record), [(90, 900)], "{split:?}");
        let messages = scene.plugin.synchronized().messages;
        let expected = if split == Split::WhenNeeded { 2.. } else { 3.. };
        assert!(
            expected.contains(&messages),
            "{split:?} took {messages} messages"
        );
        scene.bystander_is_unaware().await?;
    }
    Ok(())
}

#[tokio::test]
async fn any_number_of_empty_chunks_is_answered_quickly_enough() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let (pods, containers) = state(3, 2);
    let builder = FakeRuntime::builder(Profile::newest()).state(pods, containers);
    let subject = Component::faulty(SUBJECT, 10, json!({ "record": record.path() }));
    Scene::with(builder.split(Split::EmptyFirst(500)), subject).await?;
    assert_eq!(synchronized(&record), [(3, 6)]);
    Ok(())
}

#[tokio::test]
async fn an_empty_state_arrives() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    Scene::new(Component::faulty(
        SUBJECT,
        10,
        json!({ "record": record.path() }),
    ))
    .await?;
    assert_eq!(synchronized(&record), [(0, 0)]);
    Ok(())
}

#[tokio::test]
async fn updates_of_synchronize_go_with_the_last_answer_alone() -> Result<()> {
    let (pods, containers) = state(2, 3);
    let builder = FakeRuntime::builder(Profile::newest())
        .state(pods, containers)
        .split(Split::Chunks(vec![(1, 1), (1, 1)]));
    let on = json!({ "Synchronize": { "do": "large", "bytes": 100 } });
    let scene = Scene::with(builder, Component::faulty(SUBJECT, 10, json!({ "on": on }))).await?;
    assert_eq!(scene.plugin.synchronized().updates.len(), 1);
    Ok(())
}

#[tokio::test]
async fn updates_of_synchronize_have_all_that_runtimes_rely_on() -> Result<()> {
    let on = json!({ "Synchronize": { "do": "large", "bytes": 8 } });
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({ "on": on }))).await?;
    let [update] = &scene.plugin.synchronized().updates[..] else {
        anyhow::bail!("expected one update");
    };
    let resources = &update.linux.resources;
    assert_eq!(resources.cpu.cpus.len(), 8);
    assert!(resources.memory.is_some(), "{resources:?}");
    Ok(())
}

#[tokio::test]
async fn a_component_that_fails_in_synchronize_is_connected_and_unsynced() -> Result<()> {
    for action in ["error", "reject", "panic", "hang"] {
        for on_failure in ["ignore", "fail"] {
            let on = json!({ "Synchronize": { "do": action } });
            let subject = Component::faulty(SUBJECT, 10, json!({ "on": on }))
                .set("on_failure", on_failure)
                .set("sync_timeout", "200ms");
            let scene = Scene::new(subject).await?;
            let state = if action == "hang" {
                State::Overdue
            } else {
                State::Unsynced
            };
            scene.host.wait_state(SUBJECT, state).await?;
            assert!(scene.plugin.synchronized().updates.is_empty());
            scene.bystander_is_unaware().await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_unsynced_required_component_keeps_the_host_from_being_ready() -> Result<()> {
    let on = json!({ "Synchronize": { "do": "error" } });
    let subject = Component::faulty(SUBJECT, 10, json!({ "on": on })).set("required", true);
    let scene = Scene::new(subject).await?;
    let status = scene
        .host
        .wait_status("unsynced", |status| {
            status
                .component(SUBJECT)
                .is_some_and(|known| known.state == State::Unsynced)
        })
        .await?;
    assert!(!status.ready);
    Ok(())
}

#[tokio::test]
async fn a_component_that_does_not_handle_synchronize_is_synchronized_without_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let (pods, containers) = state(3, 1);
    let builder = FakeRuntime::builder(Profile::newest()).state(pods, containers);
    let config = json!({ "methods": ["CreateContainer"], "record": record.path() });
    let scene = Scene::with(builder, Component::faulty(SUBJECT, 10, config)).await?;
    scene.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(record.methods(), [""; 0]);
    Ok(())
}
