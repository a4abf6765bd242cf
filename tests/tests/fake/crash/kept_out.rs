//! Components that stay out because they crashed the host too often.

use std::fs;
use std::path::Path;

use anyhow::Result;
use nri_host_tests::artifacts::c_component;
use nri_host_tests::host::{Component, State};
use nri_host_tests::pods;
use serde_json::json;

use super::{Node, crashes, once};

#[tokio::test]
async fn a_component_that_crashes_too_often_stays_out_and_the_others_serve() -> Result<()> {
    let node = Node::new().await?;
    let twice = toml::Table::from_iter([("failures".to_owned(), 2.into())]);
    let subject = crashes("segv", "CreateContainer")?
        .set("quarantine", twice)
        .set("required", true);
    for _ in 0..2 {
        node.crash(subject.clone()).await?;
    }
    let mut host = node
        .host()
        .component(subject)
        .component(Component::faulty("bystander", 90, json!({})))
        .start()?;
    let bystander = node.runtime.plugin("90-bystander").await?;
    let status = host.wait_state("subject", State::Quarantined).await?;
    let reason = status.reason.unwrap_or_default();
    for part in [
        "2 times",
        "CreateContainer for container server of pod shop/web-0: SIGSEGV",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    let pod = pods::pod("web-0").build();
    let container = pods::container(&pod, "server").build();
    bystander.create_container(&pod, &container).await?;
    assert_eq!(node.runtime.active(), ["90-bystander"]);
    assert!(!host.status().await?.ready);
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_reset_lets_a_component_in_that_stays_out_and_forgets_its_crashes() -> Result<()> {
    let node = Node::new().await?;
    let subject = crashes("segv", "CreateContainer")?.set("quarantine", once());
    node.crash(subject.clone()).await?;
    let mut host = node.host().component(subject.clone()).start()?;
    let quarantined = host.wait_state("subject", State::Quarantined).await?;
    assert!(quarantined.count("quarantine_left_seconds") > Some(0));
    let reset = host.run(&["reset", "subject"]).await?;
    assert_eq!(reset.code, Some(0), "{reset:?}");
    assert!(reset.stdout.contains("quarantine is ended"), "{reset:?}");
    node.runtime.plugin("10-subject").await?;
    host.stop().await?;
    let host = node.host().component(subject).start()?;
    host.wait_state("subject", State::Active).await?;
    Ok(())
}

#[tokio::test]
async fn a_reload_lets_a_component_in_that_stays_out_once_its_configuration_is_another()
-> Result<()> {
    let node = Node::new().await?;
    let subject = crashes("segv", "CreateContainer")?.set("quarantine", once());
    node.crash(subject.clone()).await?;
    let host = node
        .host()
        .drop_in("subject.toml", &subject.drop_in())
        .start()?;
    host.wait_state("subject", State::Quarantined).await?;
    let reloaded = host.reload().await?;
    assert_eq!(reloaded.outcomes(), ["10-subject: unchanged"]);
    assert!(
        reloaded
            .reason("10-subject")
            .contains("ended the whole host")
    );
    host.wait_state("subject", State::Quarantined).await?;

    let mended = crashes("never", "CreateContainer")?.set("quarantine", once());
    host.write_drop_in("subject.toml", &mended.drop_in())?;
    let reloaded = host.reload().await?;
    assert_eq!(reloaded.outcomes(), ["10-subject: restarted"]);
    host.wait_state("subject", State::Active).await?;

    // What ended the host is not let in by a reload.
    host.write_drop_in("subject.toml", &subject.drop_in())?;
    let reloaded = host.reload().await?;
    assert_eq!(reloaded.outcomes(), ["10-subject: failed"]);
    assert!(
        reloaded
            .reason("10-subject")
            .contains("ended the whole host")
    );
    host.wait_state("subject", State::Active).await?;
    Ok(())
}

#[tokio::test]
async fn another_library_or_configuration_lets_a_component_in_again() -> Result<()> {
    let node = Node::new().await?;
    let library = node.folder.path().join("libcrashes.so");
    fs::copy(c_component("crashes")?, &library)?;
    let subject = |crash: &str| {
        Component::new("subject", 10, &library)
            .config(json!({ "crash": crash, "in": "CreateContainer" }))
            .set("quarantine", once())
    };
    node.crash(subject("segv")).await?;
    let mut host = node.host().component(subject("segv")).start()?;
    host.wait_state("subject", State::Quarantined).await?;
    host.stop().await?;

    let mut host = node.host().component(subject("none")).start()?;
    host.wait_state("subject", State::Active).await?;
    host.stop().await?;

    let mut changed = fs::read(&library)?;
    changed.extend_from_slice(b"a newer version");
    replace(&library, &changed)?;
    let host = node.host().component(subject("segv")).start()?;
    host.wait_state("subject", State::Active).await?;
    Ok(())
}

fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::remove_file(path)?;
    fs::write(path, bytes)?;
    Ok(())
}

#[tokio::test]
async fn damaged_records_are_told_and_are_no_obstacle() -> Result<()> {
    let node = Node::new().await?;
    let subject = crashes("segv", "CreateContainer")?.set("quarantine", once());
    for file in ["last-crash.jsonl", "crashes.jsonl"] {
        node.crash(subject.clone()).await?;
        fs::write(
            node.state().join(file),
            b"{\"time\":-1}\n\xff\0[[[[\n{\"time\"",
        )?;
        let mut host = node.host().component(subject.clone()).start()?;
        host.logged("some records of crashes were damaged").await?;
        host.wait_status("an answer", |_| true).await?;
        host.stop().await?;
        fs::remove_dir_all(node.state())?;
    }
    Ok(())
}
