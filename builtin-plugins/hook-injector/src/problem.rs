//! What is wrong with hook files, as it is told in the log, in `status` and by `check`.

use std::fmt;
use std::path::PathBuf;

/// What becomes of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// It has no effect.
    Skipped,
    /// What it was before is still in use.
    OlderInUse,
    /// It is in use as it is.
    InUse,
}

/// Something wrong with a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Problem {
    pub(crate) path: PathBuf,
    /// Counted from 1.
    pub(crate) line: Option<usize>,
    pub(crate) text: String,
    pub(crate) effect: Effect,
}

impl Problem {
    /// What is wrong, and what becomes of it.
    pub(crate) fn message(&self) -> String {
        let effect = match self.effect {
            Effect::Skipped => "skipped",
            Effect::OlderInUse => "the version before is still in use",
            Effect::InUse => "in use as it is",
        };
        format!("{} ({effect})", self.text)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names of files can hold anything.
        let path = self.path.to_string_lossy().replace(char::is_control, "?");
        f.write_str(&path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message())
    }
}
