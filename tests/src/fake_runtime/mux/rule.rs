//! The framing that the reference runtime's reader survives.
//!
//! The runtime reads a mux stream through a buffered reader of 4096 bytes, and its mux fails with
//! "cannot allocate memory" when one frame is larger than the buffer it is asked to fill. That
//! reader is modelled here byte for byte, and beside it the stricter rule that follows from it: at
//! most two frames a message, and never parts of two messages in one frame.

use std::fmt;

/// Size of the buffered reader on the runtime's side.
pub const READ_BUFFER: usize = 4096;

/// Length of a ttrpc message header.
pub const MESSAGE_HEADER: usize = 10;

/// Largest body of a ttrpc message.
pub const MAX_BODY: usize = 4 << 20;

/// Frames that one message may take.
const MAX_FRAMES: usize = 2;

/// The header of a ttrpc message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHeader {
    /// Bytes of the body that follows.
    pub length: usize,
    /// Number of the call within its direction.
    pub stream: u32,
    /// 1 request, 2 response, 3 data.
    pub kind: u8,
    /// Bits of streaming calls, which NRI does not use.
    pub flags: u8,
}

impl MessageHeader {
    /// Reads a header.
    pub fn parse(bytes: &[u8; MESSAGE_HEADER]) -> Self {
        let [l0, l1, l2, l3, s0, s1, s2, s3, kind, flags] = *bytes;
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        Self {
            length: usize::try_from(length).expect("usize has at least 32 bits"),
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            kind,
            flags,
        }
    }
}

/// What a frame did to break the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// The runtime's reader would fail with "cannot allocate memory" and drop the connection.
    NoRoom {
        /// Bytes in the frame.
        frame: usize,
        /// Bytes that the reader had asked for.
        room: usize,
    },
    /// The frame holds the end of one message and the start of the next.
    Coalesced {
        /// Bytes after the end of the first message.
        surplus: usize,
    },
    /// The message was cut into more frames than it needs.
    TooManyFrames,
    /// The body is larger than ttrpc allows.
    BodyTooLarge {
        /// Bytes that the header claims.
        length: usize,
    },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom { frame, room } => write!(
                f,
                "a frame of {frame} bytes for a reader with room for {room}: cannot allocate memory"
            ),
            Self::Coalesced { surplus } => {
                write!(
                    f,
                    "{surplus} bytes of the next message in the frame of the one before"
                )
            }
            Self::TooManyFrames => write!(f, "a message in more than {MAX_FRAMES} frames"),
            Self::BodyTooLarge { length } => write!(f, "a message body of {length} bytes"),
        }
    }
}

/// The reading side of one mux stream, as the runtime has it.
#[derive(Debug)]
pub struct ReaderRule {
    header: [u8; MESSAGE_HEADER],
    /// Bytes of `header` that have arrived.
    header_len: usize,
    /// Bytes of the body that are still to come, once the header is whole.
    body_left: usize,
    /// Frames of the current message so far.
    frames: usize,
}

impl Default for ReaderRule {
    fn default() -> Self {
        Self::new()
    }
}

impl ReaderRule {
    /// A reader that waits for the first byte of a message.
    pub fn new() -> Self {
        Self {
            header: [0; MESSAGE_HEADER],
            header_len: 0,
            body_left: 0,
            frames: 0,
        }
    }

    /// Takes one frame and returns the header of the message that ended with it, if one did.
    ///
    /// # Errors
    ///
    /// What the frame broke; the reader must not be used afterwards.
    pub fn accept(&mut self, frame: &[u8]) -> Result<Option<MessageHeader>, Breach> {
        if frame.is_empty() {
            return Ok(None);
        }
        let room = self.room();
        if frame.len() > room {
            return Err(Breach::NoRoom {
                frame: frame.len(),
                room,
            });
        }
        self.frames += 1;
        if self.frames > MAX_FRAMES {
            return Err(Breach::TooManyFrames);
        }
        let rest = self.take_header(frame)?;
        let body = rest.len().min(self.body_left);
        self.body_left -= body;
        if self.header_len < MESSAGE_HEADER || self.body_left > 0 {
            return Ok(None);
        }
        match rest.len() - body {
            0 => {
                let header = MessageHeader::parse(&self.header);
                *self = Self::new();
                Ok(Some(header))
            }
            surplus => Err(Breach::Coalesced { surplus }),
        }
    }

    /// Bytes that the runtime's reader asks its mux for next: a long body is read in place, all
    /// else through the buffer.
    fn room(&self) -> usize {
        READ_BUFFER.max(self.body_left)
    }

    /// Takes what the frame holds of the header and returns the rest of the frame.
    fn take_header<'a>(&mut self, frame: &'a [u8]) -> Result<&'a [u8], Breach> {
        if self.header_len == MESSAGE_HEADER {
            return Ok(frame);
        }
        let wanted = (MESSAGE_HEADER - self.header_len).min(frame.len());
        let (head, rest) = frame.split_at(wanted);
        self.header[self.header_len..self.header_len + wanted].copy_from_slice(head);
        self.header_len += wanted;
        if self.header_len == MESSAGE_HEADER {
            self.body_left = MessageHeader::parse(&self.header).length;
            if self.body_left > MAX_BODY {
                return Err(Breach::BodyTooLarge {
                    length: self.body_left,
                });
            }
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: usize) -> Vec<u8> {
        let length = u32::try_from(body).unwrap();
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 1, 2, 0]);
        bytes.resize(MESSAGE_HEADER + body, 0xAA);
        bytes
    }

    fn ends(rule: &mut ReaderRule, frame: &[u8]) -> bool {
        rule.accept(frame).unwrap().is_some()
    }

    #[test]
    fn one_frame_serves_up_to_the_size_of_the_buffer() {
        let mut rule = ReaderRule::new();
        for body in [0, 1, 100, READ_BUFFER - MESSAGE_HEADER] {
            assert!(ends(&mut rule, &message(body)), "body of {body} bytes");
        }
    }

    #[test]
    fn one_byte_more_finds_no_room() {
        let whole = message(READ_BUFFER - MESSAGE_HEADER + 1);
        assert_eq!(
            ReaderRule::new().accept(&whole),
            Err(Breach::NoRoom {
                frame: READ_BUFFER + 1,
                room: READ_BUFFER
            })
        );
    }

    #[test]
    fn header_and_body_in_frames_of_their_own_serve_at_every_size() {
        for body in [1, 4085, 4086, 4087, 4095, 4096, 4097, 65_536, MAX_BODY] {
            let whole = message(body);
            let (head, rest) = whole.split_at(MESSAGE_HEADER);
            let mut rule = ReaderRule::new();
            assert!(!ends(&mut rule, head), "header of a body of {body} bytes");
            assert!(ends(&mut rule, rest), "body of {body} bytes");
        }
    }

    #[test]
    fn a_full_buffer_and_the_rest_is_how_the_reference_writes() {
        for body in [4087, 8192, 65_536, MAX_BODY] {
            let whole = message(body);
            let (first, rest) = whole.split_at(READ_BUFFER);
            let mut rule = ReaderRule::new();
            assert!(!ends(&mut rule, first));
            assert!(ends(&mut rule, rest), "body of {body} bytes");
        }
    }

    #[test]
    fn a_long_rest_behind_a_short_start_finds_no_room_only_when_it_must_be_buffered() {
        let whole = message(5000);
        let mut rule = ReaderRule::new();
        assert!(!ends(&mut rule, &whole[..4]));
        assert_eq!(
            rule.accept(&whole[4..]),
            Err(Breach::NoRoom {
                frame: 5006,
                room: READ_BUFFER
            })
        );
    }

    #[test]
    fn a_frame_with_parts_of_two_messages_is_refused() {
        let mut two = message(3);
        two.extend(message(1));
        assert_eq!(
            ReaderRule::new().accept(&two),
            Err(Breach::Coalesced { surplus: 11 })
        );
    }

    #[test]
    fn a_third_frame_of_one_message_is_refused() {
        let whole = message(30);
        let mut rule = ReaderRule::new();
        assert!(!ends(&mut rule, &whole[..10]));
        assert!(!ends(&mut rule, &whole[10..20]));
        assert_eq!(rule.accept(&whole[20..]), Err(Breach::TooManyFrames));
    }

    #[test]
    fn empty_frames_are_harmless() {
        let mut rule = ReaderRule::new();
        assert_eq!(rule.accept(&[]), Ok(None));
        assert!(ends(&mut rule, &message(2)));
    }

    #[test]
    fn a_claim_above_the_limit_is_refused_at_the_header() {
        let header = message(0);
        let claim = u32::try_from(MAX_BODY + 1).unwrap().to_be_bytes();
        let frame: Vec<u8> = claim.iter().chain(&header[4..]).copied().collect();
        assert_eq!(
            ReaderRule::new().accept(&frame),
            Err(Breach::BodyTooLarge {
                length: MAX_BODY + 1
            })
        );
    }
}
