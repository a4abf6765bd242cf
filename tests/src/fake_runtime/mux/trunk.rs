//! The socket below the streams: reading, writing, and how it comes to an end.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::socket::{MsgFlags, recv};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::rule::{Breach, MessageHeader, ReaderRule};
use super::{Cut, Direction, FRAME_HEADER, MAX_PAYLOAD, MuxStream, Record, frame};

/// Id of the stream on which the plugin serves.
pub const PLUGIN_SERVICE: u32 = 1;

/// Id of the stream on which the runtime serves.
pub const RUNTIME_SERVICE: u32 = 2;

/// Most bytes that are looked at before they are read.
const PEEK: usize = 1 << 16;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;

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

#[derive(Debug)]
struct Shared {
    limits: Limits,
    /// A second descriptor, by which the socket is shut down while others wait on it.
    socket: StdUnixStream,
    cut: Mutex<Cut>,
    record: Mutex<Record>,
    violations: Mutex<Vec<Violation>>,
    reading: watch::Sender<bool>,
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
        let (reader, writer) = UnixStream::from_std(socket)?.into_split();
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
        tokio::spawn(read(reader, inlets, Arc::clone(&shared)));
        tokio::spawn(write(writer, queue, Arc::clone(&shared)));
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

    /// Bytes that the other side has sent, read or not. More than [`PEEK`] unread bytes count as
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
    fn finish(&self, end: End) {
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

    fn report(&self, violation: Violation) -> Result<(), End> {
        lock(&self.violations).push(violation.clone());
        if violation.is_fatal() {
            Err(End::Violation(violation))
        } else {
            Ok(())
        }
    }

    /// Waits for the end.
    async fn ended(&self) {
        let mut end = self.end.subscribe();
        // The sender lives in self.
        let _ = end.wait_for(Option::is_some).await;
    }
}

/// The receiving end of one stream.
struct Inlet {
    stream: u32,
    /// Absent on the plugin's side: what a runtime sends may be cut anywhere.
    rule: Option<ReaderRule>,
    /// The kind of message that may come.
    kind: u8,
    payloads: UnboundedSender<Vec<u8>>,
}

impl Inlet {
    fn new(stream: u32, side: Side, payloads: UnboundedSender<Vec<u8>>) -> Self {
        let serves_here = match side {
            Side::Runtime => RUNTIME_SERVICE,
            Side::Plugin => PLUGIN_SERVICE,
        };
        Self {
            stream,
            rule: (side == Side::Runtime).then(ReaderRule::new),
            kind: if stream == serves_here {
                REQUEST
            } else {
                RESPONSE
            },
            payloads,
        }
    }

    fn accept(&mut self, payload: Vec<u8>, shared: &Shared) -> Result<(), End> {
        let stream = self.stream;
        let message = match &mut self.rule {
            Some(rule) => rule.accept(&payload).or_else(|breach| {
                shared
                    .report(Violation::Framing { stream, breach })
                    .map(|()| None)
            })?,
            None => None,
        };
        if let Some(header) = message
            && (header.kind != self.kind || header.flags != 0)
        {
            shared.report(Violation::MessageKind { stream, header })?;
        }
        // The reader of the stream may have given up; the trunk is read to its end all the same.
        let _ = self.payloads.send(payload);
        Ok(())
    }
}

async fn read(socket: OwnedReadHalf, mut inlets: [Inlet; 2], shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    let mut left = shared.limits.read.unwrap_or(usize::MAX);
    let end = loop {
        let length = tokio::select! {
            result = read_more(&socket, &mut buffer, &shared) => match result {
                Ok(0) => break End::ClosedByPeer,
                Ok(length) => length,
                Err(error) => break End::Io(error.kind()),
            },
            () = shared.ended() => return,
        };
        let surplus = length.saturating_sub(left);
        buffer.truncate(buffer.len() - surplus);
        left -= length - surplus;
        if let Err(end) = take_frames(&mut buffer, &mut inlets, &shared) {
            break end;
        }
        if left == 0 {
            break End::Limit;
        }
    };
    shared.finish(end);
}

/// Reads what is there, unless reading is stopped.
async fn read_more(
    socket: &OwnedReadHalf,
    buffer: &mut Vec<u8>,
    shared: &Shared,
) -> io::Result<usize> {
    let mut reading = shared.reading.subscribe();
    loop {
        // The sender lives in shared.
        let _ = reading.wait_for(|reading| *reading).await;
        tokio::select! {
            biased;
            _ = reading.wait_for(|reading| !*reading) => continue,
            ready = socket.readable() => ready?,
        }
        // Locked over both, so that what is unread and what is counted make up the whole.
        let mut record = lock(&shared.record);
        match socket.try_read_buf(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
            Ok(length) => {
                record.bytes_read += length;
                return Ok(length);
            }
        }
    }
}

/// Takes the whole frames out of the buffer.
fn take_frames(buffer: &mut Vec<u8>, inlets: &mut [Inlet], shared: &Shared) -> Result<(), End> {
    while let Some(header) = buffer.first_chunk::<FRAME_HEADER>() {
        let [s0, s1, s2, s3, l0, l1, l2, l3] = *header;
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        let claim = u32::from_be_bytes([l0, l1, l2, l3]);
        let claim = usize::try_from(claim).expect("usize has at least 32 bits");
        if claim > MAX_PAYLOAD {
            return shared.report(Violation::FrameTooLarge { claim });
        }
        let end = FRAME_HEADER + claim;
        if buffer.len() < end {
            break;
        }
        let rest = buffer.split_off(end);
        let payload = std::mem::replace(buffer, rest).split_off(FRAME_HEADER);
        lock(&shared.record).push(Direction::Read, stream, claim);
        match inlets.iter_mut().find(|inlet| inlet.stream == stream) {
            Some(inlet) => inlet.accept(payload, shared)?,
            None => shared.report(Violation::UnknownStream { stream })?,
        }
    }
    Ok(())
}

async fn write(
    mut socket: OwnedWriteHalf,
    mut queue: UnboundedReceiver<Outgoing>,
    shared: Arc<Shared>,
) {
    let mut left = shared.limits.written.unwrap_or(usize::MAX);
    while let Some(outgoing) = queue.recv().await {
        let cut = *lock(&shared.cut);
        let mut bytes = match outgoing {
            Outgoing::Message { id, bytes } => encode(id, &bytes, cut, &shared),
            Outgoing::Raw(bytes) => bytes,
            Outgoing::HalfClose => {
                // It fails only if the connection is gone, which the reader sees.
                let _ = shared.socket.shutdown(Shutdown::Write);
                continue;
            }
        };
        bytes.truncate(left);
        let result = tokio::select! {
            result = write_pieces(&mut socket, &bytes, cut.write_size()) => result,
            () = shared.ended() => return,
        };
        if let Err(error) = result {
            return shared.finish(End::Io(error.kind()));
        }
        left -= bytes.len();
        lock(&shared.record).bytes_written += bytes.len();
        if left == 0 {
            return shared.finish(End::Limit);
        }
    }
}

/// Cuts a message into frames.
fn encode(id: u32, message: &[u8], cut: Cut, shared: &Shared) -> Vec<u8> {
    let pieces = cut.pieces(message);
    let mut record = lock(&shared.record);
    for piece in &pieces {
        record.push(Direction::Written, id, piece.len());
    }
    pieces
        .into_iter()
        .flat_map(|piece| frame(id, piece))
        .collect()
}

async fn write_pieces(socket: &mut OwnedWriteHalf, bytes: &[u8], size: usize) -> io::Result<()> {
    for piece in bytes.chunks(size) {
        socket.write_all(piece).await?;
        if size < usize::MAX {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// A panic elsewhere leaves these plain values as good as they were.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
