//! A reload as a whole: who asks for it, and what concerns the host itself.

use anyhow::Result;
use futures::future::try_join_all;
use nix::sys::signal::Signal;
use nri_host_tests::host::{Builder, Component, State};
use serde_json::json;

use super::{SUBJECT, Stage, subject};
use crate::record::Record;

#[tokio::test]
async fn a_hangup_does_the_same() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.describe(&subject(
        &stage.record,
        json!({ "methods": ["Synchronize"] }),
    ))?;
    stage.host.signal(Signal::SIGHUP)?;
    stage.runtime.reconnected(&plugin).await?;
    stage.host.logged("reloaded").await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn hangups_in_a_storm_of_them_lose_no_call() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    for _ in 0..200 {
        stage.host.signal(Signal::SIGHUP)?;
        stage.create_container(&plugin).await?;
    }
    assert!(plugin.is_connected());
    assert_eq!(stage.record.calls_of("CreateContainer").len(), 200);
    // One that is asked for now comes after all of them.
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: unchanged");
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn all_who_ask_at_the_same_time_see_what_they_asked_for() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    stage.runtime.plugin("10-subject").await?;
    stage.host.write_drop_in(
        "new.toml",
        &Component::faulty("new", 20, json!({})).drop_in(),
    )?;
    let all = try_join_all((0..6).map(|_| stage.host.reload())).await?;
    for reloaded in &all {
        assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
        let new = &reloaded.outcomes()[1];
        assert!(
            ["20-new: added", "20-new: unchanged"].contains(&new.as_str()),
            "{new}"
        );
    }
    assert!(all.iter().any(|it| it.outcomes()[1] == "20-new: added"));
    assert_eq!(stage.host.status().await?.components.len(), 3);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn the_log_level_changes_at_once_and_what_cannot_is_named() -> Result<()> {
    let quiet = |builder: Builder| builder.set("log", "warn");
    let stage = Stage::with(|record| subject(record, json!({})), quiet).await?;
    stage.runtime.plugin("10-subject").await?;
    let elsewhere = stage.folder.path().join("state").display().to_string();
    let edit = |text: String| {
        let mut file: toml::Table = toml::from_str(&text).unwrap();
        let host = file["host"].as_table_mut().unwrap();
        host.insert("log".to_owned(), "info".into());
        host.insert("state_dir".to_owned(), elsewhere.into());
        let runtime = file["runtime"].as_table_mut().unwrap();
        runtime.insert("handshake_timeout".to_owned(), "59s".into());
        toml::to_string(&file).unwrap()
    };
    stage.host.edit_main_file(edit)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(1), "{reloaded:?}");
    assert_eq!(reloaded.report.needs_restart, ["host.state_dir"]);
    let expected = ["10-subject: unchanged", "90-bystander: unchanged"];
    assert_eq!(reloaded.outcomes(), expected);
    stage.host.logged("reloaded").await?;
    assert!(!stage.host.log().contains("reloading"));
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_namespace_that_nothing_may_fail_in_counts_at_once_for_everybody() -> Result<()> {
    let fails = json!({ "on": { "CreateContainer": { "do": "error" } } });
    let strict = |record: &Record| {
        let subject = subject(record, fails.clone()).never_quarantined();
        subject.set("on_failure", "fail")
    };
    for (key, outcome) in [("timeout", "unchanged"), ("timeuot", "failed")] {
        let stage = Stage::new(|record| strict(record).set("timeout", "1s")).await?;
        let plugin = stage.runtime.plugin("10-subject").await?;
        stage.create_container(&plugin).await.unwrap_err();
        let namespace = stage.pod.namespace.clone();
        let edit = |text: String| {
            let mut file: toml::Table = toml::from_str(&text).unwrap();
            let host = file["host"].as_table_mut().unwrap();
            host.insert("fail_exempt_namespaces".to_owned(), vec![namespace].into());
            toml::to_string(&file).unwrap()
        };
        stage.host.edit_main_file(edit)?;
        stage.describe(&strict(&stage.record).set(key, "1s"))?;
        let reloaded = stage.host.reload().await?;
        let expected = format!("10-subject: {outcome}");
        assert_eq!(reloaded.outcomes()[0], expected);
        stage.create_container(&plugin).await?;
        assert!(plugin.is_connected());
        stage.bystander_is_unaware().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_host_that_is_told_to_stop_waits_for_no_reload() -> Result<()> {
    let mut stage = Stage::new(|record| subject(record, json!({}))).await?;
    stage.runtime.plugin("10-subject").await?;
    let gate = stage.folder.path().join("gate");
    stage.describe(&subject(
        &stage.record,
        json!({ "create": "hang", "until": gate }),
    ))?;
    let asked = stage.host.run(&["reload"]);
    let stop = async {
        // The successor is being made.
        stage.record.wait_for_calls("create", 2).await?;
        stage.host.signal(Signal::SIGTERM)
    };
    let (asked, stopped) = tokio::join!(asked, stop);
    stopped?;
    assert_eq!(asked?.code, Some(69));
    let status = stage.host.ended().await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_component_that_is_being_created_is_left_to_it() -> Result<()> {
    let gate = tempfile::tempdir()?;
    let gate = gate.path().join("gate");
    let hanging = json!({ "create": "hang", "until": gate });
    let stage = Stage::new(|record| subject(record, hanging)).await?;
    stage.record.wait_for("create").await?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: unchanged");
    assert_eq!(stage.record.calls_of("create").len(), 1);
    std::fs::create_dir_all(gate.parent().unwrap())?;
    std::fs::write(&gate, "")?;
    stage.host.wait_state(SUBJECT, State::Active).await?;
    stage.bystander_is_unaware().await
}
