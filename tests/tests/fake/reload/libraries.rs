//! What a reload does to components whose library is another.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use nri_host_tests::artifacts::{artifacts, c_component, compile_c_component};
use nri_host_tests::fake_runtime::Plugin;
use nri_host_tests::host::{Component, State};
use nri_host_tests::patience::patiently;
use serde_json::json;
use tokio::time::sleep;

use super::{SUBJECT, Stage};

/// Versions of a library that can be loaded before the host has to be restarted.
const GENERATIONS: usize = 16;

/// The component in C, put where it can be replaced. What is behind its end changes nothing but its
/// digest.
fn put(library: &Path, version: usize) -> Result<()> {
    let mut bytes = fs::read(c_component("minimal")?)?;
    bytes.extend(version.to_le_bytes());
    replace(library, &bytes)
}

/// As a package manager does it.
fn replace(library: &Path, bytes: &[u8]) -> Result<()> {
    let new = library.with_extension("new");
    fs::write(&new, bytes)?;
    Ok(fs::rename(new, library)?)
}

async fn stage() -> Result<(Stage, PathBuf, Plugin)> {
    let folder = tempfile::tempdir()?.keep();
    let library = folder.join("libsubject.so");
    put(&library, 0)?;
    let component = Component::new(SUBJECT, 10, &library);
    let stage = Stage::new(|_| component).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    Ok((stage, library, plugin))
}

#[tokio::test]
async fn another_library_is_loaded_beside_the_old_one_until_there_are_too_many() -> Result<()> {
    let (stage, library, mut plugin) = stage().await?;
    for version in 1..GENERATIONS {
        put(&library, version)?;
        let reloaded = stage.host.reload().await?;
        let expected = ["10-subject: restarted", "90-bystander: unchanged"];
        assert_eq!(reloaded.outcomes(), expected, "{reloaded:?}");
        plugin = stage.runtime.reconnected(&plugin).await?;
        stage.create_container(&plugin).await?;
    }
    put(&library, GENERATIONS)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(1), "{reloaded:?}");
    assert_eq!(reloaded.outcomes()[0], "10-subject: failed");
    let reason = reloaded.reason("10-subject");
    assert!(reason.contains("restart nri-host"), "{reason}");
    stage.create_container(&plugin).await?;
    assert!(plugin.is_connected());

    // One that is there already is no further one.
    put(&library, 0)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: restarted");
    stage.runtime.reconnected(&plugin).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn the_same_library_at_another_path_changes_nothing() -> Result<()> {
    let (stage, library, plugin) = stage().await?;
    let moved = library.with_file_name("libmoved.so");
    fs::rename(&library, &moved)?;
    stage.describe(&Component::new(SUBJECT, 10, &moved))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: unchanged");
    assert!(plugin.is_connected());
    let shown = stage.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(shown.rest["library"], json!(moved));
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_library_that_cannot_be_loaded_leaves_the_old_one_running() -> Result<()> {
    let (stage, library, plugin) = stage().await?;
    let crashing = library.with_extension("crashing");
    compile_c_component("constructor", &["-DCONSTRUCTOR=abort();"], &crashing)?;
    let crashing = fs::read(crashing)?;
    for (bytes, words) in [
        (&b"no library"[..], "is not an ELF file"),
        (&crashing, "killed by SIGABRT in its constructors"),
    ] {
        replace(&library, bytes)?;
        let reloaded = stage.host.reload().await?;
        assert_eq!(reloaded.outcomes()[0], "10-subject: failed");
        let reason = reloaded.reason("10-subject");
        assert!(reason.contains(words), "{reason}");
        stage.create_container(&plugin).await?;
        assert!(plugin.is_connected());
    }
    fs::remove_file(&library)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: failed");
    stage.create_container(&plugin).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_component_whose_library_was_refused_is_there_once_it_is_mended() -> Result<()> {
    let (stage, library, _) = stage().await?;
    let second = library.with_file_name("libsecond.so");
    fs::write(&second, "not yet")?;
    let new = Component::new("second", 20, &second).drop_in();
    stage.host.write_drop_in("second.toml", &new)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[1], "20-second: failed");
    fs::copy(artifacts()?.library("libnri_faulty.so")?, &second)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(
        reloaded.outcomes()[1],
        "20-second: restarted",
        "{reloaded:?}"
    );
    stage.host.wait_state("second", State::Active).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_library_that_is_replaced_while_it_is_tried_out_is_not_the_one_that_stays() -> Result<()>
{
    let folder = tempfile::tempdir()?;
    let (library, run) = (
        folder.path().join("libsubject.so"),
        folder.path().join("run"),
    );
    let hangs = format!(
        "-DCONSTRUCTOR=fclose(fopen(\"{}\", \"w\")); for (;;) pause();",
        run.display()
    );
    compile_c_component("constructor", &[&hangs], &library)?;
    let stage = Stage::new(|_| Component::new(SUBJECT, 10, &library)).await?;
    let tried_out = async {
        while !run.exists() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    patiently("the constructor", tried_out).await?;
    put(&library, 0)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: restarted");
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn where_there_can_be_one_instance_only_no_other_is_made_beside_one_that_is_not_back()
-> Result<()> {
    let folder = tempfile::tempdir()?;
    let (library, gate) = (folder.path().join("libsole.so"), folder.path().join("gate"));
    let until = format!("-DGATE=\"{}\"", gate.display());
    compile_c_component("sole", &[&until], &library)?;
    let sole = |generation| {
        Component::new(SUBJECT, 10, &library)
            .config(json!({ "generation": generation }))
            .set("timeout", "50ms")
    };
    let stage = Stage::new(|_| sole(1)).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    stage.host.wait_state(SUBJECT, State::Overdue).await?;
    for generation in 2..4 {
        stage.describe(&sole(generation))?;
        let reloaded = stage.host.reload().await?;
        assert_eq!(reloaded.outcomes()[0], "10-subject: failed");
        let reason = reloaded.reason("10-subject");
        assert!(reason.contains("one instance only"), "{reason}");
    }
    fs::write(&gate, "")?;
    let plugin = stage.runtime.reconnected(&plugin).await?;
    stage.create_container(&plugin).await?;
    stage.host.wait_state(SUBJECT, State::Active).await?;
    stage.bystander_is_unaware().await
}
