//! Reads one file, whatever is in its place.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nri_node_files::ReadError;

use super::{ParseError, Spec};

/// Why a file gives no devices.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be read, or is none that is.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotText,
    /// It is no CDI file.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl LoadError {
    /// Whether it comes to the same until the file changes.
    pub(crate) fn is_lasting(&self) -> bool {
        !matches!(self, Self::Read(ReadError::Io(_)))
    }

    /// Where the problem is, counted from 1, as far as that is known.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Parse(error) => error.line(),
            _ => None,
        }
    }
}

/// What tells two states of a file apart without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// Of the file that the path leads to; `None` if it changed so lately that another change might
    /// leave no trace.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        /// More than the clocks of file systems are coarse.
        const SETTLED: Duration = Duration::from_secs(2);
        let metadata = fs::metadata(path).ok()?;
        let changed =
            SystemTime::UNIX_EPOCH + Duration::from_secs(metadata.ctime().try_into().ok()?);
        let age = SystemTime::now().duration_since(changed).ok()?;
        (age > SETTLED).then(|| Self::new(&metadata))
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Reads a CDI file of at most `limit` bytes. Never waits for anybody who would have to write it.
///
/// # Errors
///
/// It cannot be read, is no regular file, is too large, or is no CDI file.
pub fn load(path: &Path, limit: u64) -> Result<Spec, LoadError> {
    let bytes = nri_node_files::read(path, limit)?;
    let text = String::from_utf8(bytes).map_err(|_| LoadError::NotText)?;
    Ok(Spec::parse(&text)?)
}
