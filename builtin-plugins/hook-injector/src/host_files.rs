//! Looks at the host's files, wherever the root of the host is for this process.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nri_node_files::{ReadError, on_host};

/// How long a hook file may be, in bytes: some hundred times the usual.
const MAX_FILE: u64 = 256 << 10;

/// How many hook files a folder may have.
pub(crate) const MAX_FILES: usize = 512;

/// How often a program is looked up while folders are renamed.
const MAX_RACES: u32 = 16;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("it is not there any more")]
    Gone,
    #[error("the symbolic link leads to nothing")]
    Dangling,
    #[error("it is not UTF-8")]
    NotUtf8 { line: usize },
    #[error(transparent)]
    Read(ReadError),
}

/// What a path of the host leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Directory,
    Other,
}

/// The names of hook files in a folder.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The first [`MAX_FILES`] of them by their bytes.
    pub(crate) names: BTreeSet<OsString>,
    pub(crate) left_out: usize,
}

/// The host's file system.
#[derive(Clone, Debug)]
pub(crate) struct HostFiles {
    root: PathBuf,
}

impl HostFiles {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where a path of the host is for this process.
    pub(crate) fn here(&self, path: &Path) -> PathBuf {
        on_host(&self.root, path)
    }

    /// The names in a folder that end in `.json`.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn hook_files(&self, folder: &Path) -> io::Result<Names> {
        let mut found = Names::default();
        for entry in fs::read_dir(self.here(folder))? {
            let name = entry?.file_name();
            if !name.as_bytes().ends_with(b".json") {
                continue;
            }
            found.names.insert(name);
            if found.names.len() > MAX_FILES {
                found.names.pop_last();
                found.left_out += 1;
            }
        }
        Ok(found)
    }

    /// The text of a file.
    ///
    /// # Errors
    ///
    /// It is not there, no regular file, too long, or no text.
    pub(crate) fn read(&self, path: &Path) -> Result<String, FileError> {
        let path = self.here(path);
        let bytes = nri_node_files::read(&path, MAX_FILE).map_err(|error| match error {
            ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link that leads nowhere, or a file that was removed meanwhile?
                match fs::symlink_metadata(&path) {
                    Ok(_) => FileError::Dangling,
                    Err(_) => FileError::Gone,
                }
            }
            other => FileError::Read(other),
        })?;
        String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            FileError::NotUtf8 { line }
        })
    }

    /// What is at the path of a program. A relative path starts at the root.
    ///
    /// # Errors
    ///
    /// It cannot be told: the program may be there.
    pub(crate) fn program(&self, path: &str) -> io::Result<Found> {
        let is_directory = if self.root == Path::new("/") {
            fs::metadata(self.here(Path::new(path))).map(|metadata| metadata.is_dir())
        } else {
            self.is_directory_within_root(path)
        };
        match is_directory {
            Ok(true) => Ok(Found::Directory),
            Ok(false) => Ok(Found::Other),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Found::Nothing),
                _ => Err(error),
            },
        }
    }

    /// Links of the host are followed as the host would follow them.
    fn is_directory_within_root(&self, path: &str) -> io::Result<bool> {
        let root = File::open(&self.root)?;
        let path = path.trim_start_matches('/');
        let path = if path.is_empty() { "." } else { path };
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT);
        for _ in 0..MAX_RACES {
            match openat2(root.as_fd(), path, how) {
                // Something was renamed meanwhile.
                Err(Errno::EAGAIN) => {}
                found => return Ok(File::from(found?).metadata()?.is_dir()),
            }
        }
        Err(Errno::EAGAIN.into())
    }
}
