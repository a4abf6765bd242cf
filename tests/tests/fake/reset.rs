//! `nri-host reset`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use nix::unistd::Uid;
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::patience::patiently;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::record::Record;
use crate::scene::{SUBJECT, Scene};

/// A component that fails in one call and takes part in synchronization.
fn failing_once(record: &Record) -> Component {
    let on = json!({ "CreateContainer": { "do": "error", "times": 1 } });
    let config = json!({ "on": on, "record": record.path() });
    Component::faulty(SUBJECT, 10, config).quarantined_after(1)
}

async fn quarantined(record: &Record) -> Result<Scene> {
    let scene = Scene::new(failing_once(record)).await?;
    scene.create_container().await?;
    scene.host.wait_state(SUBJECT, State::Quarantined).await?;
    Ok(scene)
}

#[tokio::test]
async fn it_ends_a_quarantine_and_the_component_is_brought_in_step() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let mut scene = quarantined(&record).await?;
    scene.create_container().await?;
    let finished = scene.host.run(&["reset", SUBJECT]).await?;
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout, "10-subject: its quarantine is ended\n");

    // It missed a call.
    scene.plugin = scene.runtime.reconnected(&scene.plugin).await?;
    scene.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(record.calls_of("Synchronize").len(), 2);
    scene.create_container().await?;
    assert_eq!(record.calls_of("CreateContainer").len(), 2);
    scene.bystander_is_unaware().await
}

#[tokio::test]
async fn a_component_that_missed_nothing_keeps_its_connection() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let scene = quarantined(&record).await?;
    let finished = scene.host.run(&["reset", "10-subject", "--json"]).await?;
    let done: Value = serde_json::from_str(&finished.stdout)?;
    let expected = json!([{ "component": "10-subject", "done": ["quarantine_ended"] }]);
    assert_eq!(done, expected);
    scene.host.wait_state(SUBJECT, State::Active).await?;
    scene.create_container().await?;
    assert_eq!(record.calls_of("CreateContainer").len(), 2);
    assert_eq!(record.calls_of("Synchronize").len(), 1);
    assert!(scene.plugin.is_connected());
    Ok(())
}

#[tokio::test]
async fn with_nothing_to_reset_it_says_so() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    let finished = scene.host.run(&["reset", SUBJECT]).await?;
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout, "10-subject: there was nothing to reset\n");
    Ok(())
}

#[tokio::test]
async fn a_component_that_could_not_be_created_is_tried_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("libnri_late.so");
    fs::write(&library, "not yet")?;
    let host = Host::builder()
        .component(Component::new(SUBJECT, 10, &library))
        .start()?;
    host.wait_state(SUBJECT, State::Failed).await?;
    fs::copy(artifacts()?.library("libnri_faulty.so")?, &library)?;
    let finished = host.run(&["reset", SUBJECT]).await?;
    assert_eq!(finished.stdout, "10-subject: its create is tried again\n");
    host.wait_state(SUBJECT, State::Waiting).await?;
    Ok(())
}

#[tokio::test]
async fn one_name_at_two_indexes_is_two_components_or_one() -> Result<()> {
    let host = Host::builder()
        .component(Component::faulty(SUBJECT, 10, json!({})))
        .component(Component::faulty(SUBJECT, 20, json!({})))
        .start()?;
    host.wait_status("there", |status| status.components.len() == 2)
        .await?;
    for (name, expected) in [
        (SUBJECT, vec!["10-subject", "20-subject"]),
        ("20-subject", vec!["20-subject"]),
    ] {
        let finished = host.run(&["reset", name, "--json"]).await?;
        let done: Vec<Value> = serde_json::from_str(&finished.stdout)?;
        let named: Vec<_> = done.iter().map(|reset| &reset["component"]).collect();
        assert_eq!(named, expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_component_that_is_not_run_cannot_be_reset() -> Result<()> {
    let host = Host::builder()
        .component(Component::faulty(SUBJECT, 10, json!({})))
        .component(Component::faulty("off", 20, json!({})).set("enabled", false))
        .component(Component::faulty("wrong", 30, json!({})).set("timeout", "soon"))
        .start()?;
    host.wait_status("there", |status| status.components.len() == 3)
        .await?;
    for (name, words) in [
        ("subjcet", "did you mean \"subject\"?"),
        ("something else", "there is no component \"something else\""),
        ("off", "switched off"),
        ("wrong", "timeout"),
    ] {
        let finished = host.run(&["reset", name]).await?;
        assert_eq!(finished.code, Some(64), "{finished:?}");
        assert!(finished.stderr.contains(words), "{finished:?}");
        assert_eq!(finished.stdout, "");
    }
    Ok(())
}

#[tokio::test]
async fn without_a_daemon_it_says_so() -> Result<()> {
    let finished = Host::builder().run(&["reset", SUBJECT]).await?;
    assert_eq!(finished.code, Some(69), "{finished:?}");
    assert!(finished.stderr.contains("not running"), "{finished:?}");
    Ok(())
}

/// Lets everybody in, down to the file.
fn open_to_all(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .with_context(|| format!("cannot change the mode of {}", path.display()))
}

#[tokio::test]
async fn another_user_may_look_but_not_reset_even_if_the_socket_lets_it_in() -> Result<()> {
    if !Uid::effective().is_root() {
        // Only root can become another user.
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let scene = quarantined(&record).await?;
    let program = scene.host.folder().join("nri-host");
    fs::copy(artifacts()?.host(), &program)?;
    for (path, mode) in [
        (scene.host.folder(), 0o755),
        (&scene.host.folder().join("run"), 0o755),
        (&scene.host.folder().join("nri-host.toml"), 0o644),
    ] {
        open_to_all(path, mode)?;
    }
    let as_nobody = async |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).arg("--config");
        command.arg(scene.host.folder().join("nri-host.toml"));
        let output = command.uid(65534).gid(65534).output();
        patiently("the end of the command", output)
            .await?
            .context("cannot run it")
    };
    let kept_out = as_nobody(&["status"]).await?;
    assert_eq!(kept_out.status.code(), Some(69), "{kept_out:?}");
    let said = String::from_utf8_lossy(&kept_out.stderr);
    assert!(said.contains("can be asked by root only"), "{said}");
    open_to_all(&scene.host.admin_socket(), 0o666)?;
    let looked = as_nobody(&["status"]).await?;
    assert_eq!(looked.status.code(), Some(0), "{looked:?}");
    let looked = as_nobody(&["log", SUBJECT]).await?;
    assert_eq!(looked.status.code(), Some(0), "{looked:?}");
    let refused = as_nobody(&["reset", SUBJECT]).await?;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("only root"), "{said}");
    scene.host.wait_state(SUBJECT, State::Quarantined).await?;
    Ok(())
}
