//! The rule file for Prometheus.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use nri_host_tests::go::tests_dir;
use nri_host_tests::prometheus::{Alert, Matcher, Metrics, Selector, alerts, promtool};
use serde_json::json;

use crate::scene::{Scene, skipped};

/// Labels that the server adds when it scrapes.
const OF_THE_SERVER: [&str; 2] = ["instance", "job"];

fn file() -> PathBuf {
    let deploy = tests_dir().with_file_name("deploy");
    deploy.join("prometheus").join("nri-host.rules.yaml")
}

#[tokio::test]
async fn every_metric_label_and_value_that_a_query_asks_for_is_there() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let scene = Scene::new(&["CreateContainer"], &json!({})).await?;
    let metrics = scene.metrics().await?;
    let alerts = alerts(&file())?;
    assert!(!alerts.is_empty());
    for alert in &alerts {
        assert!(!alert.selectors.is_empty(), "{alert:?}");
        for selector in &alert.selectors {
            check_selector(selector, alert, &metrics).with_context(|| alert.alert.clone())?;
        }
    }
    Ok(())
}

fn check_selector(selector: &Selector, alert: &Alert, metrics: &Metrics) -> Result<()> {
    // The server's own.
    if selector.metric == "up" {
        return Ok(());
    }
    let of_all = metrics.0.iter().flat_map(|family| &family.samples);
    let samples: Vec<_> = of_all
        .filter(|sample| sample.name == selector.metric)
        .collect();
    let first = samples
        .first()
        .with_context(|| format!("there is no {}", selector.metric))?;
    for label in &alert.grouping {
        let known = first.labels.contains_key(label) || OF_THE_SERVER.contains(&label.as_str());
        assert!(known, "{} has no {label}", selector.metric);
    }
    for Matcher { label, op, value } in &selector.matchers {
        assert!(["=", "=~", "!~"].contains(&op.as_str()), "{op}");
        // Alternatives, and no other regular expressions.
        for value in value.split('|') {
            let is_there = samples
                .iter()
                .any(|sample| sample.labels.get(label).is_some_and(|other| other == value));
            assert!(is_there, "{}: no {label}={value:?}", selector.metric);
        }
    }
    Ok(())
}

#[test]
fn every_alert_says_how_bad_it_is_and_what_to_do_and_is_on_the_page() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let page = fs::read_to_string(tests_dir().with_file_name("docs").join("metrics.md"))?;
    let alerts = alerts(&file())?;
    let listed: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `NriHost"))
        .filter_map(|rest| rest.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let there: BTreeSet<&str> = alerts
        .iter()
        .filter_map(|alert| alert.alert.strip_prefix("NriHost"))
        .collect();
    assert_eq!(listed, there);
    for alert in &alerts {
        let severity = alert.labels.get("severity").context("a severity")?;
        let row = format!("| `{}` | {severity} |", alert.alert);
        assert!(page.contains(&row), "{row}");
        for text in ["summary", "description"] {
            assert!(alert.annotations.contains_key(text), "{alert:?}");
        }
    }
    Ok(())
}

#[test]
fn promtool_finds_no_fault_and_its_scenes_raise_what_they_should() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let file = file();
    let file = file.to_str().context("the path is UTF-8")?;
    promtool(&["check", "rules", "--lint=all", "--lint-fatal", file], "")?;
    promtool(&["test", "rules", "rules.test.yaml"], "")
}
