//! `nri-host reload`: one component is changed under a running host beside others that must not notice.

mod changes;
mod failures;
mod host;
mod libraries;
mod states;

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Plugin, Profile};
use nri_host_tests::host::{Builder, Component, Host, State};
use nri_host_tests::pods;
use nri_plugin_api::api::{Container, PodSandbox};
use serde_json::{Value, json};

use crate::record::Record;

const SUBJECT: &str = "subject";
const BYSTANDER: &str = "bystander";
/// The drop-in of the component under test.
const FILE: &str = "subject.toml";

/// A runtime and a host, whose component under test has a drop-in of its own.
struct Stage {
    runtime: FakeRuntime,
    host: Host,
    bystander: Plugin,
    record: Record,
    pod: PodSandbox,
    container: Container,
    // After the host, whose components write into it.
    folder: tempfile::TempDir,
}

impl Stage {
    async fn new(subject: impl FnOnce(&Record) -> Component) -> Result<Self> {
        Self::with(subject, |builder| builder).await
    }

    async fn with(
        subject: impl FnOnce(&Record) -> Component,
        further: impl FnOnce(Builder) -> Builder,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let record = Record::new(folder.path());
        let runtime = FakeRuntime::start(Profile::nri_0_12_4()).await?;
        let builder = Host::builder()
            .socket(runtime.socket())
            .component(Component::faulty(BYSTANDER, 90, json!({})))
            .drop_in(FILE, &subject(&record).drop_in());
        let host = further(builder).start()?;
        let bystander = runtime.plugin("90-bystander").await?;
        let pod = pods::pod("web").build();
        let container = pods::container(&pod, "server").build();
        Ok(Self {
            runtime,
            host,
            bystander,
            record,
            pod,
            container,
            folder,
        })
    }

    fn describe(&self, subject: &Component) -> Result<()> {
        self.host.write_drop_in(FILE, &subject.drop_in())
    }

    async fn create_container(&self, plugin: &Plugin) -> Result<()> {
        plugin.create_container(&self.pod, &self.container).await?;
        Ok(())
    }

    /// Checks that the other component serves as ever, on the connection that it had.
    async fn bystander_is_unaware(&self) -> Result<()> {
        self.create_container(&self.bystander).await?;
        assert!(self.bystander.is_connected());
        let bystander = self.host.wait_state(BYSTANDER, State::Active).await?;
        let counts = ["failures", "late", "missed", "sessions"].map(|key| bystander.count(key));
        assert_eq!(counts, [Some(0), Some(0), Some(0), Some(1)]);
        Ok(())
    }
}

/// The component under test, which writes down what is done to it.
fn subject(record: &Record, config: Value) -> Component {
    let mut config = config;
    config["record"] = json!(record.path());
    Component::faulty(SUBJECT, 10, config)
}
