//! What an instance says of itself.

use std::path::Path;

/// What an instance says of itself: one line, and what is not as it should be. `nri-host status`
/// shows it; see [`Host::report_health`](crate::Host::report_health).
///
/// ```
/// # use nri_plugin_api::{Health, HealthProblem};
/// let mut health = Health::new("11 hooks from 2 directories");
/// health.add(
///     HealthProblem::new("no such stage: \"prestrat\"")
///         .file("/etc/containers/oci/hooks.d/gpu.json")
///         .line(7),
/// );
/// assert_eq!(health.problems.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// One line. The host keeps 1 KiB of it.
    pub summary: String,
    /// The host keeps the first 100, and how many there are.
    pub problems: Vec<HealthProblem>,
}

/// Something that is not as it should be, and that the component can live with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthProblem {
    /// What is wrong. The host keeps 1 KiB of it.
    pub message: String,
    /// The file that it is about.
    pub file: Option<String>,
    /// The line in this file, from 1.
    pub line: Option<u32>,
}

impl Health {
    /// All is well.
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            problems: Vec::new(),
        }
    }

    /// Adds something that is not.
    pub fn add(&mut self, problem: HealthProblem) {
        self.problems.push(problem);
    }
}

impl HealthProblem {
    /// A problem with nothing in particular.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// It is about this file. What is no UTF-8 in the path is replaced.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.file = Some(path.as_ref().to_string_lossy().into_owned());
        self
    }

    /// It is in this line of the file, from 1.
    #[must_use]
    pub fn line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }
}
