//! What the component says of itself.

use nri_plugin_api::{Health, HealthProblem};
use serde::Deserialize;

/// `[component.config.health]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HealthSettings {
    summary: String,
    #[serde(default)]
    problems: Vec<ProblemSettings>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemSettings {
    message: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<u32>,
}

impl From<HealthSettings> for Health {
    fn from(settings: HealthSettings) -> Self {
        let problems = settings.problems.into_iter().map(|problem| HealthProblem {
            message: problem.message,
            file: problem.file,
            line: problem.line,
        });
        Self {
            summary: settings.summary,
            problems: problems.collect(),
        }
    }
}
