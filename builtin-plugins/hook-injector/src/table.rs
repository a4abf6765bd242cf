//! The hooks that are in use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use nri_plugin_api::HookStage;

use crate::hook::{Definition, Hook, Subject, Undecided};
use crate::problem::Problem;

/// A hook that is in use, and the file that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct ActiveHook {
    file: PathBuf,
    definition: Arc<Definition>,
}

impl ActiveHook {
    pub(crate) fn new(file: PathBuf, definition: Arc<Definition>) -> Self {
        Self { file, definition }
    }

    /// The order of injection: by name without regard to case or folder. Names that differ only in
    /// case come in the order of their letters.
    pub(crate) fn rank(&self) -> (String, PathBuf) {
        let name = self.file.file_name().map(OsStr::to_string_lossy);
        let name = name.unwrap_or_default();
        (name.to_lowercase(), PathBuf::from(name.into_owned()))
    }

    pub(crate) fn is_in(&self, folder: &Path) -> bool {
        self.file.parent() == Some(folder)
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn hook(&self) -> &Hook {
        &self.definition.hook
    }

    pub(crate) fn stages(&self) -> &[HookStage] {
        &self.definition.stages
    }

    /// Whether it runs for a container.
    ///
    /// # Errors
    ///
    /// One of its conditions has no answer.
    pub(crate) fn holds_for(&self, subject: &Subject<'_>) -> Result<bool, Undecided> {
        self.definition.when.holds_for(subject)
    }
}

/// A folder, and how many hooks of it are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) hooks: usize,
}

/// All hooks that are in use, and what is wrong with others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// In the order of injection.
    pub(crate) hooks: Vec<ActiveHook>,
    pub(crate) folders: Vec<Folder>,
    /// By folder and name of file.
    pub(crate) problems: Vec<Problem>,
}

/// The table of the moment. Whoever asks gets one that does not change any more.
#[derive(Debug)]
pub(crate) struct Current(RwLock<Arc<Table>>);

impl Current {
    pub(crate) fn new(table: Table) -> Self {
        Self(RwLock::new(Arc::new(table)))
    }

    /// The table of now.
    pub(crate) fn get(&self) -> Arc<Table> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&table)
    }

    /// Replaces the table, and returns the new one.
    pub(crate) fn set(&self, table: Table) -> Arc<Table> {
        let table = Arc::new(table);
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, Arc::clone(&table));
        // Nobody waits for the old one to be taken apart.
        drop(current);
        drop(before);
        table
    }
}
