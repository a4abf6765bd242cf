//! `/metrics` and the page that lists what is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use nri_host_tests::go::tests_dir;
use nri_host_tests::host::{Component, ComponentStatus, Host, State};
use nri_host_tests::prometheus::{Metrics, Sample, promtool};
use nri_plugin_api::api::{StopContainerRequest, UpdateContainerRequest};
use protobuf::MessageField;
use serde_json::json;

use crate::scene::{SUBJECT, Scene, skipped};

const OPEN_METRICS: &str = "Accept: application/openmetrics-text; version=1.0.0\r\n";

/// Type and labels of a family.
type Form = (String, BTreeSet<String>);

/// What the page says there is.
fn listed() -> Result<BTreeMap<String, Form>> {
    let page = fs::read_to_string(tests_dir().with_file_name("docs").join("metrics.md"))?;
    let names = |cell: &str| -> BTreeSet<String> {
        let names = cell.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    };
    let mut listed = BTreeMap::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, kind, labels, meaning, _] = cells[..] else {
            continue;
        };
        let Some(name) = names(name).pop_first() else {
            continue;
        };
        assert!(!meaning.is_empty(), "{name} has no meaning");
        let form = (kind.to_owned(), names(labels));
        assert_eq!(listed.insert(name.clone(), form), None, "{name} is twice");
    }
    Ok(listed)
}

/// What there is.
fn served(metrics: &Metrics) -> BTreeMap<String, Form> {
    let form = |samples: &[Sample]| {
        let labels = samples.iter().flat_map(|sample| sample.labels.keys());
        labels.filter(|label| *label != "le").cloned().collect()
    };
    metrics
        .0
        .iter()
        .map(|family| {
            (
                family.name.clone(),
                (family.kind.clone(), form(&family.samples)),
            )
        })
        .collect()
}

/// Each series without its value.
fn series(metrics: &Metrics) -> BTreeSet<(String, BTreeMap<String, String>)> {
    let samples = metrics.0.iter().flat_map(|family| &family.samples);
    samples
        .map(|sample| (sample.name.clone(), sample.labels.clone()))
        .collect()
}

#[tokio::test]
async fn the_page_lists_every_metric_with_its_type_and_labels_and_no_other() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let scene = Scene::new(&["CreateContainer"], &json!({})).await?;
    let metrics = scene.metrics().await?;
    for family in &metrics.0 {
        assert!(!family.samples.is_empty(), "{family:?}");
        assert!(!family.help.is_empty(), "{family:?}");
    }
    assert_eq!(listed()?, served(&metrics));
    Ok(())
}

#[tokio::test]
async fn both_formats_have_the_same_series_and_promtool_finds_no_fault() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let scene = Scene::new(&["CreateContainer"], &json!({})).await?;
    let (content_type, body) = scene.scrape(OPEN_METRICS).await?;
    assert!(content_type.starts_with("application/openmetrics-text"));
    let open = Metrics::read(&content_type, &body)?;
    assert_eq!(series(&scene.metrics().await?), series(&open));

    let (_, body) = scene.scrape("").await?;
    promtool(&["check", "metrics"], &body)
}

#[tokio::test]
async fn counts_agree_with_what_has_happened() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let methods = [
        "CreateContainer",
        "RunPodSandbox",
        "StopPodSandbox",
        "StopContainer",
        "UpdateContainer",
    ];
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let on = json!({
        "CreateContainer": { "do": "sleep", "ms": 20 },
        "RunPodSandbox": { "do": "reject" },
        "StopPodSandbox": { "do": "panic" },
        "StopContainer": { "do": "error" },
        "UpdateContainer": { "do": "hang", "until": gate },
    });
    let mut scene = Scene::new(&methods, &on).await?;
    let (pod, container) = (scene.pod.clone(), scene.container.clone());
    let plugin = &scene.plugin;
    for _ in 0..4 {
        plugin.create_container(&pod, &container).await?;
    }
    plugin.run_pod(&pod).await.expect_err("it is rejected");
    plugin.stop_pod(&pod).await?;
    let is_back = |component: &ComponentStatus| {
        component.count("recreated") == Some(1) && component.state == State::Active
    };
    let host = &scene.host;
    host.wait_component("subject", "created again", is_back)
        .await?;
    let stop = StopContainerRequest {
        pod: MessageField::some(pod.clone()),
        container: MessageField::some(container.clone()),
        ..Default::default()
    };
    let update = UpdateContainerRequest {
        pod: MessageField::some(pod),
        container: MessageField::some(container),
        ..Default::default()
    };
    plugin.call(&stop).await?;
    plugin.call(&stop).await?;
    plugin.call(&update).await?;
    plugin.call(&stop).await?;
    fs::write(&gate, "")?;
    scene.host.wait_state("subject", State::Active).await?;
    scene.runtime.restart().await?;
    scene.runtime.reconnected(&scene.plugin).await?;
    // What failed is counted once it is answered.
    let all_counted = |component: &ComponentStatus| {
        component.count("ignored") == Some(5) && component.count("sessions") == Some(2)
    };
    scene
        .host
        .wait_component("subject", "all counted", all_counted)
        .await?;
    check_counts(&scene.metrics().await?)
}

fn check_counts(metrics: &Metrics) -> Result<()> {
    let of_subject = |name: &str, more: &[(&str, &str)]| {
        let labels = [&[("component", SUBJECT)], more].concat();
        metrics.value(&format!("nri_host_component_{name}"), &labels)
    };
    for (method, calls) in [
        ("CreateContainer", 4.0),
        ("RunPodSandbox", 1.0),
        ("StopPodSandbox", 1.0),
        ("StopContainer", 2.0),
        ("UpdateContainer", 1.0),
    ] {
        assert_eq!(
            of_subject("calls_total", &[("method", method)])?,
            calls,
            "{method}"
        );
    }
    for (kind, failures) in [
        ("error", 2.0),
        ("panic", 1.0),
        ("bad_reply", 0.0),
        ("withheld", 0.0),
        ("late", 1.0),
    ] {
        assert_eq!(
            of_subject("failures_total", &[("kind", kind)])?,
            failures,
            "{kind}"
        );
    }
    for (name, count) in [
        ("rejections_total", 1.0),
        ("missed_calls_total", 1.0),
        ("ignored_failures_total", 5.0),
        ("connections_total", 2.0),
        ("sessions_total", 2.0),
        ("reconnects_total", 1.0),
        ("recreations_total", 1.0),
        ("call_duration_seconds_count", 9.0),
        ("required", 1.0),
        ("problems", 0.0),
    ] {
        assert_eq!(of_subject(name, &[])?, count, "{name}");
    }
    // Four calls slept for 20 ms, one took until its time was up: 1.8 of the 2 s of the runtime.
    assert!(of_subject("call_duration_seconds_sum", &[])? >= 1.88);
    let bucket = |le| of_subject("call_duration_seconds_bucket", &[("le", le)]);
    assert!(bucket("0.016384")? <= 4.0);
    assert!(bucket("1.048576")? <= 8.0);
    assert_eq!(bucket("+Inf")?, 9.0);
    for (state, is) in [("active", 1.0), ("overdue", 0.0)] {
        assert_eq!(of_subject("state", &[("state", state)])?, is, "{state}");
    }
    assert_eq!(metrics.value("nri_host_ready", &[])?, 1.0);
    Ok(())
}

#[tokio::test]
async fn components_that_cannot_be_told_apart_do_not_spoil_the_rest() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let host = Host::builder()
        .component(Component::faulty("subject", 10, json!({})))
        .component(Component::faulty("subject", 10, json!({})))
        .drop_in("50-nameless.toml", "[[component]]\nindex = 5\n")
        .drop_in("60-nameless.toml", "[[component]]\nindex = 5\n")
        .start()?;
    host.wait_component("subject", "loaded", |component| {
        component.rest["id"].is_string()
    })
    .await?;
    let answer = host.ask("GET", "/metrics", "").await?;
    let content_type = answer.header("content-type").context("it has a type")?;
    let metrics = Metrics::read(content_type, &answer.body)?;
    let value = |name, labels: &[(&str, &str)]| metrics.value(name, labels);
    assert_eq!(value("nri_host_components", &[("state", "failed")])?, 3.0);
    let calls = [("component", SUBJECT), ("method", "CreateContainer")];
    assert_eq!(value("nri_host_component_calls_total", &calls)?, 0.0);
    let waiting = [("component", SUBJECT), ("state", "waiting")];
    assert_eq!(value("nri_host_component_state", &waiting)?, 1.0);
    Ok(())
}
