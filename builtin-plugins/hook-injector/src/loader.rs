//! Reads the folders of hook files, again and again, and remembers what was good in them.

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::{self, Mistake};
use crate::hook::Definition;
use crate::host_files::{FileError, Found, HostFiles, MAX_FILES};
use crate::problem::{Effect, Problem};
use crate::table::{ActiveHook, Folder, Table};

/// Reads hook files.
#[derive(Debug)]
pub(crate) struct Loader {
    host: HostFiles,
    /// From the least to the most important.
    folders: Vec<PathBuf>,
    /// What each file held when it could last be read.
    last_good: HashMap<PathBuf, Arc<Definition>>,
}

/// What one round of reading finds.
#[derive(Debug, Default)]
struct Round {
    /// By the exact name of the file: a folder replaces what the ones before it have.
    active: BTreeMap<OsString, ActiveHook>,
    problems: Vec<Problem>,
    good: HashMap<PathBuf, Arc<Definition>>,
}

impl Loader {
    pub(crate) fn new(host: HostFiles, folders: Vec<PathBuf>) -> Self {
        Self {
            host,
            folders,
            last_good: HashMap::new(),
        }
    }

    /// Where the folders are for this process.
    pub(crate) fn folders_here(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(|folder| self.host.here(folder))
    }

    /// Reads all folders.
    pub(crate) fn load(&mut self) -> Table {
        let mut round = Round::default();
        for folder in &self.folders {
            self.load_folder(folder, &mut round);
        }
        self.last_good = round.good;
        let mut hooks: Vec<_> = round.active.into_values().collect();
        hooks.sort_by_cached_key(ActiveHook::rank);
        let folder = |path: &PathBuf| Folder {
            path: path.clone(),
            hooks: hooks.iter().filter(|hook| hook.is_in(path)).count(),
        };
        Table {
            folders: self.folders.iter().map(folder).collect(),
            hooks,
            problems: round.problems,
        }
    }

    fn load_folder(&self, folder: &Path, round: &mut Round) {
        let found = match self.host.hook_files(folder) {
            Ok(found) => found,
            // Nobody has to have it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                round.problem(
                    folder,
                    None,
                    format!("it cannot be read: {error}"),
                    Effect::Skipped,
                );
                let kept = self.last_good.keys();
                for path in kept.filter(|path| path.parent() == Some(folder)) {
                    self.keep_last_good(path, round);
                }
                return;
            }
        };
        if found.left_out > 0 {
            let text = format!(
                "it has more than {MAX_FILES} hook files: {} of them are left out",
                found.left_out
            );
            round.problem(folder, None, text, Effect::Skipped);
        }
        for name in found.names {
            self.load_file(&folder.join(name), round);
        }
    }

    fn load_file(&self, path: &Path, round: &mut Round) {
        match self.host.read(path) {
            Ok(text) => match file::parse(&text) {
                Ok(definition) => self.activate(path, &Arc::new(definition), round),
                Err(mistakes) => self.reject(path, mistakes, round),
            },
            Err(FileError::Gone) => {}
            Err(error) => self.reject(path, vec![mistake(&error)], round),
        }
    }

    /// Uses a hook, unless its program is missing: each container would fail of it. Where that cannot
    /// be told it is used, since it may be there to enforce something.
    fn activate(&self, path: &Path, definition: &Arc<Definition>, round: &mut Round) {
        round.good.insert(path.to_owned(), Arc::clone(definition));
        let program = &definition.hook.path;
        let found = match self.host.program(program) {
            Ok(Found::Nothing) => {
                let text = format!("hook.path: there is no {program:?}");
                return round.problem(path, None, text, Effect::Skipped);
            }
            Ok(found) => found,
            Err(error) => {
                let text = format!("hook.path: {program:?} cannot be looked up: {error}");
                round.problem(path, None, text, Effect::InUse);
                Found::Other
            }
        };
        for text in doubts(definition, found) {
            round.problem(path, None, text, Effect::InUse);
        }
        let Some(name) = path.file_name() else {
            return;
        };
        let hook = ActiveHook::new(path.to_owned(), Arc::clone(definition));
        round.active.insert(name.to_owned(), hook);
    }

    /// The file is of no use as it is.
    fn reject(&self, path: &Path, mistakes: Vec<Mistake>, round: &mut Round) {
        let is_kept = self.keep_last_good(path, round);
        let effect = if is_kept {
            Effect::OlderInUse
        } else {
            Effect::Skipped
        };
        for mistake in mistakes {
            let line = Some(mistake.line).filter(|line| *line > 0);
            round.problem(path, line, mistake.text, effect);
        }
    }

    /// Whether there was something to keep.
    fn keep_last_good(&self, path: &Path, round: &mut Round) -> bool {
        let last_good = self.last_good.get(path);
        if let Some(definition) = last_good {
            self.activate(path, definition, round);
        }
        last_good.is_some()
    }
}

impl Round {
    fn problem(&mut self, path: &Path, line: Option<usize>, text: String, effect: Effect) {
        self.problems.push(Problem {
            path: path.to_owned(),
            line,
            text,
            effect,
        });
    }
}

/// A file that cannot be read at all, as a mistake in it. Line 0: the whole file.
fn mistake(error: &FileError) -> Mistake {
    let line = match error {
        FileError::NotUtf8 { line } => *line,
        _ => 0,
    };
    let text = match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    Mistake { line, text }
}

/// What OCI runtimes will not like about a hook. They take it in different ways.
fn doubts(definition: &Definition, found: Found) -> Vec<String> {
    let hook = &definition.hook;
    let mut doubts = Vec::new();
    if found == Found::Directory {
        doubts.push(format!("hook.path: {:?} is a folder", hook.path));
    } else if !hook.path.starts_with('/') {
        doubts.push(format!("hook.path: {:?} is not absolute", hook.path));
    }
    if let Some(timeout) = hook.timeout.filter(|timeout| *timeout <= 0) {
        doubts.push(format!("hook.timeout: {timeout} is less than a second"));
    }
    doubts
}
