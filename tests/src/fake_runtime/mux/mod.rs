//! The mux of an NRI connection: two byte streams over one socket.
//!
//! Written for the tests alone, from the protocol: the host has a mux of its own, and a mistake that
//! both shared would never show.

pub mod rule;

mod cut;
mod reader;
mod record;
mod stream;
mod trunk;
mod writer;

#[cfg(test)]
mod tests;

pub use cut::Cut;
pub use record::{Direction, Frame, Record};
pub use stream::MuxStream;
pub use trunk::{End, Limits, PLUGIN_SERVICE, RUNTIME_SERVICE, Side, Streams, Trunk, Violation};

/// Length of a frame's header: the stream's id and the payload's length, big-endian.
pub const FRAME_HEADER: usize = 8;

/// Largest payload of a frame: a ttrpc message with its header.
pub const MAX_PAYLOAD: usize = rule::MAX_BODY + rule::MESSAGE_HEADER;

/// Encodes one frame.
///
/// # Panics
///
/// With a payload of 4 GiB and more, whose length the header cannot tell.
pub fn frame(stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("payloads are a few MiB at most");
    let mut bytes = Vec::with_capacity(FRAME_HEADER + payload.len());
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}
