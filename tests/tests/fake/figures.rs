//! What is counted of each component, and how long its calls took.

use anyhow::{Context, Result};
use nri_host_tests::host::Component;
use serde_json::{Value, json};

use crate::scene::{SUBJECT, Scene};

#[tokio::test]
async fn calls_are_counted_by_method_failures_by_kind_and_times_by_length() -> Result<()> {
    let on = json!({
        "CreateContainer": { "do": "sleep", "ms": 100 },
        "RunPodSandbox": { "do": "error" },
        "StopPodSandbox": { "do": "panic" },
    });
    // Without Synchronize, it is not reconnected after its panic.
    let methods = ["CreateContainer", "RunPodSandbox", "StopPodSandbox"];
    let config = json!({ "methods": methods, "on": on });
    let subject = Component::faulty(SUBJECT, 10, config).never_quarantined();
    let scene = Scene::new(subject).await?;
    for _ in 0..3 {
        scene.create_container().await?;
    }
    scene.plugin.run_pod(&scene.pod).await?;
    scene.plugin.stop_pod(&scene.pod).await?;

    // What failed is counted once it is answered.
    let counted = scene
        .host
        .wait_component(SUBJECT, "failed twice", |c| c.count("failures") == Some(2))
        .await?;
    let of = |key: &str| counted.rest.get(key).cloned().unwrap_or_default();
    let by_method = json!({ "CreateContainer": 3, "RunPodSandbox": 1, "StopPodSandbox": 1 });
    assert_eq!(of("calls_by_method"), by_method);
    assert_eq!(of("calls"), 5);
    let by_kind = json!({ "errors": 1, "panics": 1, "bad_replies": 0, "withheld": 0 });
    assert_eq!(of("failures_by_kind"), by_kind);

    let latency = of("latency");
    let us = |key: &str| latency.get(key).and_then(Value::as_u64).context("a number");
    let (p50, p99, max) = (us("p50_us")?, us("p99_us")?, us("max_us")?);
    assert!(p50 <= p99 && p99 <= max, "{latency}");
    assert!(max >= 100_000, "{latency}");
    Ok(())
}
