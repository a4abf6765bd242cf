//! Reads one file, whatever is in its place.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be opened or read.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
    /// It is no regular file.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    /// It is longer than files may be.
    #[error("it is longer than {limit} bytes")]
    TooLong {
        /// How long a file may be.
        limit: u64,
    },
}

/// Where an absolute path of the node is for a process that sees the root of its file system at
/// `root`.
pub fn on_host(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Reads a file of at most `limit` bytes. Pipes, sockets, devices and folders are refused, and
/// nobody who might write to one of them is waited for.
///
/// # Errors
///
/// It cannot be read, is no regular file, or is too long.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    // Looked at before it is opened: to open a device can do something.
    require_file(fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    // Once more: it may be another one by now.
    require_file(file.metadata()?.file_type())?;
    read_bounded(file, limit)
}

fn read_bounded(file: File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(read) {
        Ok(read) if read <= limit => Ok(bytes),
        _ => Err(ReadError::TooLong { limit }),
    }
}

fn require_file(kind: FileType) -> Result<(), ReadError> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(ReadError::NotAFile(what))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use nix::sys::stat::Mode;

    use super::{ReadError, on_host, read};

    #[test]
    fn files_are_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        assert!(matches!(
            read(&path, 3),
            Err(ReadError::TooLong { limit: 3 })
        ));
        assert!(matches!(
            read(&folder.path().join("absent"), 3),
            Err(ReadError::Io(_))
        ));
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, expected) in [
            (folder.path(), "a folder"),
            (&pipe, "a named pipe"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            assert!(
                matches!(read(path, 9), Err(ReadError::NotAFile(what)) if what == expected),
                "{expected}"
            );
        }
    }

    #[test]
    fn paths_of_the_node_are_below_its_root() {
        let here = on_host(Path::new("/host"), Path::new("/etc/cdi"));
        assert_eq!(here, Path::new("/host/etc/cdi"));
        assert_eq!(
            on_host(Path::new("/"), Path::new("/etc")),
            Path::new("/etc")
        );
    }
}
