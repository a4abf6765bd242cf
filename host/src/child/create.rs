//! The job of a trial: to make an instance and end it, where nobody else is there to notice.

use std::io;
use std::path::PathBuf;
use std::thread;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::enter::Stage;
use crate::component::border::{Blueprint, Instance, NotCreated};
use crate::component::inspect::{InspectError, inspect};
use crate::component::load::{Libraries, LoadError};

/// What is to be tried; it is the file of the job, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The library.
    pub library: PathBuf,
    /// See [`Libraries::new`].
    pub state_dir: PathBuf,
    /// What the instance is made of.
    pub blueprint: Blueprint,
}

/// Why there was no trial.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrialError {
    /// Nobody says what is to be tried.
    #[error("the task cannot be read")]
    Task(#[source] io::Error),
    /// The file has changed since the parent looked at it.
    #[error("the file is not one that the daemon has inspected")]
    Inspect(#[from] InspectError),
    /// It is no component any more, or the system is short of something.
    #[error("the library cannot be loaded")]
    Load(#[source] std::sync::Arc<LoadError>),
    /// The system has no thread left.
    #[error("there is no thread to load it on")]
    Thread(#[source] io::Error),
    /// Nobody takes the result.
    #[error("the result cannot be reported")]
    Report(#[source] io::Error),
}

pub(super) fn create(stage: Stage) -> Result<(), TrialError> {
    let task = stage.read().map_err(TrialError::Task)?;
    let task = serde_json::from_slice(&task).map_err(|error| TrialError::Task(error.into()))?;
    let Trial {
        library,
        state_dir,
        blueprint,
    } = task;
    let inspected = inspect(&library)?;
    let mut reporter = stage.reporter;
    // As in the daemon, all of the component runs on a thread of its own.
    thread::Builder::new()
        .name(format!("nrih:{}", blueprint.name))
        .spawn(move || {
            reporter.begin().map_err(TrialError::Report)?;
            let library = Libraries::unprobed(state_dir)
                .load(&inspected)
                .map_err(TrialError::Load)?;
            let tried: Result<(), NotCreated> = Instance::try_create(&library, &blueprint);
            reporter.finish(&tried).map_err(TrialError::Report)
        })
        .map_err(TrialError::Thread)?
        .join()
        .expect("nothing in the closure panics")
}
