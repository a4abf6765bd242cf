//! A host of which every metric has a value.

use anyhow::{Context, Result};
use nri_host_tests::fake_runtime::{FakeRuntime, Plugin, Profile};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::prometheus::Metrics;
use nri_host_tests::{go, pods, tier};
use nri_plugin_api::api::{Container, PodSandbox};
use serde_json::json;

/// The component under test, as metrics name it.
pub(crate) const SUBJECT: &str = "10-subject";

/// Whether the calling test must return at once.
pub(crate) fn skipped() -> bool {
    tier::skipped("Prometheus' parsers", go::missing())
}

pub(crate) struct Scene {
    pub(crate) runtime: FakeRuntime,
    pub(crate) host: Host,
    pub(crate) plugin: Plugin,
    pub(crate) pod: PodSandbox,
    pub(crate) container: Container,
}

impl Scene {
    /// A component that does so in these methods, and handles nothing else.
    pub(crate) async fn new(methods: &[&str], on: &serde_json::Value) -> Result<Self> {
        let runtime = FakeRuntime::start(Profile::newest()).await?;
        let config = json!({ "methods": methods, "on": on, "health": { "summary": "well" } });
        let subject = Component::faulty("subject", 10, config)
            .never_quarantined()
            .set("required", true);
        let host = Host::builder()
            .socket(runtime.socket())
            .component(subject)
            .component(Component::faulty("off", 20, json!({})).set("enabled", false))
            .component(Component::faulty("wrong", 30, json!({})).set("timeout", "soon"))
            .start()?;
        let plugin = runtime.plugin(SUBJECT).await?;
        host.wait_state("subject", State::Active).await?;
        let pod = pods::pod("web-0").namespace("shop").build();
        let container = pods::container(&pod, "server").build();
        Ok(Self {
            runtime,
            host,
            plugin,
            pod,
            container,
        })
    }

    /// What is served now, in Prometheus' own format.
    pub(crate) async fn metrics(&self) -> Result<Metrics> {
        let (content_type, body) = self.scrape("").await?;
        Metrics::read(&content_type, &body)
    }

    /// The content type of an answer, and the answer.
    pub(crate) async fn scrape(&self, accept: &str) -> Result<(String, String)> {
        let answer = self.host.ask("GET", "/metrics", accept).await?;
        let content_type = answer.header("content-type").context("it has a type")?;
        Ok((content_type.to_owned(), answer.body.clone()))
    }
}
