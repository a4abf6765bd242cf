//! Components as plugins of their own.

use anyhow::{Context, Result};
use nri_host_tests::artifacts::c_component;
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::reference::{Options, Reference};
use serde_json::json;

use crate::stage::{Stage, create_container, creating};

fn annotating(name: &str, index: u8) -> Component {
    let annotate = json!({ "do": "annotate", "text": format!("{name}=was-here") });
    creating(name, index, &annotate)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_of_one_library_and_two_others_are_four_plugins() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let injector = Component::new("injector", 20, "libnri_device_injector.so");
    let host = Host::builder()
        .socket(stage.runtime.socket())
        .component(annotating("first", 10))
        .component(annotating("second", 11))
        .component(injector.config(json!({ "allow_devices": ["*"] })))
        .component(Component::new("logger", 90, "libnri_logger.so"))
        .start()?;
    let plugins = ["10-first", "11-second", "20-injector", "90-logger"];
    stage.runtime.wait_connected(&plugins);

    let response = stage.runtime.call(&create_container("web", "server"))?;
    for name in ["first", "second"] {
        let value = response.adjust.annotations.get(name);
        assert_eq!(value.map(String::as_str), Some("was-here"), "{name}");
    }
    let log = std::fs::read_to_string(stage.runtime.socket().with_extension("log"))?;
    for plugin in plugins {
        let line = format!("plugin \"external:{plugin}[{}]\" registered", host.pid());
        // Before it registers it has no name there.
        let unnamed = format!("[{}]\" registered as \"{plugin}\"", host.pid());
        assert!(
            log.contains(&line) || log.contains(&unnamed),
            "{plugin} in {log}"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_in_c_adjusts_containers() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let host = Host::builder()
        .socket(stage.runtime.socket())
        .component(Component::new("in-c", 10, c_component("minimal")?))
        .start()?;
    stage.runtime.wait_connected(&["10-in-c"]);
    let response = stage.runtime.call(&create_container("web", "server"))?;
    let annotations = &response.adjust.annotations;
    assert_eq!(
        annotations.get("minimal.nri-host.dev").map(String::as_str),
        Some("in-c")
    );

    let status = host.wait_state("in-c", State::Active).await?;
    assert_eq!(
        status.rest.get("id").and_then(|id| id.as_str()),
        Some("dev.nri-host.minimal")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_components_both_set_is_refused_with_their_names() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let minimal = c_component("minimal")?;
    let _host = Host::builder()
        .socket(stage.runtime.socket())
        .component(Component::new("one", 10, minimal.clone()))
        .component(Component::new("other", 11, minimal))
        .start()?;
    stage.runtime.wait_connected(&["10-one", "11-other"]);
    let refused = stage.runtime.call(&create_container("web", "server"));
    let text = refused.err().context("a conflict")?.to_string();
    assert!(
        text.contains("10-one") && text.contains("11-other"),
        "{text}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn components_come_back_to_each_new_runtime() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let Stage { mut runtime, dir } = stage;
    let host = Host::builder()
        .socket(runtime.socket())
        .component(annotating("first", 10))
        .component(annotating("second", 11))
        .start()?;
    let plugins = ["10-first", "11-second"];
    runtime.wait_connected(&plugins);
    for _ in 0..5 {
        runtime.kill();
        runtime = Reference::start(&dir.path().join("nri.sock"), &Options::default())?;
        runtime.wait_connected(&plugins);
        let response = runtime.call(&create_container("web", "server"))?;
        assert_eq!(response.adjust.annotations.len(), 2);
    }
    assert!(host.is_running());
    Ok(())
}
