//! Files of which something cannot be used: what runs goes on.

use anyhow::Result;
use nri_host_tests::fake_runtime::Plugin;
use nri_host_tests::host::{Component, Reloaded, State};
use serde_json::json;

use super::{FILE, SUBJECT, Stage, subject};

/// The component under test goes on with its instance and its session, and says why.
async fn goes_on(stage: &Stage, plugin: &Plugin, reloaded: &Reloaded, words: &str) -> Result<()> {
    assert_eq!(reloaded.code, Some(1), "{reloaded:?}");
    let expected = ["10-subject: failed", "90-bystander: unchanged"];
    assert_eq!(reloaded.outcomes(), expected);
    let reason = reloaded.reason("10-subject");
    assert!(reason.contains(words), "{reason}");
    stage.create_container(plugin).await?;
    assert!(plugin.is_connected());
    let shown = stage.host.wait_state(SUBJECT, State::Active).await?;
    assert_eq!(shown.rest["held_back"], json!(reason));
    assert_eq!(shown.count("sessions"), Some(1));
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_mistake_in_a_component_changes_nothing_of_it_until_it_is_mended() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    let good = subject(&stage.record, json!({}));
    stage.describe(&good.clone().set("timeuot", "1s"))?;
    let reloaded = stage.host.reload().await?;
    goes_on(&stage, &plugin, &reloaded, "did you mean \"timeout\"?").await?;
    let reason = reloaded.reason("10-subject");
    assert!(reason.contains("conf.d/subject.toml:"), "{reason}");
    let table = stage.host.run(&["status"]).await?.stdout;
    assert!(table.contains("runs as before the reload: "), "{table}");

    stage.describe(&good)?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    assert_eq!(reloaded.outcomes()[0], "10-subject: unchanged");
    let shown = stage.host.wait_state(SUBJECT, State::Active).await?;
    assert!(shown.rest["held_back"].is_null(), "{shown:?}");
    Ok(())
}

#[tokio::test]
async fn a_mistake_that_the_component_itself_finds_changes_nothing_of_it() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.describe(&subject(&stage.record, json!({ "methods": ["Nonsense"] })))?;
    let reloaded = stage.host.reload().await?;
    goes_on(&stage, &plugin, &reloaded, "\"Nonsense\" is not a method").await?;
    let reason = reloaded.reason("10-subject");
    assert!(reason.contains("conf.d/subject.toml:"), "{reason}");
    Ok(())
}

#[tokio::test]
async fn a_successor_that_cannot_be_created_changes_nothing() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    for (creation, words) in [
        ("error", "as configured"),
        ("panic", "as configured"),
        ("hang", "not back from create"),
    ] {
        stage.describe(&subject(&stage.record, json!({ "create": creation })))?;
        let reloaded = stage.host.reload().await?;
        goes_on(&stage, &plugin, &reloaded, words).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_drop_in_that_cannot_be_read_takes_nobody_away() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.host.write_drop_in(FILE, "= =")?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(1), "{reloaded:?}");
    let kept = reloaded.reason("10-subject");
    assert!(kept.contains("is not valid TOML"), "{kept}");
    stage.create_container(&plugin).await?;
    assert_eq!(stage.record.calls_of("create").len(), 1);
    // It is seen to be broken, as it would be after a start.
    let status = stage.host.status().await?;
    let nameless = status.components.iter().find(|c| c.name.is_none());
    assert_eq!(
        nameless.map(|component| component.state),
        Some(State::Failed)
    );

    stage.describe(&subject(&stage.record, json!({})))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    assert_eq!(stage.host.status().await?.components.len(), 2);
    stage.bystander_is_unaware().await
}

/// As packages leave components off and an administrator switches them on in a file of their own.
#[tokio::test]
async fn what_switched_a_component_on_may_break_and_it_goes_on() -> Result<()> {
    const LOCAL: &str = "zz-local.toml";
    let on = format!("[[component]]\nname = \"{SUBJECT}\"\nenabled = true\n");
    let stage = Stage::with(
        |record| subject(record, json!({})).set("enabled", false),
        |host| host.drop_in(LOCAL, &on),
    )
    .await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    for (broken, words) in [
        (
            on.replace("enabled", "enabeld"),
            "did you mean \"enabled\"?",
        ),
        (format!("{on}[["), "is not valid TOML"),
        ("= =".to_owned(), "is not valid TOML"),
    ] {
        stage.host.write_drop_in(LOCAL, &broken)?;
        let reloaded = stage.host.reload().await?;
        assert_eq!(reloaded.code, Some(1), "{broken:?}: {reloaded:?}");
        let reason = reloaded.reason("10-subject");
        assert!(reason.contains(words), "{broken:?}: {reason}");
        stage.create_container(&plugin).await?;
        assert_eq!(stage.record.calls_of("create").len(), 1, "{broken:?}");
    }
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn what_is_wrong_with_the_main_file_changes_nothing_at_all() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    let plugin = stage.runtime.plugin("10-subject").await?;
    stage.describe(&subject(&stage.record, json!({ "methods": [] })))?;
    let edit = |text: String| text.replace("[host]\n", "[host]\nlgo = \"debug\"\n");
    stage.host.edit_main_file(edit)?;
    let finished = stage.host.run(&["reload"]).await?;
    assert_eq!(finished.code, Some(78), "{finished:?}");
    assert_eq!(finished.stdout, "");
    for words in [
        "nothing was changed",
        "nri-host.toml:",
        "did you mean \"log\"?",
    ] {
        assert!(finished.stderr.contains(words), "{finished:?}");
    }
    stage.create_container(&plugin).await?;
    assert_eq!(stage.record.calls_of("create").len(), 1);
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn a_new_component_that_cannot_be_made_is_shown_and_can_be_mended() -> Result<()> {
    let stage = Stage::new(|record| subject(record, json!({}))).await?;
    stage.runtime.plugin("10-subject").await?;
    let new = |config| Component::faulty("new", 20, config).drop_in();
    let bad = new(json!({ "create": "error" }));
    stage.host.write_drop_in("new.toml", &bad)?;
    for _ in 0..2 {
        // Nothing has changed the second time: it gets another chance all the same.
        let reloaded = stage.host.reload().await?;
        assert_eq!(reloaded.code, Some(1), "{reloaded:?}");
        assert_eq!(reloaded.outcomes()[1], "20-new: failed");
        assert!(reloaded.reason("20-new").contains("as configured"));
        stage.host.wait_state("new", State::Failed).await?;
    }
    stage.host.write_drop_in("new.toml", &new(json!({})))?;
    let reloaded = stage.host.reload().await?;
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    stage.host.wait_state("new", State::Active).await?;
    stage.bystander_is_unaware().await
}

#[tokio::test]
async fn without_a_daemon_it_says_so() -> Result<()> {
    let finished = nri_host_tests::host::Host::builder()
        .run(&["reload"])
        .await?;
    assert_eq!(finished.code, Some(69), "{finished:?}");
    assert!(finished.stderr.contains("not running"), "{finished:?}");
    Ok(())
}
