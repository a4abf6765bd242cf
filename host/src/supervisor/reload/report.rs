//! What came of a reload.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What `reload --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The components by index and name; also those that are gone.
    pub components: Vec<ComponentReport>,
    /// Keys of `[runtime]` and `[host]` that have changed, and that only a restart of the host takes
    /// over: `host.state_dir`.
    pub needs_restart: Vec<String>,
}

/// What a reload did to one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentReport {
    /// Its index and name; of a drop-in that cannot be read, its path.
    pub component: String,
    /// See [`Outcome`].
    pub outcome: Outcome,
    /// What there is to say about it, for a person.
    pub reason: Option<String>,
}

/// What a reload does to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing.
    Unchanged,
    /// It is treated by other rules, such as another `timeout`; its instance goes on.
    Changed,
    /// A new instance took the place of the one before.
    Restarted,
    /// It is there for the first time.
    Added,
    /// It is gone.
    Removed,
    /// What the files say is not how it is now.
    Failed,
}

/// Why a reload did nothing at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReloadError {
    /// The configuration is of no use as a whole.
    #[error("the configuration cannot be used, so nothing was changed:\n{}", .mistakes.join("\n"))]
    Config {
        /// Every mistake in it.
        mistakes: Vec<String>,
    },
    /// The files could not be read in time.
    #[error("the configuration and the libraries could not be read within {limit_seconds} s")]
    Reading {
        /// How long the host waits.
        limit_seconds: u64,
    },
    /// The system is short of something.
    #[error("there is no thread to read the configuration with: {0}")]
    NoThread(String),
}

impl Report {
    /// What the files say is in force.
    pub fn is_complete(&self) -> bool {
        let failed = |component: &ComponentReport| component.outcome == Outcome::Failed;
        self.needs_restart.is_empty() && !self.components.iter().any(failed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.components.is_empty() {
            writeln!(f, "there are no components")?;
        }
        for component in &self.components {
            writeln!(f, "{component}")?;
        }
        for key in &self.needs_restart {
            writeln!(f, "{key}: changed, which takes a restart of nri-host")?;
        }
        Ok(())
    }
}

impl fmt::Display for ComponentReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.component, self.outcome)?;
        match &self.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Restarted => "restarted",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Failed => "failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_the_files_say_makes_it_incomplete() {
        let component = |outcome| ComponentReport {
            component: "10-gpu".to_owned(),
            outcome,
            reason: None,
        };
        let mut report = Report {
            components: vec![component(Outcome::Restarted)],
            needs_restart: Vec::new(),
        };
        assert!(report.is_complete());
        report.components.push(component(Outcome::Failed));
        assert!(!report.is_complete());
        report.components.pop();
        report.needs_restart.push("host.state_dir".to_owned());
        assert!(!report.is_complete());
        assert_eq!(
            report.to_string(),
            "10-gpu: restarted\nhost.state_dir: changed, which takes a restart of nri-host\n"
        );
    }
}
