//! A reload while the component is not simply there.

use std::fs;

use anyhow::Result;
use nri_host_tests::host::{Builder, Component, State};
use serde_json::json;

use super::{SUBJECT, Stage, subject};
use crate::record::Record;

#[tokio::test]
async fn a_component_that_does_not_come_back_is_replaced_and_nobody_waits_for_it() -> Result<()> {
    let hang = json!({ "on": { "CreateContainer": { "do": "hang" } } });
    let stage = Stage::new(|record| subject(record, hang).set("timeout", "50ms")).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    stage.host.wait_state(SUBJECT, State::Overdue).await?;
    stage.describe(&subject(&stage.record, json!({})))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let plugin = stage.runtime.reconnected(&plugin).await?;
    stage.create_container(&plugin).await?;
    stage.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(stage.record.calls_of("CreateContainer").len(), 2);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn one_that_comes_back_after_all_is_destroyed() -> Result<()> {
    let gate = tempfile::tempdir()?;
    let gate = gate.path().join("gate");
    let hang = json!({ "on": { "CreateContainer": { "do": "hang", "until": gate } } });
    fs::create_dir_all(gate.parent().unwrap())?;
    let stage = Stage::new(|record| subject(record, hang).set("timeout", "50ms")).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    stage.host.wait_state(SUBJECT, State::Overdue).await?;
    stage.describe(&subject(&stage.record, json!({})))?;
    stage.host.reload().await?;
    assert_eq!(stage.record.calls_of("destroy").len(), 0);
    fs::write(&gate, "")?;
    stage.record.wait_for("destroy").await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_quarantine_ends_with_the_configuration_that_led_to_it() -> Result<()> {
    let failing = json!({ "on": { "CreateContainer": { "do": "error", "times": 1 } } });
    for rules_only in [true, false] {
        let once = failing.clone();
        let stage = Stage::new(|record| subject(record, once).quarantined_after(1)).await?;
        let plugin = stage.runtime.plugin("10-subject").await?;
        stage.create_container(&plugin).await?;
        stage.host.wait_state(SUBJECT, State::Quarantined).await?;
        let other = match rules_only {
            true => subject(&stage.record, failing.clone()).quarantined_after(7),
            false => subject(&stage.record, json!({})),
        };
        stage.describe(&other)?;
        let reloaded = stage.host.reload().await?;
        assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
        stage.host.wait_state(SUBJECT, State::Active).await?;
        let instances = stage.record.calls_of("create").len();
        assert_eq!(instances, if rules_only { 1 } else { 2 });
        stage.bystander_is_unaware().await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_only_one_instance_can_have_is_given_up_before_the_next_takes_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let device = folder.path().join("device");
    let stage = Stage::new(|record| subject(record, json!({ "alone": device }))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    let other = json!({ "alone": device, "methods": ["Synchronize", "CreateContainer"] });
    stage.describe(&subject(&stage.record, other))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    assert_eq!(reloaded.outcomes()[0], "10-subject: restarted");
    let plugin = stage.runtime.reconnected(&plugin).await?;
    stage.create_container(&plugin).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn one_whose_successor_fails_even_alone_is_made_again_as_it_was() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let device = folder.path().join("device");
    let stage = Stage::new(|record| subject(record, json!({ "alone": device }))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    let bad = json!({ "alone": device, "create": "error" });
    stage.describe(&subject(&stage.record, bad))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(1), "{reloaded:?}");
    assert_eq!(reloaded.outcomes()[0], "10-subject: failed");
    assert!(reloaded.reason("10-subject").contains("as configured"));
    let plugin = stage.runtime.reconnected(&plugin).await?;
    stage.create_container(&plugin).await?;
    let shown = stage.host.wait_state(SUBJECT, State::Active).await?;
    assert!(shown.rest["held_back"].is_string(), "{shown:?}");
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_component_that_failed_is_tried_again_though_nothing_has_changed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    // Its folder is not there yet, so the file cannot be made.
    let device = folder.path().join("later/device");
    let stage = Stage::new(|record| subject(record, json!({ "alone": device }))).await?;
    stage.host.wait_state(SUBJECT, State::Failed).await?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: failed");
    fs::create_dir(folder.path().join("later"))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(
        reloaded.outcomes()[0],
        "10-subject: restarted",
        "{reloaded:?}"
    );
    stage.host.wait_state(SUBJECT, State::Active).await?;
    stage.bystander_is_unaware().await
}

/// The component validates, so the runtime would fail the creation that it is lost in.
#[tokio::test]
async fn a_session_that_could_cost_a_request_waits_for_the_end_of_those_under_way() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (gate, begun) = (folder.path().join("gate"), Record::new(folder.path()));
    let hang = json!({ "StopContainer": { "do": "hang", "until": gate } });
    let busy = json!({ "on": hang, "record": begun.path() });
    let with_busy = |builder: Builder| builder.component(Component::faulty("busy", 50, busy));
    let stage = Stage::with(|record| subject(record, json!({})), with_busy).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    let busy = stage.runtime.plugin("50-busy").await?;

    let other = json!({ "methods": ["CreateContainer", "ValidateContainerAdjustment"] });
    stage.describe(&subject(&stage.record, other))?;
    let under_way = busy.stop_container(&stage.pod, &stage.container);
    let served_meanwhile = async {
        begun.wait_for("StopContainer").await?;
        let reload = stage.host.reload();
        let calls = async {
            // The successor is being made, and then waits.
            stage.record.wait_for_calls("create", 2).await?;
            for _ in 0..10 {
                stage.create_container(&plugin).await?;
            }
            fs::write(&gate, "")?;
            anyhow::Ok(())
        };
        let (reloaded, served) = tokio::join!(reload, calls);
        served?;
        reloaded
    };
    let (answer, reloaded) = tokio::join!(under_way, served_meanwhile);
    answer?;
    assert_eq!(reloaded?.outcomes()[0], "10-subject: restarted");
    stage.runtime.reconnected(&plugin).await?;
    stage.bystander_is_unaware().await
}
