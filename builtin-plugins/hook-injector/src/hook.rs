//! A hook, when it runs, and for which containers.

use std::collections::HashMap;

use nri_plugin_api::HookStage;

use crate::pattern::Pattern;

/// What a hook file describes.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) hook: Hook,
    pub(crate) when: When,
    /// In the order of the file. A stage that is there twice runs the hook twice.
    pub(crate) stages: Vec<HookStage>,
}

/// A program that the OCI runtime runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) path: String,
    /// The first one is the name of the program, by convention.
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<String>,
    /// Seconds.
    pub(crate) timeout: Option<i64>,
}

/// For which containers a hook runs.
#[derive(Clone, Debug)]
pub(crate) struct When {
    conditions: Vec<Condition>,
    /// How many of the conditions have to hold. Without conditions none does.
    needs: Needs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    All,
    Any,
}

#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Always(bool),
    /// `false` never holds: there is no way to ask for containers without bind mounts.
    HasBindMounts(bool),
    /// For each pair there is an annotation whose key fits the first and whose value the second.
    Annotations(Vec<(Pattern, Pattern)>),
    /// One of them fits the program that the container runs.
    Commands(Vec<Pattern>),
}

/// What conditions are about.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) annotations: HashMap<&'a str, &'a str>,
    pub(crate) has_bind_mounts: bool,
    pub(crate) command: Command<'a>,
}

/// The program that a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    Is(&'a str),
    /// The container has no arguments at all.
    Empty,
    /// The image says it, and nobody has looked there.
    OfImage,
}

/// A condition that can be answered neither way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Undecided {
    #[error("it asks for the container's command, and there is none")]
    NoCommand,
    #[error("it asks for the container's command, which the image says")]
    CommandOfImage,
}

impl When {
    pub(crate) fn all(conditions: Vec<Condition>) -> Self {
        Self {
            conditions,
            needs: Needs::All,
        }
    }

    pub(crate) fn any(conditions: Vec<Condition>) -> Self {
        Self {
            conditions,
            needs: Needs::Any,
        }
    }

    /// Whether the hook runs for a container. Conditions are asked in their order, and only as long
    /// as the answer is open.
    ///
    /// # Errors
    ///
    /// A condition that has to be asked has no answer.
    pub(crate) fn holds_for(&self, subject: &Subject<'_>) -> Result<bool, Undecided> {
        let deciding = match self.needs {
            Needs::All => false,
            Needs::Any => true,
        };
        for condition in &self.conditions {
            if condition.holds_for(subject)? == deciding {
                return Ok(deciding);
            }
        }
        Ok(self.needs == Needs::All && !self.conditions.is_empty())
    }
}

impl Condition {
    fn holds_for(&self, subject: &Subject<'_>) -> Result<bool, Undecided> {
        match self {
            Self::Always(always) => Ok(*always),
            Self::HasBindMounts(wanted) => Ok(*wanted && subject.has_bind_mounts),
            Self::Annotations(pairs) => Ok(pairs.iter().all(|(key, value)| {
                let mut annotations = subject.annotations.iter();
                annotations.any(|(k, v)| key.is_in(k) && value.is_in(v))
            })),
            Self::Commands(patterns) => match subject.command {
                Command::Is(command) => Ok(patterns.iter().any(|p| p.is_in(command))),
                Command::Empty => Err(Undecided::NoCommand),
                Command::OfImage => Err(Undecided::CommandOfImage),
            },
        }
    }
}
