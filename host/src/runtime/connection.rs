//! One socket to the runtime.
//!
//! Whoever's turn it is reads: the component's thread, waiting, or the watchdog, without waiting.
//! What was read but not used yet stays here, so the reader can change in the middle of a frame.
//! Anyone may write; a message goes out whole, under one lock, with a time limit.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, sendmsg};
use thiserror::Error;

use super::mux::{Inbound, Message, MuxError};
use super::ttrpc::Outgoing;
use crate::lock::lock;

/// How long a message may take to be written: half the time that a runtime gives a call.
const WRITE_LIMIT: Duration = Duration::from_secs(1);
/// Most that is read at once. The allocator takes a piece of this size from the system, untouched, so
/// a connection with requests of common size uses a few pages of it.
const READ_BUFFER: usize = 256 << 10;

/// How a connection ended.
#[derive(Debug, Error)]
pub enum Lost {
    /// The runtime closed it.
    #[error("the runtime closed the connection")]
    Closed,
    /// It cannot be read.
    #[error("the connection cannot be read")]
    Read(#[source] Errno),
    /// It cannot be written.
    #[error("the connection cannot be written")]
    Write(#[source] Errno),
    /// The runtime does not take what is written.
    #[error("the runtime does not read its connection")]
    Stuck,
    /// What came is not the protocol.
    #[error("the runtime broke the protocol")]
    Protocol(#[from] MuxError),
}

/// Whether to wait for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Wait: the component's own thread.
    Wait,
    /// Never wait: the watchdog, which has others to look after.
    Never,
}

/// A connection to the runtime.
#[derive(Debug)]
pub struct Connection {
    socket: UnixStream,
    reader: Mutex<Reader>,
    writer: Mutex<()>,
}

#[derive(Debug)]
struct Reader {
    inbound: Inbound,
    buffer: Box<[u8]>,
    broken: Option<MuxError>,
}

impl Connection {
    /// Takes over a connected socket.
    ///
    /// # Errors
    ///
    /// When the socket does not take its settings.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(WRITE_LIMIT))?;
        let reader = Reader {
            inbound: Inbound::new(),
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
            broken: None,
        };
        Ok(Self {
            socket,
            reader: Mutex::new(reader),
            writer: Mutex::new(()),
        })
    }

    /// The next message. `None` without patience when there is none yet, or when the other reader
    /// is at it.
    ///
    /// # Errors
    ///
    /// When the connection has ended; messages that came whole before are handed out first.
    pub fn read(&self, patience: Patience) -> Result<Option<Message>, Lost> {
        let mut reader = match (patience, self.reader.try_lock()) {
            (_, Ok(reader)) => reader,
            (_, Err(TryLockError::Poisoned(poisoned))) => poisoned.into_inner(),
            (Patience::Wait, Err(TryLockError::WouldBlock)) => lock(&self.reader),
            (Patience::Never, Err(TryLockError::WouldBlock)) => return Ok(None),
        };
        let flags = match patience {
            Patience::Wait => MsgFlags::empty(),
            Patience::Never => MsgFlags::MSG_DONTWAIT,
        };
        loop {
            if let Some(message) = reader.inbound.next_message() {
                return Ok(Some(message));
            }
            if let Some(broken) = reader.broken.take() {
                return Err(broken.into());
            }
            let Reader {
                inbound,
                buffer,
                broken,
            } = &mut *reader;
            match recv(self.socket.as_raw_fd(), buffer, flags) {
                Ok(0) => return Err(Lost::Closed),
                Ok(len) => *broken = inbound.push(&buffer[..len]).err(),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::ECONNRESET) => return Err(Lost::Closed),
                Err(errno) => return Err(Lost::Read(errno)),
            }
        }
    }

    /// Writes one message.
    ///
    /// # Errors
    ///
    /// When it could not be written whole in time. Nothing more can be written then, so the
    /// connection is closed, which its reader notices.
    pub fn write(&self, message: &Outgoing, patience: Patience) -> Result<(), Lost> {
        let _whole_messages = lock(&self.writer);
        let mut slices = message.slices();
        self.write_all(&mut slices, patience)
            .inspect_err(|_| self.close())
    }

    fn write_all(&self, mut slices: &mut [IoSlice<'_>], patience: Patience) -> Result<(), Lost> {
        let flags = match patience {
            Patience::Wait => MsgFlags::MSG_NOSIGNAL,
            Patience::Never => MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT,
        };
        let mut started = None;
        loop {
            match sendmsg::<()>(self.socket.as_raw_fd(), slices, &[], flags, None) {
                Ok(len) => IoSlice::advance_slices(&mut slices, len),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Err(Lost::Stuck),
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Err(Lost::Closed),
                Err(errno) => return Err(Lost::Write(errno)),
            }
            if slices.iter().all(|slice| slice.is_empty()) {
                return Ok(());
            }
            if started.get_or_insert_with(Instant::now).elapsed() > WRITE_LIMIT {
                return Err(Lost::Stuck);
            }
        }
    }

    /// No further request is read; what is being answered is still written.
    pub fn stop_reading(&self) {
        // It fails only when the connection has ended already.
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// Ends the connection; whoever reads it wakes up.
    pub fn close(&self) {
        // It fails only when the connection has ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use super::super::mux::PLUGIN_STREAM;
    use super::super::ttrpc::Answer;
    use super::*;

    fn pair() -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Connection::new(ours).unwrap(), theirs)
    }

    fn answer(len: usize) -> Outgoing {
        Outgoing::response(PLUGIN_STREAM, 1, Answer::Payload(vec![0; len]))
    }

    #[test]
    fn a_message_begun_by_one_reader_is_finished_by_the_other() {
        let (connection, mut peer) = pair();
        let wire: Vec<u8> = answer(100)
            .slices()
            .iter()
            .flat_map(|s| s.to_vec())
            .collect();
        peer.write_all(&wire[..20]).unwrap();
        assert!(connection.read(Patience::Never).unwrap().is_none());
        peer.write_all(&wire[20..]).unwrap();
        let message = connection.read(Patience::Wait).unwrap().unwrap();
        assert_eq!(message.header.stream_number, 1);
    }

    #[test]
    fn the_end_of_a_connection_is_seen_after_its_last_message() {
        let (connection, mut peer) = pair();
        let wire: Vec<u8> = answer(3).slices().iter().flat_map(|s| s.to_vec()).collect();
        peer.write_all(&wire).unwrap();
        peer.write_all(&[0xff; 8]).unwrap();
        assert!(connection.read(Patience::Wait).unwrap().is_some());
        assert!(matches!(
            connection.read(Patience::Wait),
            Err(Lost::Protocol(_))
        ));
    }

    #[test]
    fn a_large_message_is_written_whole_to_a_slow_reader() {
        let (connection, mut peer) = pair();
        let message = answer(3 << 20);
        let len = message.slices().iter().map(|slice| slice.len()).sum();
        let reading = thread::spawn(move || {
            let mut all = vec![0; len];
            peer.read_exact(&mut all).map(|()| all.len())
        });
        connection.write(&message, Patience::Wait).unwrap();
        assert_eq!(reading.join().unwrap().unwrap(), len);
    }

    #[test]
    fn a_peer_that_does_not_read_is_given_up() {
        let (connection, _peer) = pair();
        let lost = connection.write(&answer(3 << 20), Patience::Never);
        assert!(matches!(lost, Err(Lost::Stuck)));
        assert!(matches!(connection.read(Patience::Wait), Err(Lost::Closed)));
    }

    #[test]
    fn closing_wakes_the_reader() {
        let (connection, _peer) = pair();
        thread::scope(|scope| {
            let reading = scope.spawn(|| connection.read(Patience::Wait));
            connection.close();
            assert!(matches!(reading.join().unwrap(), Err(Lost::Closed)));
        });
    }
}
