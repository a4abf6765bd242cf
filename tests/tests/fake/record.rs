//! What the component `faulty` wrote down about its calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use nri_host_tests::patience::patiently;
use serde::Deserialize;
use tokio::time::sleep;

/// Time between two looks at the file.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// One call that reached the component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Line {
    pub(crate) instance: String,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) pod: String,
    #[serde(default)]
    pub(crate) container: String,
    pub(crate) pods: Option<usize>,
    pub(crate) containers: Option<usize>,
    #[serde(default)]
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) error: String,
    #[serde(default)]
    pub(crate) failed: Vec<String>,
}

/// The file that a component writes to. A line is there before the call is answered.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    path: PathBuf,
}

impl Record {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            path: folder.join("record.jsonl"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The lines with this method.
    pub(crate) fn calls_of(&self, method: &str) -> Vec<Line> {
        self.lines()
            .into_iter()
            .filter(|line| line.method == method)
            .collect()
    }

    /// Waits until a call with this method has reached the component.
    pub(crate) async fn wait_for(&self, method: &str) -> Result<()> {
        self.wait_for_calls(method, 1).await
    }

    /// Waits until so many calls with this method have reached the component.
    pub(crate) async fn wait_for_calls(&self, method: &str, count: usize) -> Result<()> {
        patiently(&format!("{count} calls of {method}"), async {
            while self.calls_of(method).len() < count {
                sleep(POLL_INTERVAL).await;
            }
        })
        .await
    }

    /// The methods called, without those that are no calls of the runtime.
    pub(crate) fn methods(&self) -> Vec<String> {
        let methods = self.lines().into_iter().map(|line| line.method);
        methods
            .filter(|method| method.starts_with(char::is_uppercase))
            .collect()
    }
}
