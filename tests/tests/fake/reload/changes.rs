//! What a reload does to components whose configuration is another.

use anyhow::Result;
use nri_host_tests::host::{Component, State};
use serde_json::json;

use super::{BYSTANDER, FILE, SUBJECT, Stage, subject};

#[tokio::test]
async fn only_the_component_whose_configuration_is_another_is_restarted() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    let before = stage.host.wait_state(SUBJECT, State::Active).await?;

    let methods = json!({ "methods": ["Synchronize", "CreateContainer"] });
    stage.describe(&subject(&stage.record, methods))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let expected = ["10-subject: restarted", "90-bystander: unchanged"];
    assert_eq!(reloaded.outcomes(), expected);

    // By then it is active again, made before the other one was ended.
    let after = stage.host.status().await?;
    let after = after.component(SUBJECT).unwrap();
    assert_eq!(after.state, State::Active);
    let plugin = stage.runtime.reconnected(&plugin).await?;
    stage.create_container(&plugin).await?;
    let once = ["Synchronize", "CreateContainer"];
    assert_eq!(stage.record.methods(), [once, once].concat());
    stage.record.wait_for("destroy").await?;
    let lines = stage.record.lines();
    let instances = lines.iter().map(|line| line.method.as_str());
    let instances: Vec<&str> = instances
        .filter(|method| ["create", "destroy"].contains(method))
        .collect();
    assert_eq!(instances, ["create", "create", "destroy"]);
    // What was counted before is not forgotten.
    assert!(after.count("calls") > before.count("calls"), "{after:?}");
    assert_eq!(after.count("sessions"), Some(2));
    assert_eq!(after.count("missed"), Some(0));
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn with_nothing_changed_nobody_notices() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    for _ in 0..3 {
        let reloaded = stage.host.reload().await?;
        assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
        let expected = ["10-subject: unchanged", "90-bystander: unchanged"];
        assert_eq!(reloaded.outcomes(), expected);
    }
    stage.create_container(&plugin).await?;
    assert_eq!(stage.record.calls_of("create").len(), 1);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn other_rules_hold_at_once_for_the_instance_that_there_is() -> Result<()> {
    let slow = json!({ "on": { "CreateContainer": { "do": "sleep", "ms": 400 } } });
    let stage = Stage::new(|record| subject(record, slow.clone()).never_quarantined()).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    let in_time = stage.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(in_time.count("late"), Some(0));

    let hurried = subject(&stage.record, slow).never_quarantined();
    stage.describe(&hurried.set("timeout", "50ms").set("required", true))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let expected = ["10-subject: changed", "90-bystander: unchanged"];
    assert_eq!(reloaded.outcomes(), expected);
    stage.create_container(&plugin).await?;
    let is_late = |component: &nri_host_tests::host::ComponentStatus| {
        component.count("late") == Some(1) && component.rest["required"] == true
    };
    stage
        .host
        .wait_component(SUBJECT, "late and required", is_late)
        .await?;
    assert_eq!(stage.record.calls_of("create").len(), 1);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn the_runtime_is_told_of_another_on_failure_without_a_new_instance() -> Result<()> {
    let fails = json!({ "on": { "CreateContainer": { "do": "error" } } });
    let stage = Stage::new(|record| subject(record, fails.clone()).never_quarantined()).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;

    let strict = subject(&stage.record, fails).never_quarantined();
    stage.describe(&strict.set("on_failure", "fail"))?;
    let reloaded = stage.host.reload().await?;
    let expected = ["10-subject: changed", "90-bystander: unchanged"];
    assert_eq!(reloaded.outcomes(), expected);
    let plugin = stage.runtime.reconnected(&plugin).await?;
    let refused = stage.create_container(&plugin).await.unwrap_err();
    assert!(
        format!("{refused:#}").contains("as configured"),
        "{refused:#}"
    );
    assert!(plugin.asks_to_fail_requests());
    assert_eq!(stage.record.calls_of("create").len(), 1);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn components_come_and_go() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.host.write_drop_in(
        "new.toml",
        &Component::faulty("new", 20, json!({})).drop_in(),
    )?;
    stage.host.write_drop_in(FILE, "")?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let expected = [
        "10-subject: removed",
        "20-new: added",
        "90-bystander: unchanged",
    ];
    assert_eq!(reloaded.outcomes(), expected);
    plugin.ended().await?;
    stage.runtime.plugins(&["20-new", "90-bystander"]).await?;
    assert!(stage.host.status().await?.component(SUBJECT).is_none());
    // The instance ends by itself; nobody waits for it.
    stage.record.wait_for("destroy").await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_component_is_switched_off_and_on_again() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    let off = format!("[[component]]\nname = \"{SUBJECT}\"\nenabled = false\n");
    stage.host.write_drop_in("zz-off.toml", &off)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: removed");
    assert!(reloaded.reason("10-subject").contains("switched off"));
    stage.host.wait_state(SUBJECT, State::Disabled).await?;
    plugin.ended().await?;

    stage.host.write_drop_in("zz-off.toml", "")?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: added");
    let both = ["10-subject", "90-bystander"];
    stage.runtime.plugins(&both).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn another_index_is_another_place_among_the_plugins() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.create_container(&plugin).await?;
    let config = json!({ "record": stage.record.path() });
    stage.describe(&Component::faulty(SUBJECT, 95, config))?;
    let reloaded = stage.host.reload().await?;
    let expected = ["90-bystander: unchanged", "95-subject: restarted"];
    assert_eq!(reloaded.outcomes(), expected);
    plugin.ended().await?;
    let both = ["90-bystander", "95-subject"];
    stage.runtime.plugins(&both).await?;
    assert_eq!(stage.runtime.active(), both);
    assert_eq!(stage.host.status().await?.components.len(), 2);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn without_a_runtime_it_waits_for_none() -> Result<()> {
    let mut stage = Stage::new(|record| subject(record, json!({}))).await?;
    stage
        .runtime
        .kill(nri_host_tests::fake_runtime::SocketFile::Left)
        .await?;
    for name in [SUBJECT, BYSTANDER] {
        stage.host.wait_state(name, State::Waiting).await?;
    }
    stage.describe(&subject(&stage.record, json!({ "methods": [] })))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.outcomes()[0], "10-subject: restarted");
    stage.runtime.listen()?;
    stage.host.wait_state(SUBJECT, State::Active).await?;
    Ok(())
}
