//! What comes from a child through a pipe, without waiting for it.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::{AsFd, BorrowedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// Most pieces that are read at a time: as much as a full pipe holds.
const MAX_READS: usize = 16;

#[derive(Debug)]
pub(super) struct Stream {
    pipe: PipeReader,
    kept: Vec<u8>,
    max: usize,
    is_open: bool,
}

impl Stream {
    /// Keeps the last `max` bytes of what comes.
    pub(super) fn new(pipe: PipeReader, max: usize) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self {
            pipe,
            kept: Vec::new(),
            max,
            is_open: true,
        })
    }

    /// Takes what is there now.
    pub(super) fn take(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        for _ in 0..MAX_READS {
            let len = match self.pipe.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                len => len?,
            };
            if len == 0 {
                self.is_open = false;
                break;
            }
            self.kept.extend_from_slice(&piece[..len]);
            self.kept.drain(..self.kept.len().saturating_sub(self.max));
        }
        Ok(())
    }

    /// What to wait on for more, unless there will be no more.
    pub(super) fn awaited(&self) -> Option<BorrowedFd<'_>> {
        self.is_open.then(|| self.pipe.as_fd())
    }

    pub(super) fn kept(&self) -> &[u8] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_end_is_kept_of_what_comes() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut stream = Stream::new(reader, 5).unwrap();
        stream.take().unwrap();
        assert_eq!(stream.kept(), b"");
        for (text, kept) in [
            ("one", "one"),
            ("two", "netwo"),
            ("three and four", " four"),
        ] {
            writer.write_all(text.as_bytes()).unwrap();
            stream.take().unwrap();
            assert_eq!(stream.kept(), kept.as_bytes());
            assert!(stream.awaited().is_some());
        }
        drop(writer);
        stream.take().unwrap();
        assert_eq!(stream.kept(), b" four");
        assert!(stream.awaited().is_none());
    }
}
