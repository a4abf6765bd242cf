//! The job of a probe: to load a library where nothing is lost if that ends the process.

use std::io;
use std::thread;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::enter::Stage;
use crate::chain;
use crate::component::inspect::{ElfError, inspect_bytes};
use crate::component::load;

/// Why there is no verdict.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Read(#[source] io::Error),
    /// The file would not have come here.
    #[error("the file is not one that the daemon has inspected")]
    Inspect(#[from] ElfError),
    /// The system has no thread left.
    #[error("there is no thread to load it on")]
    Thread(#[source] io::Error),
    /// Nobody takes the result.
    #[error("the result cannot be reported")]
    Report(#[source] io::Error),
}

/// Why a library was not loaded, or is no component.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{reason}")]
pub struct Refusal {
    /// For a person.
    pub reason: String,
    /// The system was short of something.
    pub shortage: bool,
}

pub(super) fn probe(stage: Stage) -> Result<(), ProbeError> {
    let contents = inspect_bytes(&stage.read().map_err(ProbeError::Read)?)?;
    let Stage { file, mut reporter } = stage;
    // The daemon loads on a thread as well: a constructor gets the same stack.
    thread::Builder::new()
        .spawn(move || {
            reporter.begin()?;
            let mapped = load::map(file.into(), &contents.note);
            let verdict = mapped.map(drop).map_err(|error| Refusal {
                shortage: error.is_shortage(),
                reason: chain(&error),
            });
            reporter.finish(&verdict)
        })
        .map_err(ProbeError::Thread)?
        .join()
        .expect("nothing in the closure panics")
        .map_err(ProbeError::Report)
}
