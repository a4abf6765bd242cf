//! ttrpc messages: the ten-byte header, and frames for what we send.
//!
//! The bodies are the message types of the `ttrpc` crate. The runtime reads a frame into a buffer of
//! 4096 bytes or fails, so a message goes out as one frame while it fits, else as a frame with just
//! the header and a frame with the whole body; never anything else, and never two messages in one.

use std::io::IoSlice;
use std::time::Duration;

use ttrpc::proto::{Code, Request, Response, Status};

use super::fields::{Fields, Malformed, Value};
use super::mux::FRAME_HEADER_LEN;

/// Length of a message's header in bytes.
pub const HEADER_LEN: usize = 10;
/// Largest body in bytes: 4 MiB.
pub const MAX_BODY: usize = 4 << 20;
/// Largest payload of a frame that holds a header and a body together, in bytes.
const MAX_JOINT_FRAME: usize = 4096;

/// The type byte of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// 1
    Request,
    /// 2
    Response,
    /// 3, or a type that is not known; unary calls have no use for either.
    Other(u8),
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the body in bytes, as claimed.
    pub body_len: usize,
    /// Number of the call; odd, and rising, for the calls of a client.
    pub stream_number: u32,
    /// Type byte.
    pub kind: MessageKind,
    /// Flag byte.
    pub flags: u8,
}

impl Header {
    /// Reads a header.
    pub fn decode(bytes: [u8; HEADER_LEN]) -> Self {
        let [l0, l1, l2, l3, s0, s1, s2, s3, kind, flags] = bytes;
        Self {
            body_len: u32::from_be_bytes([l0, l1, l2, l3]) as usize,
            stream_number: u32::from_be_bytes([s0, s1, s2, s3]),
            kind: match kind {
                1 => MessageKind::Request,
                2 => MessageKind::Response,
                other => MessageKind::Other(other),
            },
            flags,
        }
    }

    /// Writes a header.
    ///
    /// # Panics
    ///
    /// When the body's length does not fit 32 bits.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&be_length(self.body_len));
        bytes[4..8].copy_from_slice(&self.stream_number.to_be_bytes());
        bytes[8] = match self.kind {
            MessageKind::Request => 1,
            MessageKind::Response => 2,
            MessageKind::Other(other) => other,
        };
        bytes[9] = self.flags;
        bytes
    }
}

fn be_length(len: usize) -> [u8; 4] {
    u32::try_from(len)
        .expect("lengths are capped far below 4 GiB")
        .to_be_bytes()
}

/// A message in the frames that it is sent in.
#[derive(Debug)]
pub struct Outgoing {
    head: [u8; FRAME_HEADER_LEN + HEADER_LEN + FRAME_HEADER_LEN],
    head_len: usize,
    body: Vec<u8>,
}

impl Outgoing {
    /// The answer to call `stream_number`: a payload, or an error of the runtime's kind.
    ///
    /// A payload that makes the message larger than [`MAX_BODY`] becomes an error.
    pub fn response(mux_stream: u32, stream_number: u32, answer: Answer) -> Self {
        let mut response = Response::new();
        let status = response.status.mut_or_insert_default();
        match answer {
            Answer::Payload(payload) => {
                status.set_code(Code::OK);
                response.payload = payload;
            }
            Answer::Error { code, text } => {
                status.set_code(code);
                status.message = text;
            }
        }
        let mut body = encode(&response);
        if body.len() > MAX_BODY {
            let mut refused = Response::new();
            refused.status = Some(status_of(
                Code::RESOURCE_EXHAUSTED,
                format!("the answer has {} bytes, more than {MAX_BODY}", body.len()),
            ))
            .into();
            body = encode(&refused);
        }
        Self::message(mux_stream, stream_number, MessageKind::Response, body)
    }

    /// A call of ours, with number `stream_number`.
    pub fn request(mux_stream: u32, stream_number: u32, request: &Request) -> Self {
        Self::message(
            mux_stream,
            stream_number,
            MessageKind::Request,
            encode(request),
        )
    }

    /// The bytes to be written, in order.
    pub fn slices(&self) -> [IoSlice<'_>; 2] {
        [
            IoSlice::new(&self.head[..self.head_len]),
            IoSlice::new(&self.body),
        ]
    }

    fn message(mux_stream: u32, stream_number: u32, kind: MessageKind, body: Vec<u8>) -> Self {
        let header = Header {
            body_len: body.len(),
            stream_number,
            kind,
            flags: 0,
        }
        .encode();
        let joint = HEADER_LEN + body.len();
        let split = joint > MAX_JOINT_FRAME;
        let mut head = [0; FRAME_HEADER_LEN + HEADER_LEN + FRAME_HEADER_LEN];
        head[..4].copy_from_slice(&mux_stream.to_be_bytes());
        head[4..8].copy_from_slice(&be_length(if split { HEADER_LEN } else { joint }));
        head[8..18].copy_from_slice(&header);
        head[18..22].copy_from_slice(&mux_stream.to_be_bytes());
        head[22..].copy_from_slice(&be_length(body.len()));
        let head_len = if split {
            head.len()
        } else {
            FRAME_HEADER_LEN + HEADER_LEN
        };
        Self {
            head,
            head_len,
            body,
        }
    }
}

/// A message as bytes.
pub(super) fn encode(message: &impl protobuf::Message) -> Vec<u8> {
    message
        .write_to_bytes()
        .expect("encoding into memory fails only past 2 GiB")
}

/// A call of the runtime, read where it stands: its payload can be millions of bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct IncomingRequest<'a> {
    /// Name of the service.
    pub service: &'a str,
    /// Name of the method.
    pub method: &'a str,
    /// The encoded request message of the method.
    pub payload: &'a [u8],
    /// Time that is left for the answer, if the call says so.
    pub time: Option<Duration>,
}

impl<'a> IncomingRequest<'a> {
    /// Reads the body of a message, a `ttrpc.Request`.
    ///
    /// # Errors
    ///
    /// When it is malformed.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let text = |bytes: &'a [u8], field| {
            std::str::from_utf8(bytes).map_err(|_| Malformed::NotUtf8 {
                message: "Request",
                field,
            })
        };
        let mut request = Self::default();
        for field in Fields::of(body) {
            let field = field?;
            match (field.number, field.value) {
                (1, Value::Bytes(service)) => request.service = text(service, 1)?,
                (2, Value::Bytes(method)) => request.method = text(method, 2)?,
                (3, Value::Bytes(payload)) => request.payload = payload,
                // Negative or none: the runtime does not say.
                (4, Value::Varint(nanos)) => {
                    request.time = i64::try_from(nanos)
                        .ok()
                        .and_then(|nanos| u64::try_from(nanos).ok())
                        .filter(|nanos| *nanos > 0)
                        .map(Duration::from_nanos);
                }
                _ => {}
            }
        }
        Ok(request)
    }
}

/// What the runtime gets for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The encoded response message.
    Payload(Vec<u8>),
    /// An error.
    Error {
        /// Code of the error. `UNIMPLEMENTED` has a meaning of its own to runtimes.
        code: Code,
        /// What happened, for a person.
        text: String,
    },
}

impl Answer {
    /// The empty response message.
    pub const EMPTY: Self = Self::Payload(Vec::new());

    /// The method is not known here.
    pub fn unimplemented(service: &str, method: &str) -> Self {
        Self::Error {
            code: Code::UNIMPLEMENTED,
            text: format!("{service}/{method} is not known"),
        }
    }
}

/// A status with a code and a text.
fn status_of(code: Code, message: String) -> Status {
    let mut status = Status::new();
    status.set_code(code);
    status.message = message;
    status
}

#[cfg(test)]
mod tests {
    use protobuf::Message as _;

    use super::super::mux::{Inbound, PLUGIN_STREAM};
    use super::*;

    fn wire(outgoing: &Outgoing) -> Vec<u8> {
        outgoing.slices().iter().flat_map(|s| s.to_vec()).collect()
    }

    fn frame_lengths(mut wire: &[u8]) -> Vec<usize> {
        let mut lengths = Vec::new();
        while !wire.is_empty() {
            let len = u32::from_be_bytes(wire[4..8].try_into().unwrap()) as usize;
            lengths.push(len);
            wire = &wire[8 + len..];
        }
        lengths
    }

    #[test]
    fn messages_go_out_in_the_frames_that_the_runtime_can_read() {
        for payload in [
            0,
            1,
            4000,
            4069,
            4085,
            4086,
            4087,
            4088,
            65_536,
            MAX_BODY - 16,
        ] {
            let outgoing = Outgoing::response(PLUGIN_STREAM, 5, Answer::Payload(vec![7; payload]));
            let bytes = wire(&outgoing);
            let frames = frame_lengths(&bytes);
            match frames[..] {
                [joint] => assert!(joint <= MAX_JOINT_FRAME, "{payload}: {joint}"),
                [header, body] => {
                    assert_eq!(header, HEADER_LEN);
                    assert!(body + HEADER_LEN > MAX_JOINT_FRAME);
                }
                _ => panic!("{payload}: {frames:?}"),
            }
            let mut inbound = Inbound::new();
            inbound.push(&bytes).unwrap();
            let message = inbound.next_message().unwrap();
            assert_eq!(message.header.stream_number, 5);
            let response = Response::parse_from_bytes(&message.body).unwrap();
            assert_eq!(response.payload.len(), payload);
            assert_eq!(response.status.code(), Code::OK);
        }
    }

    #[test]
    fn a_request_is_read_as_the_crate_of_its_message_reads_it() {
        for timeout_nano in [0, -1, 1, 2_000_000_000, i64::MAX] {
            let request = Request {
                service: "a.Service".into(),
                method: "Call".into(),
                payload: vec![1, 2, 3],
                timeout_nano,
                ..Default::default()
            };
            let body = request.write_to_bytes().unwrap();
            let read = IncomingRequest::read(&body).unwrap();
            assert_eq!((read.service, read.method), ("a.Service", "Call"));
            assert_eq!(read.payload, [1, 2, 3]);
            let nanos = u64::try_from(timeout_nano).ok().filter(|nanos| *nanos > 0);
            assert_eq!(read.time, nanos.map(Duration::from_nanos));
        }
        assert!(matches!(
            IncomingRequest::read(&[0x0a, 5]),
            Err(Malformed::Truncated)
        ));
    }

    #[test]
    fn an_answer_past_the_limit_becomes_an_error() {
        let outgoing = Outgoing::response(PLUGIN_STREAM, 5, Answer::Payload(vec![0; MAX_BODY]));
        let mut inbound = Inbound::new();
        inbound.push(&wire(&outgoing)).unwrap();
        let response = Response::parse_from_bytes(&inbound.next_message().unwrap().body).unwrap();
        assert_eq!(response.status.code(), Code::RESOURCE_EXHAUSTED);
    }
}
