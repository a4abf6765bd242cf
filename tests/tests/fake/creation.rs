//! Instances that do not come into being.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Component, Host, State};
use serde_json::json;

fn with_a_good_one(runtime: &FakeRuntime, bad: Component) -> Result<Host> {
    Host::builder()
        .socket(runtime.socket())
        .component(bad)
        .component(Component::faulty("good", 50, json!({})))
        .start()
}

#[tokio::test]
async fn a_component_that_cannot_be_created_fails_alone_with_its_reason() -> Result<()> {
    for creation in ["error", "panic"] {
        let runtime = FakeRuntime::start(Profile::newest()).await?;
        let bad = Component::faulty("bad", 10, json!({ "create": creation }));
        let host = with_a_good_one(&runtime, bad)?;
        runtime.plugin("50-good").await?;
        let status = host.wait_state("bad", State::Failed).await?;
        assert!(status.reason.unwrap().contains("as configured"));
        assert_eq!(runtime.active(), ["50-good"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_component_that_hangs_in_create_fails_and_the_others_do_not_wait() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = with_a_good_one(
        &runtime,
        Component::faulty("bad", 10, json!({ "create": "hang" })),
    )?;
    let good = runtime.plugin("50-good").await?;
    host.wait_state("good", State::Active).await?;
    host.wait_state("bad", State::Failed).await?;
    assert!(good.is_connected());
    Ok(())
}

#[tokio::test]
async fn a_component_that_is_not_ready_yet_is_registered_once_it_is_and_holds_up_nobody()
-> Result<()> {
    let folder = tempfile::tempdir()?;
    let ready = folder.path().join("ready");
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let config = json!({ "create": "try-later", "until": ready });
    let host = with_a_good_one(&runtime, Component::faulty("late", 10, config))?;
    runtime.plugin("50-good").await?;
    host.wait_component("late", "told to be tried later", |late| {
        let reason = late.reason.as_deref().unwrap_or_default();
        late.state == State::Waiting && reason.contains("as configured")
    })
    .await?;
    // The socket was never connected to for it.
    assert_eq!(runtime.connections().len(), 1);
    std::fs::write(&ready, "")?;
    runtime.plugin("10-late").await?;
    assert_eq!(runtime.active(), ["10-late", "50-good"]);
    Ok(())
}

#[tokio::test]
async fn mistakes_in_a_component_s_own_settings_are_told_with_their_keys() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let bad = Component::faulty("bad", 10, json!({ "methods": ["NoSuchMethod", "Neither"] }));
    let host = with_a_good_one(&runtime, bad)?;
    runtime.plugin("50-good").await?;
    let reason = host.wait_state("bad", State::Failed).await?.reason.unwrap();
    assert!(
        reason.contains("NoSuchMethod") && reason.contains("Neither"),
        "{reason}"
    );
    assert!(
        reason.contains("nri-host.toml:"),
        "the file and line are told: {reason}"
    );
    Ok(())
}
