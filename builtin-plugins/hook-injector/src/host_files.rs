//! Looks at the host's files, wherever the root of the host is for this process.
//!
//! Nothing here waits for anybody: pipes, sockets and devices are told from files before they are
//! read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};

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
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    #[error("it is longer than {MAX_FILE} bytes")]
    TooLong,
    #[error("it is not UTF-8")]
    NotUtf8 { line: usize },
    #[error("it cannot be read")]
    Io(#[source] io::Error),
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
        self.root.join(path.strip_prefix("/").unwrap_or(path))
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
        let bytes = read_bytes(&path).map_err(|error| match error {
            // A link that leads nowhere, or a file that was removed meanwhile?
            FileError::Gone if fs::symlink_metadata(&path).is_ok() => FileError::Dangling,
            other => other,
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

fn read_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let io_error = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => FileError::Gone,
        _ => FileError::Io(error),
    };
    // Before it is opened, which for a device can mean something.
    require_file(&fs::metadata(path).map_err(io_error)?)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(io_error)?;
    // Once more: it may be another one by now.
    require_file(&file.metadata().map_err(io_error)?)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(io_error)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > MAX_FILE) {
        return Err(FileError::TooLong);
    }
    Ok(bytes)
}

fn require_file(metadata: &fs::Metadata) -> Result<(), FileError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(FileError::NotAFile(if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }))
}
