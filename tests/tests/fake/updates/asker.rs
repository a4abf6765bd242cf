//! A component that asks for updates.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use nri_host_tests::fake_runtime::FakeRuntime;
use nri_host_tests::host::{Component, ComponentStatus, Host};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::record::Record;

/// The lines of updates that were asked for, and of results.
pub(super) const ASKED: &str = "update_containers";

pub(super) const RESULT: &str = "update_result";

/// A component that asks for updates, and what it wrote down.
pub(super) struct Asker {
    pub(super) name: String,
    folder: TempDir,
    pub(super) record: Record,
    config: Value,
}

impl Asker {
    /// It handles container creation and nothing else.
    pub(super) fn new(name: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let record = Record::new(folder.path());
        let config = json!({
            "methods": ["CreateContainer"], "record": record.path(), "updates": {},
        });
        Ok(Self {
            name: name.to_owned(),
            folder,
            record,
            config,
        })
    }

    pub(super) fn in_create(mut self, containers: &[&str]) -> Self {
        self.config["updates"]["in_create"] = json!(containers);
        self
    }

    /// It asks for these from a thread after [`Self::go`].
    pub(super) fn burst(mut self, containers: &[&str]) -> Self {
        let burst = json!({ "after": self.signal(), "containers": containers });
        self.config["updates"]["burst"] = burst;
        self
    }

    /// What it does in each creation of a container.
    pub(super) fn in_call(mut self, behaviour: &Value) -> Self {
        self.config["on"] = json!({ "CreateContainer": behaviour });
        self
    }

    /// What it does when it is told a result.
    pub(super) fn on_result(mut self, behaviour: &Value) -> Self {
        self.config["updates"]["on_result"] = behaviour.clone();
        self
    }

    pub(super) fn signal(&self) -> PathBuf {
        self.folder.path().join("go")
    }

    pub(super) fn go(&self) -> Result<()> {
        Ok(fs::write(self.signal(), "")?)
    }

    pub(super) fn component(&self, index: u8) -> Component {
        Component::faulty(&self.name, index, self.config.clone())
    }

    /// The containers of its results so far, at least `count`, each with the error if there is one.
    pub(super) async fn told(&self, count: usize) -> Result<Vec<(String, String)>> {
        self.record.wait_for_calls(RESULT, count).await?;
        let told = self
            .record
            .calls_of(RESULT)
            .into_iter()
            .map(|line| (line.container, line.error));
        Ok(told.collect())
    }
}

pub(super) fn fine(container: &str) -> (String, String) {
    (container.to_owned(), String::new())
}

pub(super) fn start(runtime: &FakeRuntime, askers: &[&Asker]) -> Result<Host> {
    let mut builder = Host::builder().socket(runtime.socket());
    for (index, asker) in (10..).zip(askers) {
        builder = builder.component(asker.component(index));
    }
    builder.start()
}

pub(super) fn counted(component: &ComponentStatus, key: &str) -> Option<u64> {
    component.rest.get("updates")?.get(key)?.as_u64()
}

pub(super) async fn wait_counted(host: &Host, name: &str, key: &str, count: u64) -> Result<()> {
    let is = |component: &ComponentStatus| counted(component, key) == Some(count);
    host.wait_component(name, &format!("with {count} updates {key}"), is)
        .await?;
    Ok(())
}
