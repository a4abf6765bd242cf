//! Where lines go.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// How much is gathered before it is written.
const BUFFER_BYTES: usize = 64 << 10;

/// The owner writes, the group reads: pods' annotations are not for everybody.
const MODE: u32 = 0o640;

/// Takes lines. What cannot be written is the sink's affair: the writer goes on.
pub(crate) trait Sink: Debug + Send {
    /// Writes a line, which has no line break at its end. It may be kept until [`Sink::flush`].
    fn write(&mut self, line: &[u8]);

    fn flush(&mut self);
}

/// The log of the host.
#[derive(Debug)]
pub(crate) struct HostLog;

impl HostLog {
    /// The host cuts longer lines off, in bytes.
    pub(crate) const MAX_LINE: usize = 8 << 10;
}

impl Sink for HostLog {
    fn write(&mut self, line: &[u8]) {
        tracing::info!("{}", String::from_utf8_lossy(line));
    }

    fn flush(&mut self) {}
}

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

/// A file that lines are appended to.
#[derive(Debug)]
pub(crate) struct FileSink {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// How many lines are in the buffer.
    buffered: u64,
    /// How many lines could not be written since that last worked.
    lost: u64,
    /// The last thing in the file is a part of a line.
    torn: bool,
}

impl FileSink {
    /// Opens or makes the file.
    ///
    /// # Errors
    ///
    /// It cannot be written to, or is no regular file.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        if !path.is_absolute() {
            return Err(OpenError::Relative(path.to_owned()));
        }
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
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(OpenError::NotRegular(path.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            buffer: Vec::new(),
            buffered: 0,
            lost: 0,
            torn: false,
        })
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.write_all(b"\n")?;
            self.torn = false;
        }
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.torn = rest[written - 1] != b'\n';
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Sink for FileSink {
    fn write(&mut self, line: &[u8]) {
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        self.buffered += 1;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let written = self.write_buffer();
        let path = self.path.display();
        match written {
            Ok(()) if self.lost > 0 => {
                tracing::info!(lost = self.lost, "{path} can be written to again");
                self.lost = 0;
            }
            Ok(()) => {}
            Err(error) => {
                if self.lost == 0 {
                    tracing::warn!("writing to {path}: {error}; events are lost until it works");
                }
                self.lost += self.buffered;
            }
        }
        self.buffer.clear();
        self.buffered = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{FileSink, OpenError, Sink};

    #[test]
    fn lines_are_appended_to_a_file_that_not_everybody_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        for line in ["a", "b"] {
            let mut sink = FileSink::open(&path).unwrap();
            sink.write(line.as_bytes());
            sink.flush();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o137, 0, "{mode:o}");
    }

    #[test]
    fn a_file_that_is_full_loses_lines_and_the_sink_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = FileSink::open(&folder.path().join("events")).unwrap();
        sink.file = fs::OpenOptions::new()
            .append(true)
            .open("/dev/full")
            .unwrap();
        sink.write(b"a");
        sink.flush();
        sink.write(b"b");
        sink.flush();
        assert_eq!(sink.lost, 2);
        sink.file = tempfile::tempfile().unwrap();
        sink.write(b"c");
        sink.flush();
        assert_eq!(sink.lost, 0);
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| FileSink::open(path).unwrap_err();
        assert!(matches!(
            refused(Path::new("events")),
            OpenError::Relative(_)
        ));
        assert!(matches!(refused(folder.path()), OpenError::Open { .. }));
        assert!(matches!(
            refused(Path::new("/dev/null")),
            OpenError::NotRegular(_)
        ));
        let absent = folder.path().join("absent/events");
        assert!(matches!(refused(&absent), OpenError::Open { .. }));
    }
}
