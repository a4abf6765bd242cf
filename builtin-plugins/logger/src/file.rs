//! A file that records are appended to.
//!
//! It is followed by name: when it was moved away or removed, a new one is made before the next
//! record is written. So whatever moves logs away needs to tell nobody, and several rotations never
//! get in each other's way.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nri_plugin_api::{Error, HealthProblem};

use crate::sink::Sink;

/// How much is gathered before it is written.
const BUFFER_BYTES: usize = 64 << 10;

/// The owner writes, the group reads: pods' annotations are not for everybody.
const MODE: u32 = 0o640;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("expected an absolute path, not {0:?}")]
    Relative(PathBuf),
    #[error("opening {path:?}")]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Others can make the writer wait.
    #[error("{0:?} is no regular file; leave the key out to write to the log of the host")]
    NotRegular(PathBuf),
}

/// When a file gives its place to a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// How long a file becomes. Only a single record can be longer.
    pub(crate) bytes: u64,
    /// How many old files are kept: `PATH.1` is the newest.
    pub(crate) keep: u32,
}

/// An open file.
#[derive(Debug)]
struct Opened {
    file: File,
    /// Device and inode, by which it is told from another one at the same path.
    identity: (u64, u64),
    /// Its length when that was last looked at, or written.
    len: u64,
}

impl Opened {
    fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Open {
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(MODE)
            // A pipe without a reader is an error then, not a wait.
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(OpenError::NotRegular(path.to_owned()));
        }
        Ok(Self {
            file,
            identity: identity(&metadata),
            len: metadata.len(),
        })
    }

    fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| identity(&metadata) == self.identity)
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The sink of an instance that has a file.
#[derive(Debug)]
pub(crate) struct FileSink {
    path: PathBuf,
    opened: Opened,
    rotation: Option<Rotation>,
    /// The length at which a rotation is tried.
    rotate_at: u64,
    buffer: Vec<u8>,
    /// Where the records in the buffer end.
    ends: Vec<usize>,
    /// How many records could not be written so far.
    lost: u64,
    /// Why writing does not work, if it does not, and how many records were lost before.
    failing: Option<(io::Error, u64)>,
    /// The last thing in the file is a part of a record.
    torn: bool,
    /// Why there is no new file, if this one is not at its path any more.
    astray: Option<Error>,
}

impl FileSink {
    /// Opens or makes the file.
    ///
    /// # Errors
    ///
    /// It cannot be written to, or is no regular file.
    pub(crate) fn open(path: &Path, rotation: Option<Rotation>) -> Result<Self, OpenError> {
        if !path.is_absolute() {
            return Err(OpenError::Relative(path.to_owned()));
        }
        let opened = Opened::open(path)?;
        // Where a link leads, so that a rotation renames the file and not the link.
        let path = fs::canonicalize(path).map_err(|source| OpenError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path,
            opened,
            rotation,
            rotate_at: rotation.map_or(u64::MAX, |rotation| rotation.bytes),
            buffer: Vec::new(),
            ends: Vec::new(),
            lost: 0,
            failing: None,
            torn: false,
            astray: None,
        })
    }

    /// Whether the file and the buffer have no room for so many more bytes.
    fn is_full(&self, more: usize) -> bool {
        let buffered = self.buffer.len() as u64;
        let len = self.opened.len + buffered;
        len > 0 && len + more as u64 > self.rotate_at
    }

    /// Gives the place of a full file to a new one.
    fn make_room(&mut self, more: usize) {
        self.flush();
        // It may have become another file, or shorter.
        self.follow();
        self.look_at_len();
        // What is at the path now is not this file.
        if self.astray.is_some() {
            return;
        }
        let Some(rotation) = self.rotation.filter(|_| self.is_full(more)) else {
            return;
        };
        let rotated = self.rotate(rotation);
        if let Err(error) = rotated {
            let path = self.path.display();
            tracing::warn!("rotating {path}: {error}; it grows on, until the next attempt");
            self.rotate_at = self.opened.len + rotation.bytes;
        }
    }

    fn rotate(&mut self, rotation: Rotation) -> io::Result<()> {
        for n in (1..rotation.keep).rev() {
            if let Err(error) = fs::rename(self.old(n), self.old(n + 1))
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(error);
            }
        }
        if rotation.keep == 0 {
            fs::remove_file(&self.path)?;
        } else {
            fs::rename(&self.path, self.old(1))?;
        }
        self.follow();
        Ok(())
    }

    /// The path of an old file.
    fn old(&self, n: u32) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{n}"));
        path.into()
    }

    /// Makes a new file if this one is not at its path any more.
    fn follow(&mut self) {
        if self.opened.is_at(&self.path) {
            self.astray = None;
            return;
        }
        match Opened::open(&self.path) {
            Ok(opened) => {
                self.opened = opened;
                self.rotate_at = self.rotation.map_or(u64::MAX, |rotation| rotation.bytes);
                self.torn = false;
                self.astray = None;
            }
            Err(error) => {
                let error = Error::from(error);
                if self.astray.is_none() {
                    tracing::warn!("the file was moved away: {error}; the old one is written to");
                }
                self.astray = Some(error);
            }
        }
    }

    /// Others may have made the file shorter, or longer.
    fn look_at_len(&mut self) {
        if let Ok(metadata) = self.opened.file.metadata() {
            self.opened.len = metadata.len();
        }
    }

    /// Writes the buffer, and tells how many bytes of it were written.
    fn write_buffer(&mut self) -> (usize, io::Result<()>) {
        let file = &mut self.opened.file;
        if self.torn {
            if let Err(error) = file.write_all(b"\n") {
                return (0, Err(error));
            }
            self.torn = false;
        }
        let mut done = 0;
        while done < self.buffer.len() {
            match file.write(&self.buffer[done..]) {
                Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
                Ok(written) => {
                    done += written;
                    self.torn = self.buffer[done - 1] != b'\n';
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (done, Err(error)),
            }
        }
        (done, Ok(()))
    }
}

impl Sink for FileSink {
    fn write(&mut self, record: &[u8]) {
        let len = record.len() + 1;
        if self.is_full(len) {
            self.make_room(len);
        }
        self.buffer.extend_from_slice(record);
        self.buffer.push(b'\n');
        self.ends.push(self.buffer.len());
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        self.follow();
        let (done, written) = self.write_buffer();
        self.look_at_len();
        let path = self.path.display();
        match written {
            Ok(()) => {
                if let Some((_, before)) = self.failing.take() {
                    let lost = self.lost - before;
                    tracing::info!(lost, "{path} can be written to again");
                }
            }
            Err(error) => {
                if self.failing.is_none() {
                    tracing::warn!("writing to {path}: {error}; events are lost until it works");
                    self.failing = Some((error, self.lost));
                }
                let lost = self.ends.iter().filter(|end| **end > done);
                self.lost += lost.count() as u64;
            }
        }
        self.buffer.clear();
        self.ends.clear();
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn problems(&self) -> Vec<HealthProblem> {
        let astray = self.astray.as_ref();
        let astray = astray.map(|error| format!("the file was moved away: {error}"));
        let failing = self.failing.as_ref();
        let failing = failing.map(|(error, _)| format!("writing: {error}"));
        let problems = astray.into_iter().chain(failing);
        problems
            .map(|problem| HealthProblem::new(problem).file(&self.path))
            .collect()
    }
}

#[cfg(test)]
mod tests;
