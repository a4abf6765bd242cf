//! The byte stream of a connection: frames, the messages in them, and the requests in those.
//!
//! The input begins with [`CUTS`] bytes that say how the socket cuts the rest. The messages must be
//! the same as without cuts, and never hold more than what came.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nri_host::runtime::fields::{Chunk, split_state_change};
use nri_host::runtime::mux::{Inbound, Message, MuxError, PLUGIN_STREAM, RUNTIME_STREAM};
use nri_host::runtime::ttrpc::{IncomingRequest, MAX_BODY};
use protobuf::Message as _;

/// How many bytes of the input are lengths of pieces, used in turn.
const CUTS: usize = 4;

fuzz_target!(|input: &[u8]| {
    let Some((cuts, wire)) = input.split_at_checked(CUTS) else {
        return;
    };
    let whole = read([wire]);
    let cut = read(Pieces {
        lengths: cuts.iter().cycle(),
        rest: wire,
    });
    assert_eq!(whole, cut);

    let (messages, _) = whole;
    let held: usize = messages.iter().map(|message| message.body.len()).sum();
    assert!(held <= wire.len());
    for message in &messages {
        assert!(matches!(message.stream, PLUGIN_STREAM | RUNTIME_STREAM));
        match message.oversized {
            true => assert!(message.body.is_empty() && message.header.body_len > MAX_BODY),
            false => assert_eq!(message.body.len(), message.header.body_len),
        }
        request(&message.body);
    }
});

/// All messages of a connection, and how it ended if it did.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Message>, Option<MuxError>) {
    let mut inbound = Inbound::new();
    let mut messages = Vec::new();
    for piece in pieces {
        let pushed = inbound.push(piece);
        messages.extend(std::iter::from_fn(|| inbound.next_message()));
        if let Err(error) = pushed {
            return (messages, Some(error));
        }
    }
    (messages, None)
}

/// A request is read as the crate of its message reads it, where that can.
fn request(body: &[u8]) {
    let Ok(read) = IncomingRequest::read(body) else {
        return;
    };
    if let Ok(request) = ttrpc::proto::Request::parse_from_bytes(body) {
        assert_eq!(read.service, request.service);
        assert_eq!(read.method, request.method);
        assert_eq!(read.payload, request.payload);
    }
    // What the host reads of payloads of its own accord.
    let _ = split_state_change(read.payload);
    let _ = Chunk::read(read.payload);
}

struct Pieces<'a, L> {
    lengths: L,
    rest: &'a [u8],
}

impl<'a, 'l, L: Iterator<Item = &'l u8>> Iterator for Pieces<'a, L> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let length = usize::from(*self.lengths.next()?) + 1;
        let (piece, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        Some(piece)
    }
}
