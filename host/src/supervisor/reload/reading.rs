//! The files as they are now, read on a thread of its own: nothing else waits for a disk.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;

use super::changes::Libraries;
use crate::component::inspect::inspect;
use crate::config::{Loaded, Scope};
use crate::{chain, crash, thread_locals};

/// What a reload has to do with the rest of the program.
pub struct Files {
    /// Reads the configuration. May block.
    pub read: Arc<dyn Fn() -> Loaded + Send + Sync>,
    /// Changes what is logged.
    pub set_log: Box<dyn Fn(LevelFilter) + Send>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

/// What was read.
#[derive(Debug)]
pub(in crate::supervisor) struct Found {
    pub(super) loaded: Loaded,
    /// The libraries of the components that are to be run, or why they may not be loaded.
    pub(super) libraries: Libraries,
}

/// Logs what is wrong or odd in the files.
pub fn log_findings(loaded: &Loaded) {
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    for mistake in &loaded.mistakes {
        match &mistake.scope {
            Scope::Component(Some(component)) => tracing::error!(component, "{mistake}"),
            _ => tracing::error!("{mistake}"),
        }
    }
}

/// Begins to read.
///
/// # Errors
///
/// When the system has no thread left.
pub(super) fn start(files: &Files) -> io::Result<oneshot::Receiver<Found>> {
    let (to, found) = oneshot::channel();
    let read = Arc::clone(&files.read);
    thread::Builder::new()
        .name("nrih-reload".to_owned())
        .spawn(move || {
            crash::enter_host_thread();
            thread_locals::make();
            // Who asked may have given up.
            let _ = to.send(find(&*read));
        })?;
    Ok(found)
}

fn find(read: &dyn Fn() -> Loaded) -> Found {
    let loaded = read();
    let mut libraries = Libraries::new();
    let components = loaded.config.iter().flat_map(|config| &config.components);
    for component in components.filter(|component| component.enabled) {
        libraries
            .entry(component.library.clone())
            .or_insert_with_key(|path| match inspect(path) {
                Ok(inspected) => Ok(inspected.digest),
                Err(error) => Err(format!("{}: {}", path.display(), chain(&error))),
            });
    }
    Found { loaded, libraries }
}
