//! The devices of all files, found by name.
//!
//! An index is made whole and never changed. A file that cannot be used costs its own devices and
//! is named among the problems.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nri_node_files::ReadError;
use nri_plugin_api::cdi::{DeviceName, Kind};

use crate::spec::{Device, FileStamp, Spec, load};

/// How many files of a folder are read.
const MAX_FILES: usize = 1_000;

/// Where files are, and how large they may be.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Later ones count before earlier ones.
    pub paths: Vec<PathBuf>,
    /// The largest file, in bytes.
    pub max_file_size: u64,
}

/// Something that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// Where in the file, counted from 1, as far as that is known.
    pub line: Option<u64>,
    /// What is wrong.
    pub text: String,
    /// The kind of devices that it is about, as far as that is known.
    pub kind: Option<String>,
}

/// How long the text of a problem may get, in bytes: it quotes files.
const MAX_TEXT: usize = 512;

/// How many other files are named that define a device as well.
const MAX_OTHERS: usize = 3;

impl Problem {
    fn new(path: &Path, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            text: shortened(text.into()),
            kind: None,
        }
    }

    fn of_kind(self, kind: &str) -> Self {
        Self {
            kind: Some(kind.to_owned()),
            ..self
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.text)
    }
}

/// A file that was read.
#[derive(Debug)]
pub struct SpecFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub spec: Spec,
}

/// A device and the file that defines it.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The file.
    pub file: &'a SpecFile,
    /// The device.
    pub device: &'a Device,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Index {
    files: Vec<Arc<SpecFile>>,
    /// By qualified name.
    devices: HashMap<String, Place>,
    problems: Vec<Problem>,
    stamps: HashMap<PathBuf, (FileStamp, Outcome)>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// The folder's position.
    folder: usize,
    file: usize,
    device: usize,
}

/// What came of reading a file.
type Outcome = Result<Arc<SpecFile>, Problem>;

impl Index {
    /// Reads all files.
    pub fn scan(folders: &Folders) -> Self {
        Self::default().rescan(folders)
    }

    /// Reads the files that changed since this index was made, and takes the others from it.
    #[must_use]
    pub fn rescan(&self, folders: &Folders) -> Self {
        let mut index = Self::default();
        let mut conflicts = Conflicts::default();
        for (position, folder) in folders.paths.iter().enumerate() {
            let paths = match files_of(folder) {
                Ok(paths) => paths,
                Err(problem) => {
                    index.problems.extend(problem);
                    continue;
                }
            };
            if paths.len() > MAX_FILES {
                let text = format!("has more than {MAX_FILES} CDI files; the rest is left out");
                index.problems.push(Problem::new(folder, text));
            }
            for path in paths.into_iter().take(MAX_FILES) {
                let stamp = FileStamp::of(&path);
                let outcome = self.known(&path, stamp);
                let (outcome, is_lasting) = outcome.map_or_else(
                    || read(&path, folders.max_file_size),
                    |outcome| (outcome, true),
                );
                if let Some(stamp) = stamp.filter(|_| is_lasting) {
                    index.stamps.insert(path, (stamp, outcome.clone()));
                }
                match outcome {
                    Ok(file) => index.add(position, file, &mut conflicts),
                    Err(problem) => index.problems.push(problem),
                }
            }
        }
        index.settle(&conflicts);
        index
    }

    /// What came of reading the file last time, if it is the same.
    fn known(&self, path: &Path, stamp: Option<FileStamp>) -> Option<Outcome> {
        let (before, outcome) = self.stamps.get(path)?;
        (Some(*before) == stamp).then(|| outcome.clone())
    }

    fn add(&mut self, folder: usize, file: Arc<SpecFile>, conflicts: &mut Conflicts) {
        let kind = &file.spec.kind;
        if crashes_old_runtimes(kind) {
            let text = format!(
                "kind {kind} has a part of one character: runtimes with a CDI library up to 1.1.0 \
                 crash when they read this file"
            );
            let problem = Problem::new(&file.path, text);
            self.problems.push(problem.of_kind(kind.as_str()));
        }
        let position = self.files.len();
        for (i, device) in file.spec.devices.iter().enumerate() {
            let place = Place {
                folder,
                file: position,
                device: i,
            };
            match self.devices.entry(format!("{kind}={}", device.name)) {
                Entry::Vacant(entry) => {
                    entry.insert(place);
                }
                Entry::Occupied(entry) if entry.get().folder == folder => {
                    conflicts.add(entry.key(), [entry.get().file, position]);
                }
                // A later folder counts before.
                Entry::Occupied(mut entry) => {
                    entry.insert(place);
                }
            }
        }
        self.files.push(file);
    }

    /// A device that two files of one folder define is nobody's, also where a later folder defines
    /// it: so do the runtimes.
    fn settle(&mut self, conflicts: &Conflicts) {
        // One problem for each file: the first of its devices, and how many more.
        let mut by_file: BTreeMap<usize, (&str, usize)> = BTreeMap::new();
        for (name, files) in &conflicts.files {
            self.devices.remove(name);
            for file in files {
                by_file.entry(*file).or_insert((name, 0)).1 += 1;
            }
        }
        for (file, (name, count)) in by_file {
            let files = &conflicts.files[name];
            let others = files.iter().filter(|other| **other != file);
            let others = others.map(|other| self.files[*other].path.display().to_string());
            let mut others = others.take(MAX_OTHERS).collect::<Vec<_>>().join(", ");
            let left_out = (files.len() - 1).saturating_sub(MAX_OTHERS);
            if left_out > 0 {
                others.push_str(&format!(" and {left_out} more files"));
            }
            let mut text = format!("device {name} is defined in {others} as well, so by neither");
            if count > 1 {
                text.push_str(&format!("; so are {} more of its devices", count - 1));
            }
            let file = &self.files[file];
            let problem = Problem::new(&file.path, text).of_kind(file.spec.kind.as_str());
            self.problems.push(problem);
        }
        self.problems.sort();
    }

    /// Looks a device up.
    pub fn find(&self, name: &DeviceName) -> Option<Found<'_>> {
        self.devices.get(name.as_str()).map(|place| self.at(*place))
    }

    fn at(&self, place: Place) -> Found<'_> {
        let file = &self.files[place.file];
        Found {
            file,
            device: &file.spec.devices[place.device],
        }
    }

    /// All devices by qualified name, in the order of their names.
    pub fn devices(&self) -> impl Iterator<Item = (&str, Found<'_>)> {
        let mut names: Vec<_> = self.devices.iter().collect();
        names.sort_unstable_by_key(|(name, _)| name.as_str());
        names
            .into_iter()
            .map(|(name, place)| (name.as_str(), self.at(*place)))
    }

    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// How many files can be used.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// What cannot be used, by path.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// Names that more than one file of a folder defines, and those files.
#[derive(Debug, Default)]
struct Conflicts {
    files: BTreeMap<String, BTreeSet<usize>>,
}

impl Conflicts {
    fn add(&mut self, name: &str, files: [usize; 2]) {
        self.files.entry(name.to_owned()).or_default().extend(files);
    }
}

/// What comes of reading a file, and whether it will be the same until the file changes.
fn read(path: &Path, limit: u64) -> (Outcome, bool) {
    match load(path, limit) {
        Ok(spec) => {
            let path = path.to_owned();
            (Ok(Arc::new(SpecFile { path, spec })), true)
        }
        Err(error) => {
            let problem = Problem {
                line: error.line(),
                ..Problem::new(path, chain(&error))
            };
            (Err(problem), error.is_lasting())
        }
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
    text
}

/// The CDI files of a folder, by name. A folder that is not there has none; what keeps another one
/// from being read is the error.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Option<Problem>> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => None,
        _ => Some(Problem::new(folder, chain(&ReadError::Io(error)))),
    };
    let mut names: Vec<OsString> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if is_spec(&name) && !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Runtimes whose CDI library is 1.1.0 or older crash when they read a vendor or class of one
/// character.
fn crashes_old_runtimes(kind: &Kind) -> bool {
    kind.vendor().len() == 1 || kind.class().len() == 1
}

/// Whether files of this name are read.
fn is_spec(name: &OsStr) -> bool {
    [".json", ".yaml"]
        .iter()
        .any(|suffix| name.as_bytes().ends_with(suffix.as_bytes()))
}

/// An error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
