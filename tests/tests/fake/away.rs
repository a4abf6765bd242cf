//! Containers that were created while a component had no session.

use anyhow::Result;
use nri_host_tests::fake_runtime::SocketFile;
use nri_host_tests::host::{Component, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::scene::{SUBJECT, Scene};

#[tokio::test]
async fn those_that_it_was_not_told_of_are_counted_once() -> Result<()> {
    let mut scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    let told = scene.container.clone();
    scene.plugin.create_container(&scene.pod, &told).await?;

    let away = |name| pods::container(&scene.pod, name).build();
    let all = vec![told, away("first"), away("second")];
    for _ in 0..2 {
        scene.runtime.kill(SocketFile::Left).await?;
        scene
            .runtime
            .set_state(vec![scene.pod.clone()], all.clone());
        scene.runtime.listen()?;
        scene.plugin = scene.runtime.reconnected(&scene.plugin).await?;
        let subject = scene.host.wait_state(SUBJECT, State::Active).await?;
        assert_eq!(subject.count("created_while_away"), Some(2));
    }
    Ok(())
}

#[tokio::test]
async fn a_component_that_does_not_care_about_creations_misses_none() -> Result<()> {
    let config = json!({ "methods": ["StopContainer"] });
    let mut scene = Scene::new(Component::faulty(SUBJECT, 10, config)).await?;
    scene.runtime.kill(SocketFile::Left).await?;
    let containers = vec![scene.container.clone()];
    scene.runtime.set_state(vec![scene.pod.clone()], containers);
    scene.runtime.listen()?;
    scene.plugin = scene.runtime.reconnected(&scene.plugin).await?;
    let subject = scene.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(subject.count("created_while_away"), Some(0));
    Ok(())
}
