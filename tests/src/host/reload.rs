//! Changing the files of a running host, and having it read them again.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::process::Host;

/// What `nri-host reload --json` printed.
#[derive(Debug, Clone, Deserialize)]
pub struct Report {
    /// What became of each component, by index and name.
    pub components: Vec<ComponentReport>,
    /// Keys that only a restart takes over.
    pub needs_restart: Vec<String>,
}

/// What became of one component.
#[derive(Debug, Clone, Deserialize)]
pub struct ComponentReport {
    component: String,
    outcome: String,
    reason: Option<String>,
}

/// What came of `nri-host reload`.
#[derive(Debug, Clone)]
pub struct Reloaded {
    /// Its exit status.
    pub code: Option<i32>,
    /// What it says.
    pub report: Report,
}

impl Reloaded {
    /// What became of which component: `10-gpu: restarted`.
    pub fn outcomes(&self) -> Vec<String> {
        let words = |report: &ComponentReport| format!("{}: {}", report.component, report.outcome);
        self.report.components.iter().map(words).collect()
    }

    /// Why, for the component of that index and name.
    pub fn reason(&self, component: &str) -> &str {
        let mut reports = self.report.components.iter();
        let report = reports.find(|report| report.component == component);
        report
            .and_then(|report| report.reason.as_deref())
            .unwrap_or_default()
    }
}

impl Host {
    /// Writes a file into `conf.d` under the running host.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_drop_in(&self, name: &str, text: &str) -> Result<()> {
        fs::write(self.folder().join("conf.d").join(name), text).context("cannot write a drop-in")
    }

    /// Changes the main file under the running host.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written.
    pub fn edit_main_file(&self, edit: impl FnOnce(String) -> String) -> Result<()> {
        let path = self.folder().join("nri-host.toml");
        let text = fs::read_to_string(&path).context("cannot read the main file")?;
        fs::write(&path, edit(text)).context("cannot write the main file")
    }

    /// Runs `nri-host reload --json`.
    ///
    /// # Errors
    ///
    /// When it says nothing that can be read.
    pub async fn reload(&self) -> Result<Reloaded> {
        let finished = self.run(&["reload", "--json"]).await?;
        ensure!(
            matches!(finished.code, Some(0 | 1)),
            "reload failed: {finished:?}"
        );
        let report = serde_json::from_str(&finished.stdout)
            .with_context(|| format!("cannot read the report: {finished:?}"))?;
        Ok(Reloaded {
            code: finished.code,
            report,
        })
    }
}
