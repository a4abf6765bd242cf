//! The task that reads a trunk's socket and hands payloads to the streams.

use std::io;
use std::sync::Arc;

use tokio::net::unix::OwnedReadHalf;
use tokio::sync::mpsc::UnboundedSender;

use super::rule::ReaderRule;
use super::trunk::{End, PLUGIN_SERVICE, RUNTIME_SERVICE, Shared, Side, Violation, lock};
use super::{Direction, FRAME_HEADER, MAX_PAYLOAD};

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;

/// The receiving end of one stream.
pub(super) struct Inlet {
    stream: u32,
    /// Absent on the plugin's side: what a runtime sends may be cut anywhere.
    rule: Option<ReaderRule>,
    /// The kind of message that may come.
    kind: u8,
    payloads: UnboundedSender<Vec<u8>>,
}

impl Inlet {
    pub(super) fn new(stream: u32, side: Side, payloads: UnboundedSender<Vec<u8>>) -> Self {
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

/// Reads until the connection ends.
pub(super) async fn read(socket: OwnedReadHalf, mut inlets: [Inlet; 2], shared: Arc<Shared>) {
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
