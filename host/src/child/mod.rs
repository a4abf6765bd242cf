//! The binary's child mode: where component code runs apart from the daemon.
//!
//! The program starts itself once more for one [`Job`] on one file, and kills it when component code
//! has not come back in time. How they talk is private to one binary:
//!
//! | the child's | is |
//! |---|---|
//! | standard input | the file |
//! | standard output | the [`Report`], until component code begins and finds standard error there |
//! | standard error | what component code prints |
//! | environment | what the dynamic loader reads, and nothing else |
//!
//! The child has no other descriptors, leads a process group of its own, and dies with its parent.

mod create;
mod enter;
mod probe;
mod report;
mod start;
mod stream;

use std::fmt;

use clap::{Args, ValueEnum};
use thiserror::Error;

pub use create::{Trial, TrialError};
pub use enter::EnterError;
pub use probe::{ProbeError, Refusal};
pub use report::Report;
pub use start::{End, Ended, StartError, THIS_PROGRAM, start};

/// What a child is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Job {
    /// Load the file as the daemon would. Reports `Result<(), Refusal>`.
    Probe,
    /// Make an instance as the [`Trial`] in the file says, and end it. Reports
    /// `Result<(), NotCreated>`.
    Create,
}

/// As on the child's command line.
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probe => "probe",
            Self::Create => "create",
        })
    }
}

/// Arguments of the child mode.
#[derive(Clone, Debug, Args)]
pub struct ChildArgs {
    /// What to do
    job: Job,
    /// The process that waits for this one
    parent: i32,
}

/// Why a child could not do its job.
#[derive(Debug, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum ChildError {
    /// It could not begin.
    Enter(#[from] EnterError),
    /// A probe came to no verdict.
    Probe(#[from] ProbeError),
    /// Nor did a trial.
    Create(#[from] TrialError),
}

/// What the child does, from its start to its end.
///
/// # Errors
///
/// Says why there is no result, for whoever reads the child's standard error.
pub fn run(args: &ChildArgs) -> Result<(), ChildError> {
    let stage = enter::enter(args.parent)?;
    match args.job {
        Job::Probe => probe::probe(stage)?,
        Job::Create => create::create(stage)?,
    }
    Ok(())
}
