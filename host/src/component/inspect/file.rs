//! Reads a library once, if nobody else can put other code in its place.
//!
//! A component has all the rights of the daemon. These checks keep away accidents and other users;
//! they are no sandbox.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use super::error::FileError;

/// The largest library that is read, in bytes: it is held in memory as a whole. Go and C++
/// components have a few MiB, and debug information can bring a Rust one to some tens.
const MAX_LIBRARY_SIZE: u64 = 64 << 20;

const WRITABLE_BY_OTHERS: u32 = 0o022;
/// In a folder with this bit only the owner of a file can replace it.
const STICKY: u32 = 0o1000;
const PERMISSIONS: u32 = 0o7777;
const ROOT: u32 = 0;

/// Reads the whole file. Returns its canonical path as well.
pub(super) fn read(path: &Path) -> Result<(PathBuf, Vec<u8>), FileError> {
    let open_error = |source| FileError::Open {
        path: path.to_owned(),
        source,
    };
    let path = fs::canonicalize(path).map_err(open_error)?;
    check_folders(path.ancestors().skip(1))?;
    let file = open(&path)?;
    let bytes = read_all(file, &path)?;
    Ok((path, bytes))
}

/// Makes sure that libraries in this folder are not refused for the folder's sake.
///
/// # Errors
///
/// Says who could put other code there.
pub(crate) fn check_folder(folder: &Path) -> Result<(), FileError> {
    let path = fs::canonicalize(folder).map_err(|source| FileError::Open {
        path: folder.to_owned(),
        source,
    })?;
    check_folders(path.ancestors())
}

fn check_folders<'a>(folders: impl Iterator<Item = &'a Path>) -> Result<(), FileError> {
    for folder in folders {
        let metadata = fs::metadata(folder).map_err(|source| FileError::Open {
            path: folder.to_owned(),
            source,
        })?;
        let harmless = metadata.mode() & STICKY != 0;
        check_hands(folder, &metadata, harmless)?;
    }
    Ok(())
}

/// Opens the file and makes sure that it is one. The path is canonical: a link in its place was
/// put there just now.
fn open(path: &Path) -> Result<File, FileError> {
    let open_error = |source| FileError::Open {
        path: path.to_owned(),
        source,
    };
    // Opening a pipe or a device must not block or do anything.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
        .map_err(open_error)?;
    let metadata = file.metadata().map_err(open_error)?;
    if !metadata.is_file() {
        return Err(FileError::NotRegular {
            path: path.to_owned(),
        });
    }
    check_hands(path, &metadata, false)?;
    Ok(file)
}

/// Reads with `read`, not through a mapping: a file that is cut off meanwhile gives fewer bytes,
/// not a signal.
fn read_all(file: File, path: &Path) -> Result<Vec<u8>, FileError> {
    let claimed = file.metadata().map_or(0, |metadata| metadata.len());
    let capacity = usize::try_from(claimed.min(MAX_LIBRARY_SIZE)).unwrap_or_default();
    // One piece of the right size: pieces that grow on the way would stay on the heap.
    let mut bytes = Vec::with_capacity(capacity + 1);
    file.take(MAX_LIBRARY_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| FileError::Read {
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() as u64 > MAX_LIBRARY_SIZE {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
            limit: MAX_LIBRARY_SIZE,
        });
    }
    Ok(bytes)
}

/// Makes sure that only root and the user of this process can change something.
fn check_hands(path: &Path, metadata: &Metadata, harmless: bool) -> Result<(), FileError> {
    let own = geteuid().as_raw();
    let (uid, mode) = (metadata.uid(), metadata.mode());
    if uid != ROOT && uid != own {
        return Err(FileError::Owner {
            path: path.to_owned(),
            uid,
            own,
        });
    }
    if mode & WRITABLE_BY_OTHERS != 0 && !harmless {
        return Err(FileError::Writable {
            path: path.to_owned(),
            mode: mode & PERMISSIONS,
        });
    }
    Ok(())
}
