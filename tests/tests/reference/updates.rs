//! Updates that components ask for outside requests, through the real library.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nri_host_tests::host::{Component, Host};
use nri_host_tests::patience::patiently;
use nri_host_tests::reference::Options;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::stage::{Stage, create_container};

/// Time between two looks at what the components wrote down.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits for this many results of updates, as the components wrote them down.
async fn results(record: &Path, count: usize) -> Result<Vec<Value>> {
    patiently(&format!("{count} results"), async {
        loop {
            let text = std::fs::read_to_string(record)?;
            let lines = text.lines().map(serde_json::from_str);
            let lines: Vec<Value> = lines.collect::<Result<_, _>>()?;
            let results = lines.into_iter().filter(|l| l["method"] == "update_result");
            let results: Vec<Value> = results.collect();
            if results.len() >= count {
                return Ok(results);
            }
            sleep(POLL_INTERVAL).await;
        }
    })
    .await?
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_from_a_call_reaches_the_runtime_and_its_failures_the_component() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let record = stage.dir.path().join("record.jsonl");
    let ask = |container: &str| json!({ "do": "update", "text": container });
    let asker = |name: &str, index, container: &str| {
        let config = json!({
            "methods": ["CreateContainer"], "record": record,
            "on": { "CreateContainer": ask(container) },
        });
        Component::faulty(name, index, config)
    };
    let host = Host::builder()
        .socket(stage.runtime.socket())
        .component(asker("lucky", 10, "known"))
        .component(asker("unlucky", 20, "unknown"))
        .start()?;
    stage.runtime.wait_connected(&["10-lucky", "20-unlucky"]);
    stage.runtime.fail_updates_of(&["unknown"])?;

    stage.runtime.call(&create_container("web", "server"))?;
    let results = results(&record, 2).await?;
    let mut updates = stage.runtime.updates()?;
    updates.sort_by(|a, b| a.container_id.cmp(&b.container_id));
    let ids: Vec<&str> = updates.iter().map(|u| u.container_id.as_str()).collect();
    assert_eq!(ids, ["known", "unknown"]);
    for update in &updates {
        let resources = &update.linux.resources;
        assert!(
            resources.cpu.is_some() && resources.memory.is_some(),
            "{resources:?}"
        );
    }
    let of = |instance: &str| {
        let mut lines = results.iter();
        lines
            .find(|line| line["instance"] == instance)
            .context("a result")
    };
    for (instance, container) in [("lucky", "known"), ("unlucky", "unknown")] {
        let result = of(instance)?;
        assert_eq!(
            (&result["container"], &result["error"]),
            (&json!(container), &Value::Null)
        );
    }
    assert_eq!(of("lucky")?["failed"], Value::Null);
    assert_eq!(of("unlucky")?["failed"], json!(["unknown"]));
    host.logged("containers were not updated").await?;
    let closed = stage
        .runtime
        .events()
        .into_iter()
        .filter(|e| e.name == "closed");
    assert_eq!(closed.count(), 0);
    Ok(())
}
