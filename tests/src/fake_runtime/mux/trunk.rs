//! The socket below the streams: reading, writing, and how it comes to an end.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::socket::{MsgFlags, recv};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::reader::{self, Inlet};
use super::rule::{Breach, MessageHeader};
use super::{Cut, MuxStream, Record, writer};

/// Id of the stream on which the plugin serves.
pub const PLUGIN_SERVICE: u32 = 1;

/// Id of the stream on which the runtime serves.
pub const RUNTIME_SERVICE: u32 = 2;

/// Most bytes that are looked at before they are read.
const PEEK: usize = 1 << 16;

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Calls on stream 1, serves on stream 2.
    Runtime,
    /// The other way round; for tests of the fake runtime itself.
    Plugin,
}

/// Numbers of bytes after which the connection is cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes read from the other side.
    pub read: Option<usize>,
    /// Bytes written to the other side.
    pub written: Option<usize>,
}

/// Something that the other side must never send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// Frames that the reference runtime's reader would not survive, or more of them than needed.
    Framing {
        /// Id of the stream.
        stream: u32,
        /// What was broken.
        breach: Breach,
    },
    /// A frame of a stream that nobody opened.
    UnknownStream {
        /// Id of the stream.
        stream: u32,
    },
    /// A frame that claims more than the largest message has.
    FrameTooLarge {
        /// Bytes that it claims.
        claim: usize,
    },
    /// A request where only responses may come, or the other way round, or a streaming call.
    MessageKind {
        /// Id of the stream.
        stream: u32,
        /// The message that came.
        header: MessageHeader,
    },
}

impl Violation {
    /// Whether the connection of a real runtime ends with it.
    fn is_fatal(&self) -> bool {
        !matches!(self, Self::UnknownStream { .. })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Framing { stream, breach } => write!(f, "stream {stream}: {breach}"),
            Self::UnknownStream { stream } => write!(f, "a frame for stream {stream}"),
            Self::FrameTooLarge { claim } => write!(f, "a frame that claims {claim} bytes"),
            Self::MessageKind { stream, header } => {
                write!(
                    f,
                    "stream {stream}: a message of the wrong kind: {header:?}"
                )
            }
        }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The other side closed it.
    ClosedByPeer,
    /// This side closed it, for the reason given.
    Closed(&'static str),
    /// A limit of bytes was reached.
    Limit,
    /// The other side broke the protocol.
    Violation(Violation),
    /// The socket failed.
    Io(io::ErrorKind),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClosedByPeer => f.write_str("closed by the plugin"),
            Self::Closed(reason) => write!(f, "closed by the runtime: {reason}"),
            Self::Limit => f.write_str("cut off at the chosen byte"),
            Self::Violation(violation) => write!(f, "protocol broken: {violation}"),
            Self::Io(kind) => write!(f, "socket failed: {kind}"),
        }
    }
}

/// What the writer is given.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message, to be cut into frames.
    Message { id: u32, bytes: Vec<u8> },
    /// Bytes to be written as they are.
    Raw(Vec<u8>),
    /// The direction is shut.
    HalfClose,
}

/// The streams of a connection.
#[derive(Debug)]
pub struct Streams {
    /// Stream 1.
    pub plugin: MuxStream,
    /// Stream 2.
    pub runtime: MuxStream,
}

/// One connection. Dropping it closes the socket.
#[derive(Debug)]
pub struct Trunk {
    shared: Arc<Shared>,
    outgoing: UnboundedSender<Outgoing>,
}

/// What the two tasks and the trunk share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) limits: Limits,
    /// A second descriptor, by which the socket is shut down while others wait on it.
    pub(super) socket: StdUnixStream,
    pub(super) cut: Mutex<Cut>,
    pub(super) record: Mutex<Record>,
    violations: Mutex<Vec<Violation>>,
    pub(super) reading: watch::Sender<bool>,
    end: watch::Sender<Option<End>>,
}

impl Trunk {
    /// Takes over a connected socket, with both streams open before the first byte is read.
    ///
    /// # Errors
    ///
    /// When the socket's descriptor cannot be duplicated.
    pub fn start(socket: UnixStream, side: Side, limits: Limits) -> io::Result<(Self, Streams)> {
        let socket = socket.into_std()?;
        let shared = Arc::new(Shared {
            limits,
            socket: socket.try_clone()?,
            cut: Mutex::default(),
            record: Mutex::default(),
            violations: Mutex::default(),
            reading: watch::Sender::new(true),
            end: watch::Sender::new(None),
        });
        let (read_half, write_half) = UnixStream::from_std(socket)?.into_split();
        let (outgoing, queue) = unbounded_channel();
        let (to_plugin_stream, plugin) = unbounded_channel();
        let (to_runtime_stream, runtime) = unbounded_channel();
        let streams = Streams {
            plugin: MuxStream::new(PLUGIN_SERVICE, plugin, outgoing.clone()),
            runtime: MuxStream::new(RUNTIME_SERVICE, runtime, outgoing.clone()),
        };
        let inlets = [
            Inlet::new(PLUGIN_SERVICE, side, to_plugin_stream),
            Inlet::new(RUNTIME_SERVICE, side, to_runtime_stream),
        ];
        tokio::spawn(reader::read(read_half, inlets, Arc::clone(&shared)));
        tokio::spawn(writer::write(write_half, queue, Arc::clone(&shared)));
        Ok((Self { shared, outgoing }, streams))
    }

    /// Changes how the messages that follow are cut.
    pub fn set_cut(&self, cut: Cut) {
        *lock(&self.shared.cut) = cut;
    }

    /// Writes bytes as they are, between two messages.
    pub fn send_raw(&self, bytes: Vec<u8>) {
        // A connection that has ended takes nothing; whoever cares looks at its end.
        let _ = self.outgoing.send(Outgoing::Raw(bytes));
    }

    /// Stops or resumes reading. What the other side writes meanwhile stays in the kernel.
    pub fn set_reading(&self, reading: bool) {
        self.shared.reading.send_replace(reading);
    }

    /// Shuts the direction towards the other side, after what was written before, and goes on
    /// reading. Whatever is written later ends the connection.
    pub fn half_close(&self) {
        let _ = self.outgoing.send(Outgoing::HalfClose);
    }

    /// Shuts the direction from the other side without a sign: whatever it writes from now on fails.
    pub fn stop_taking(&self) {
        // Else the reader would take the shut direction for the end of the other side.
        self.set_reading(false);
        // It may be gone already, which is as good.
        let _ = self.shared.socket.shutdown(Shutdown::Read);
    }

    /// Closes the connection.
    pub fn close(&self, reason: &'static str) {
        self.shared.finish(End::Closed(reason));
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) -> End {
        let mut end = self.shared.end.subscribe();
        let end = end
            .wait_for(Option::is_some)
            .await
            .expect("the sender lives in self");
        end.clone().expect("waited for")
    }

    /// How the connection ended, if it has.
    pub fn end(&self) -> Option<End> {
        self.shared.end.borrow().clone()
    }

    /// Bytes that the other side has sent, read or not. More than 64 KiB of unread bytes count as
    /// so many.
    pub fn received(&self) -> usize {
        let record = lock(&self.shared.record);
        let mut unread = vec![0; PEEK];
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        record.bytes_read + recv(self.shared.socket.as_raw_fd(), &mut unread, flags).unwrap_or(0)
    }

    /// The frames so far.
    pub fn record(&self) -> Record {
        lock(&self.shared.record).clone()
    }

    /// What the other side broke since the last time that it was asked.
    pub fn take_violations(&self) -> Vec<Violation> {
        std::mem::take(&mut *lock(&self.shared.violations))
    }
}

impl Drop for Trunk {
    fn drop(&mut self) {
        self.close("no longer needed");
    }
}

impl Shared {
    /// Ends the connection; the first reason stays.
    pub(super) fn finish(&self, end: End) {
        let first = self.end.send_if_modified(|current| {
            let first = current.is_none();
            current.get_or_insert(end);
            first
        });
        if first {
            // It may be gone already, which is what is wanted.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
    }

    /// Remembers a violation.
    ///
    /// # Errors
    ///
    /// How the connection of a real runtime ends with it, if it does.
    pub(super) fn report(&self, violation: Violation) -> Result<(), End> {
        lock(&self.violations).push(violation.clone());
        if violation.is_fatal() {
            Err(End::Violation(violation))
        } else {
            Ok(())
        }
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        let mut end = self.end.subscribe();
        // The sender lives in self.
        let _ = end.wait_for(Option::is_some).await;
    }
}

/// A panic elsewhere leaves these plain values as good as they were.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
