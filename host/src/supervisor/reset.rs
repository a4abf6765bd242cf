//! `nri-host reset`, the supervisor's part: what kept a component from being called is forgotten.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Absent, Supervisor};
use crate::config::nearest;

/// What was done to one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// Its index and name.
    pub component: String,
    /// What was done; nothing, if nothing kept it from being called.
    pub done: Vec<Deed>,
    /// What could not be done, for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// One thing that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// It was in quarantine, and is called again.
    QuarantineEnded,
    /// It had no instance, and gets another chance to make one.
    CreateTriedAgain,
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QuarantineEnded => "its quarantine is ended",
            Self::CreateTriedAgain => "its create is tried again",
        })
    }
}

impl fmt::Display for Reset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done: Vec<String> = self.done.iter().map(Deed::to_string).collect();
        let told: Vec<&str> = done
            .iter()
            .chain(&self.problems)
            .map(String::as_str)
            .collect();
        match &told[..] {
            [] => write!(f, "{}: there was nothing to reset", self.component),
            told => write!(f, "{}: {}", self.component, told.join(", ")),
        }
    }
}

/// Why there is nothing that could be reset.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResetError {
    /// No component has this name.
    #[error("there is no component {name:?}{}", hint(.nearest.as_deref()))]
    Unknown {
        /// As it was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// It is switched off.
    #[error("component {name:?} is switched off in the configuration")]
    Disabled {
        /// Its name.
        name: String,
    },
    /// Its configuration must be put right first.
    #[error(
        "component {name:?} has mistakes in its configuration; put them right and run `nri-host reload`: {reason}"
    )]
    Broken {
        /// Its name.
        name: String,
        /// The mistakes.
        reason: String,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean {nearest:?}?")
    })
}

impl Supervisor {
    /// Resets every component that has this name, alone or with its index before it.
    pub(super) fn reset(&mut self, name: &str) -> Result<Vec<Reset>, ResetError> {
        let meant =
            |member: &&mut super::Member| member.config.name == name || member.plugin() == name;
        let mut resets = Vec::new();
        for member in self.members.iter_mut().filter(meant) {
            let forgotten = self.history.forget(member.plugin());
            let mut reset = member.reset();
            if let Err(error) = forgotten {
                let error = crate::chain(&error);
                let problem = format!("its crashes are known again after a restart: {error}");
                tracing::warn!(component = reset.component, "{problem}");
                reset.problems.push(problem);
            }
            resets.push(reset);
        }
        match resets[..] {
            [] => Err(self.why_none(name)),
            _ => Ok(resets),
        }
    }

    fn why_none(&self, name: &str) -> ResetError {
        let name = name.to_owned();
        for absent in &self.absent {
            match absent {
                Absent::Disabled(config) if config.name == name => {
                    return ResetError::Disabled { name };
                }
                Absent::Broken {
                    name: Some(other),
                    reason,
                    ..
                } if *other == name => {
                    let reason = reason.clone();
                    return ResetError::Broken { name, reason };
                }
                _ => {}
            }
        }
        let names = self
            .members
            .iter()
            .map(|member| member.config.name.as_str());
        let nearest = nearest(&name, names).map(str::to_owned);
        ResetError::Unknown { name, nearest }
    }
}
