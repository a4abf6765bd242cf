//! What the host's status shows of the component.

use std::sync::{Arc, Mutex, PoisonError};

use nri_plugin_api::{Health, HealthProblem, Host};

use crate::catalog::Catalog;
use crate::index::Index;

/// Reports for two threads: that of the watcher, and that of requests.
#[derive(Debug)]
pub(crate) struct Reporter {
    host: Host,
    catalog: Arc<Catalog>,
    /// How many edits were left out of containers. Held while it is reported, so that the last
    /// report is the newest.
    left_out: Mutex<u64>,
}

impl Reporter {
    pub(crate) fn new(host: Host, catalog: Arc<Catalog>) -> Self {
        Self {
            host,
            catalog,
            left_out: Mutex::default(),
        }
    }

    /// Reports the newest index.
    pub(crate) fn report(&self) {
        self.add_left_out(0);
    }

    /// Counts edits that a container did not get, and reports it.
    pub(crate) fn add_left_out(&self, edits: u64) {
        let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        *left_out += edits;
        let health = health(&self.catalog.index(), *left_out);
        self.host.report_health(&health);
    }
}

fn health(index: &Index, left_out: u64) -> Health {
    let (devices, files) = (index.device_count(), index.file_count());
    let mut summary = format!("CDI devices: {devices}, files: {files}");
    if left_out > 0 {
        summary.push_str(&format!(", edits left out of containers: {left_out}"));
    }
    let mut health = Health::new(summary);
    for problem in index.problems() {
        let told = HealthProblem::new(problem.text.as_str()).file(&problem.path);
        health.add(match problem.line.and_then(|line| line.try_into().ok()) {
            Some(line) => told.line(line),
            None => told,
        });
    }
    health
}
