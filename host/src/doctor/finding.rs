//! What was found, and what to do about it.

use std::path::PathBuf;

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It could not be looked at.
    Unknown,
    /// It works, and may not for ever or for everyone.
    Warning,
    /// It keeps components from working.
    Problem,
}

/// The outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A name for what was found. It does not change between versions; the documentation has an entry
    /// for each.
    pub code: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What is the case.
    pub what: String,
    /// How it comes, or what follows from it.
    pub why: Option<String>,
    /// What to do, in order.
    #[serde(rename = "do")]
    pub steps: Vec<Step>,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// In words.
    Say {
        /// A sentence.
        say: String,
    },
    /// Write something into a file.
    Put {
        /// The file.
        file: PathBuf,
        /// Some lines for it.
        put: String,
    },
    /// Run a command.
    Run {
        /// For a shell.
        run: String,
    },
}

impl Finding {
    /// All is well.
    pub(super) fn ok(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(code, Level::Ok, what.into())
    }

    /// This could not be looked at.
    pub(super) fn unknown(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(code, Level::Unknown, what.into())
    }

    /// Something to know about.
    pub(super) fn warning(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(code, Level::Warning, what.into())
    }

    /// Something to mend.
    pub(super) fn problem(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(code, Level::Problem, what.into())
    }

    fn new(code: &'static str, level: Level, what: String) -> Self {
        Self {
            code,
            level,
            what,
            why: None,
            steps: Vec::new(),
        }
    }

    /// Adds how it comes, or what follows.
    pub(super) fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// Adds advice in words.
    pub(super) fn say(mut self, say: impl Into<String>) -> Self {
        self.steps.push(Step::Say { say: say.into() });
        self
    }

    /// Adds lines for a file.
    pub(super) fn put(mut self, file: impl Into<PathBuf>, put: impl Into<String>) -> Self {
        let (file, put) = (file.into(), put.into());
        self.steps.push(Step::Put { file, put });
        self
    }

    /// Adds a command.
    pub(super) fn run(mut self, run: impl Into<String>) -> Self {
        self.steps.push(Step::Run { run: run.into() });
        self
    }
}

/// All that was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of the program that looked.
    version: &'static str,
    problems: usize,
    warnings: usize,
    unknown: usize,
    /// In the order in which things depend on one another.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn new(findings: Vec<Finding>) -> Self {
        let count = |level| findings.iter().filter(|found| found.level == level).count();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            problems: count(Level::Problem),
            warnings: count(Level::Warning),
            unknown: count(Level::Unknown),
            findings,
        }
    }

    /// Whether there is something that keeps components from working.
    pub fn has_problems(&self) -> bool {
        self.problems > 0
    }

    /// How many findings are of this level.
    pub fn count(&self, level: Level) -> usize {
        match level {
            Level::Ok => self.findings.len() - self.problems - self.warnings - self.unknown,
            Level::Unknown => self.unknown,
            Level::Warning => self.warnings,
            Level::Problem => self.problems,
        }
    }
}
