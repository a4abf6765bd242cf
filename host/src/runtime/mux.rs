//! The multiplexer that NRI runs ttrpc over, inbound side.
//!
//! A frame is a stream id and a length, both 4 bytes big-endian, then the payload. The runtime cuts
//! its messages into frames wherever it likes, so each stream is read as plain bytes, and messages
//! are put together from them. Outbound frames are built in [`super::ttrpc`], which knows where
//! messages begin and end.

use std::collections::VecDeque;

use thiserror::Error;

use super::ttrpc::{HEADER_LEN, Header, MAX_BODY};

/// Stream on which the runtime calls us: we are the ttrpc server of the service `Plugin`.
pub const PLUGIN_STREAM: u32 = 1;
/// Stream on which we call the runtime: we are the ttrpc client of the service `Runtime`.
pub const RUNTIME_STREAM: u32 = 2;
/// Length of a frame's header in bytes.
pub const FRAME_HEADER_LEN: usize = 8;
/// Largest payload of a frame in bytes, as the reference library has it.
pub const MAX_FRAME: usize = MAX_BODY + HEADER_LEN;

/// What cannot be skipped over: the connection is of no use any more.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MuxError {
    /// A frame claims more than [`MAX_FRAME`] bytes.
    #[error("a frame on stream {stream} claims {claimed} bytes, more than {MAX_FRAME}")]
    FrameTooLarge {
        /// Stream id of the frame.
        stream: u32,
        /// Length that its header claims.
        claimed: u32,
    },
}

/// One ttrpc message, whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// [`PLUGIN_STREAM`] or [`RUNTIME_STREAM`].
    pub stream: u32,
    /// The message's header.
    pub header: Header,
    /// The body; empty if [`Message::oversized`].
    pub body: Vec<u8>,
    /// The body was larger than [`MAX_BODY`] and was skipped.
    pub oversized: bool,
}

/// Puts messages together from the bytes of a socket.
///
/// Holds at most one unfinished message a stream, of at most [`MAX_BODY`] bytes.
#[derive(Debug, Default)]
pub struct Inbound {
    frame_header: [u8; FRAME_HEADER_LEN],
    frame_header_len: usize,
    stream: u32,
    payload_left: usize,
    plugin: Assembler,
    runtime: Assembler,
    ready: VecDeque<Message>,
}

impl Inbound {
    /// A reader at the beginning of a connection, with both streams open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in bytes as they came from the socket.
    ///
    /// # Errors
    ///
    /// When the connection cannot be followed any further. Messages that were finished before are
    /// still handed out by [`Inbound::next_message`].
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), MuxError> {
        while !bytes.is_empty() {
            if self.payload_left == 0 {
                bytes = self.push_frame_header(bytes)?;
                continue;
            }
            let (now, rest) = bytes.split_at(self.payload_left.min(bytes.len()));
            self.payload_left -= now.len();
            match self.stream {
                PLUGIN_STREAM => self.plugin.push(PLUGIN_STREAM, now, &mut self.ready),
                RUNTIME_STREAM => self.runtime.push(RUNTIME_STREAM, now, &mut self.ready),
                // Nobody has opened this stream: its frames are dropped, as the runtime does.
                _ => {}
            }
            bytes = rest;
        }
        Ok(())
    }

    /// The next message that is whole.
    pub fn next_message(&mut self) -> Option<Message> {
        self.ready.pop_front()
    }

    fn push_frame_header<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], MuxError> {
        let missing = FRAME_HEADER_LEN - self.frame_header_len;
        let (now, rest) = bytes.split_at(missing.min(bytes.len()));
        self.frame_header[self.frame_header_len..][..now.len()].copy_from_slice(now);
        self.frame_header_len += now.len();
        if self.frame_header_len == FRAME_HEADER_LEN {
            self.frame_header_len = 0;
            let [s0, s1, s2, s3, l0, l1, l2, l3] = self.frame_header;
            let claimed = u32::from_be_bytes([l0, l1, l2, l3]);
            self.stream = u32::from_be_bytes([s0, s1, s2, s3]);
            self.payload_left = usize::try_from(claimed)
                .ok()
                .filter(|len| *len <= MAX_FRAME)
                .ok_or(MuxError::FrameTooLarge {
                    stream: self.stream,
                    claimed,
                })?;
        }
        Ok(rest)
    }
}

/// One stream's unfinished message.
#[derive(Debug, Default)]
struct Assembler {
    header: [u8; HEADER_LEN],
    header_len: usize,
    body: Vec<u8>,
    body_left: usize,
    oversized: bool,
}

impl Assembler {
    fn push(&mut self, stream: u32, mut bytes: &[u8], ready: &mut VecDeque<Message>) {
        while !bytes.is_empty() {
            if self.header_len < HEADER_LEN {
                let missing = HEADER_LEN - self.header_len;
                let (now, rest) = bytes.split_at(missing.min(bytes.len()));
                self.header[self.header_len..][..now.len()].copy_from_slice(now);
                self.header_len += now.len();
                bytes = rest;
                if self.header_len < HEADER_LEN {
                    return;
                }
                self.body_left = Header::decode(self.header).body_len;
                self.oversized = self.body_left > MAX_BODY;
                if !self.oversized {
                    self.body.reserve_exact(self.body_left);
                }
            }
            let (now, rest) = bytes.split_at(self.body_left.min(bytes.len()));
            if !self.oversized {
                self.body.extend_from_slice(now);
            }
            self.body_left -= now.len();
            bytes = rest;
            if self.body_left == 0 {
                self.header_len = 0;
                ready.push_back(Message {
                    stream,
                    header: Header::decode(self.header),
                    body: std::mem::take(&mut self.body),
                    oversized: self.oversized,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ttrpc::MessageKind;
    use super::*;

    fn frame(stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = stream.to_be_bytes().to_vec();
        bytes.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    fn ttrpc(stream_number: u32, body: &[u8]) -> Vec<u8> {
        let header = Header {
            body_len: body.len(),
            stream_number,
            kind: MessageKind::Request,
            flags: 0,
        };
        [&header.encode(), body].concat()
    }

    fn all(inbound: &mut Inbound) -> Vec<(u32, u32, Vec<u8>)> {
        std::iter::from_fn(|| inbound.next_message())
            .map(|m| (m.stream, m.header.stream_number, m.body))
            .collect()
    }

    #[test]
    fn a_message_is_read_whatever_the_cuts_of_socket_and_frames() {
        let body: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let message = ttrpc(7, &body);
        for cut in 0..=message.len() {
            let wire = [
                frame(PLUGIN_STREAM, &message[..cut]),
                frame(PLUGIN_STREAM, &[]),
                frame(PLUGIN_STREAM, &message[cut..]),
            ]
            .concat();
            let mut inbound = Inbound::new();
            for piece in wire.chunks(1 + cut % 97) {
                inbound.push(piece).unwrap();
            }
            assert_eq!(
                all(&mut inbound),
                [(PLUGIN_STREAM, 7, body.clone())],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn streams_are_put_together_apart() {
        let one = ttrpc(1, b"for the plugin");
        let two = ttrpc(2, b"for the runtime");
        let wire = [
            frame(PLUGIN_STREAM, &one[..11]),
            frame(RUNTIME_STREAM, &two[..3]),
            frame(PLUGIN_STREAM, &one[11..]),
            frame(RUNTIME_STREAM, &two[3..]),
        ]
        .concat();
        let mut inbound = Inbound::new();
        inbound.push(&wire).unwrap();
        assert_eq!(
            all(&mut inbound),
            [
                (PLUGIN_STREAM, 1, b"for the plugin".to_vec()),
                (RUNTIME_STREAM, 2, b"for the runtime".to_vec()),
            ]
        );
    }

    #[test]
    fn messages_without_a_body_and_several_in_one_frame_are_read() {
        let wire = frame(
            PLUGIN_STREAM,
            &[ttrpc(1, b""), ttrpc(3, b"x"), ttrpc(5, b"")].concat(),
        );
        let mut inbound = Inbound::new();
        inbound.push(&wire).unwrap();
        let numbers: Vec<u32> = all(&mut inbound).iter().map(|m| m.1).collect();
        assert_eq!(numbers, [1, 3, 5]);
    }

    #[test]
    fn frames_of_streams_that_nobody_opened_are_skipped() {
        let wire = [
            frame(0, b"zero"),
            frame(77, &[0xff; 300]),
            frame(PLUGIN_STREAM, &ttrpc(9, b"ok")),
        ]
        .concat();
        let mut inbound = Inbound::new();
        inbound.push(&wire).unwrap();
        assert_eq!(all(&mut inbound), [(PLUGIN_STREAM, 9, b"ok".to_vec())]);
    }

    #[test]
    fn a_frame_that_claims_too_much_ends_the_connection_before_any_allocation() {
        let mut inbound = Inbound::new();
        let header = [1u32.to_be_bytes(), u32::MAX.to_be_bytes()].concat();
        assert_eq!(
            inbound.push(&header),
            Err(MuxError::FrameTooLarge {
                stream: 1,
                claimed: u32::MAX
            })
        );
        assert_eq!(inbound.plugin.body.capacity(), 0);
    }

    #[test]
    fn an_oversized_message_is_skipped_and_the_next_one_is_read() {
        let too_large = ttrpc(1, &vec![0; MAX_BODY + 1]);
        let wire = [
            frame(PLUGIN_STREAM, &too_large[..MAX_BODY]),
            frame(PLUGIN_STREAM, &too_large[MAX_BODY..]),
            frame(PLUGIN_STREAM, &ttrpc(3, b"next")),
        ]
        .concat();
        let mut inbound = Inbound::new();
        inbound.push(&wire).unwrap();
        let skipped = inbound.next_message().unwrap();
        assert!(skipped.oversized && skipped.body.is_empty());
        assert_eq!(skipped.header.stream_number, 1);
        assert_eq!(all(&mut inbound), [(PLUGIN_STREAM, 3, b"next".to_vec())]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
            let mut inbound = Inbound::new();
            let fed = inbound.push(&bytes);
            let bodies: usize = all(&mut inbound).iter().map(|m| m.2.len()).sum();
            prop_assert!(bodies <= bytes.len());
            let MuxError::FrameTooLarge { claimed, .. } = fed.err().unwrap_or(
                MuxError::FrameTooLarge { stream: 0, claimed: u32::MAX },
            );
            prop_assert!(claimed as usize > MAX_FRAME);
        }
    }
}
