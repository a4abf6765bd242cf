//! What the host asks of a runtime for the case that the whole host is late.
//!
//! The host answers for late components itself; here it is stopped by a signal,
//! so that it cannot.

use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use nri_host_tests::host::{Component, Host};
use nri_host_tests::reference::Options;
use serde_json::json;

use crate::stage::{Stage, create_container, creating};

fn impatient() -> Options {
    Options {
        request_timeout: Duration::from_millis(300),
        ..Options::default()
    }
}

fn annotating() -> Component {
    let annotate = json!({ "do": "annotate", "text": "key=value" });
    creating("late", 10, &annotate)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_was_late_is_kept() -> Result<()> {
    let Some(stage) = Stage::with(&impatient())? else {
        return Ok(());
    };
    let host = Host::builder()
        .socket(stage.runtime.socket())
        .component(annotating())
        .start()?;
    stage.runtime.wait_connected(&["10-late"]);

    host.signal(Signal::SIGSTOP)?;
    let without = stage.runtime.call(&create_container("web", "first"))?;
    assert!(without.adjust.annotations.is_empty(), "it was stopped");
    host.signal(Signal::SIGCONT)?;
    let with = stage.runtime.call(&create_container("web", "second"))?;
    assert_eq!(
        with.adjust.annotations.get("key").map(String::as_str),
        Some("value")
    );
    assert!(
        !stage
            .runtime
            .events()
            .iter()
            .any(|event| event.name == "closed")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_component_that_must_not_fail_the_runtime_refuses() -> Result<()> {
    let Some(stage) = Stage::with(&impatient())? else {
        return Ok(());
    };
    let component = annotating().set("on_failure", "fail");
    let host = Host::builder()
        .socket(stage.runtime.socket())
        .component(component)
        .start()?;
    stage.runtime.wait_connected(&["10-late"]);

    host.signal(Signal::SIGSTOP)?;
    let refused = stage.runtime.call(&create_container("web", "first"));
    host.signal(Signal::SIGCONT)?;
    let text = refused.err().context("a refusal")?.to_string();
    assert!(text.contains("10-late"), "{text}");
    stage.runtime.call(&create_container("web", "second"))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_component_costs_neither_the_call_nor_the_connection() -> Result<()> {
    let Some(stage) = Stage::with(&impatient())? else {
        return Ok(());
    };
    let hang = json!({ "do": "hang", "for": { "container_name": "stuck" } });
    let late = creating("hanging", 10, &hang);
    let other = json!({ "do": "annotate", "text": "key=value" });
    let other = creating("other", 20, &other);
    let builder = Host::builder().socket(stage.runtime.socket());
    let _host = builder.component(late).component(other).start()?;
    stage.runtime.wait_connected(&["10-hanging", "20-other"]);
    for container in ["stuck", "next"] {
        let response = stage.runtime.call(&create_container("web", container))?;
        assert_eq!(response.adjust.annotations.len(), 1, "{container}");
    }
    assert!(
        !stage
            .runtime
            .events()
            .iter()
            .any(|event| event.name == "closed")
    );
    Ok(())
}
