//! What a test gets to see.

use std::fmt;

use super::border::Recorded;
use crate::ConfigMistake;
use crate::abi::{Status, log_level};

/// How serious a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Something is broken.
    Error,
    /// Something is not as it should be.
    Warn,
    /// A change of state.
    Info,
    /// For the component's author.
    Debug,
    /// For the component's author, at length.
    Trace,
}

impl LogLevel {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Error => log_level::ERROR,
            Self::Warn => log_level::WARN,
            Self::Info => log_level::INFO,
            Self::Debug => log_level::DEBUG,
            Self::Trace => log_level::TRACE,
        }
    }

    pub(super) fn from_number(number: u32) -> Self {
        match number {
            log_level::ERROR => Self::Error,
            log_level::WARN => Self::Warn,
            log_level::INFO => Self::Info,
            log_level::DEBUG => Self::Debug,
            _ => Self::Trace,
        }
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How serious it is.
    pub level: LogLevel,
    /// The text, with fields and spans.
    pub message: String,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Outcome<R> {
    /// The component answered.
    Answer(R),
    /// The component decided against it: [`Error::reject`](crate::Error::reject).
    Rejected(String),
    /// Any other error.
    Failed(String),
    /// The component panicked, with this text and place. The instance is dead.
    Panicked(String),
    /// The instance panicked before.
    Dead,
    /// The component does not know the method.
    Unsupported,
}

impl<R> Outcome<R> {
    pub(super) fn map<S>(self, decode: impl FnOnce(R) -> S) -> Outcome<S> {
        match self {
            Self::Answer(data) => Outcome::Answer(decode(data)),
            Self::Rejected(text) => Outcome::Rejected(text),
            Self::Failed(text) => Outcome::Failed(text),
            Self::Panicked(text) => Outcome::Panicked(text),
            Self::Dead => Outcome::Dead,
            Self::Unsupported => Outcome::Unsupported,
        }
    }
}

impl<R: fmt::Debug> Outcome<R> {
    /// The answer.
    ///
    /// # Panics
    ///
    /// It was not an answer.
    #[track_caller]
    pub fn answer(self) -> R {
        match self {
            Self::Answer(answer) => answer,
            other => panic!("expected an answer, not {other:?}"),
        }
    }

    /// The reason of a rejection.
    ///
    /// # Panics
    ///
    /// It was not a rejection.
    #[track_caller]
    pub fn rejection(self) -> String {
        match self {
            Self::Rejected(reason) => reason,
            other => panic!("expected a rejection, not {other:?}"),
        }
    }

    /// The text of a failure.
    ///
    /// # Panics
    ///
    /// It was not a failure.
    #[track_caller]
    pub fn failure(self) -> String {
        match self {
            Self::Failed(text) => text,
            other => panic!("expected a failure, not {other:?}"),
        }
    }
}

/// How `create` failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It does not work.
    Failed,
    /// It may work later: [`Error::try_later`](crate::Error::try_later).
    TryLater,
}

/// No instance was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateFailure {
    /// How it failed.
    pub kind: FailureKind,
    /// The text for people.
    pub message: String,
    /// The mistakes in the configuration.
    pub mistakes: Vec<ConfigMistake>,
    /// What was logged on the way.
    pub logs: Vec<LogLine>,
}

impl CreateFailure {
    pub(super) fn new(status: Status, recorded: Recorded) -> Self {
        let text = recorded.reply.map(|(_, text)| text).unwrap_or_default();
        Self {
            kind: match status {
                Status::TRY_LATER => FailureKind::TryLater,
                _ => FailureKind::Failed,
            },
            message: String::from_utf8_lossy(&text).into_owned(),
            mistakes: recorded.mistakes,
            logs: recorded.logs,
        }
    }
}

impl fmt::Display for CreateFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CreateFailure {}
