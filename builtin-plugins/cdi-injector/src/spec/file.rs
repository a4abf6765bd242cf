//! Reads one file, whatever is in its place.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{ParseError, Spec};

/// Why a file gives no devices.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be opened or read.
    #[error("cannot be read")]
    Read(#[from] io::Error),
    /// It is no regular file.
    #[error("is {0}, not a file")]
    NotRegular(&'static str),
    /// It is larger than files may be.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// How large a file may be.
        limit: u64,
    },
    /// It is not UTF-8.
    #[error("is not UTF-8")]
    NotText,
    /// It is no CDI file.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl LoadError {
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
    // Looked at before it is opened: to open a device can do something.
    check_regular(fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    check_regular(file.metadata()?.file_type())?;
    let text = String::from_utf8(read(&file, limit)?).map_err(|_| LoadError::NotText)?;
    Ok(Spec::parse(&text)?)
}

fn read(file: &File, limit: u64) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(read) {
        Ok(read) if read <= limit => Ok(bytes),
        _ => Err(LoadError::TooLarge { limit }),
    }
}

fn check_regular(kind: FileType) -> Result<(), LoadError> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(LoadError::NotRegular(what))
}
