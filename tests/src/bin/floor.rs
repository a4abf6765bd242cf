//! The least that an NRI plugin can be: one thread, a blocking socket, answers
//! made beforehand, no library but std. The bench measures against it, since
//! no plugin can be faster.
//!
//! `floor SOCKET INDEX NAME [EVENTS]` serves until the runtime closes the
//! connection. EVENTS is the mask of events that it subscribes to, by default
//! that of CreateContainer.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

/// Mux streams: the plugin serves on the first, calls on the second.
const PLUGIN_SERVICE: u32 = 1;
const RUNTIME_SERVICE: u32 = 2;

/// ttrpc message types.
const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;

/// The event in a subscription's mask.
const CREATE_CONTAINER: u16 = 1 << 3;

const MUX_HEADER: usize = 8;
const TTRPC_HEADER: usize = 10;

/// Bodies of answers: encoded ttrpc `Response`s, whose field 2 is the payload.
const EMPTY: &[u8] = &[];
/// `SynchronizeResponse.more`, the answer to each chunk but the last.
const MORE: &[u8] = &[0x12, 2, 0x10, 1];

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, socket, index, name, events @ ..] = args.as_slice() else {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "usage: floor SOCKET INDEX NAME [EVENTS]",
        ));
    };
    let events = match events.first() {
        None => CREATE_CONTAINER,
        Some(mask) => mask
            .parse()
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?,
    };
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(&register(name, index))?;
    serve(stream, &subscription(events))
}

/// The call of `Runtime.RegisterPlugin`, with its frame.
fn register(name: &str, index: &str) -> Vec<u8> {
    let payload = [field(1, name.as_bytes()), field(2, index.as_bytes())].concat();
    let body = [
        field(1, b"nri.pkg.api.v1alpha1.Runtime"),
        field(2, b"RegisterPlugin"),
        field(3, &payload),
    ]
    .concat();
    framed(RUNTIME_SERVICE, 1, REQUEST, &body)
}

/// The body that answers Configure: `ConfigureResponse.events`.
fn subscription(events: u16) -> Vec<u8> {
    let (low, middle, high) = (events & 0x7f, events >> 7 & 0x7f, events >> 14);
    let varint = [low | 0x80, middle | 0x80, high].map(|part| part.to_le_bytes()[0]);
    field(2, &[&[2 << 3][..], &varint].concat())
}

/// Reads requests and answers each, in one write, until the connection ends.
fn serve(mut stream: UnixStream, subscription: &[u8]) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut filled = 0;
    let mut messages = Vec::new();
    loop {
        match stream.read(&mut buffer[filled..])? {
            0 => return Ok(()),
            count => filled += count,
        }
        let used = unframe(&buffer[..filled], &mut messages);
        buffer.copy_within(used..filled, 0);
        filled -= used;
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        while let Some(length) = complete(&messages) {
            let request = u32::from_be_bytes([messages[4], messages[5], messages[6], messages[7]]);
            let body = answer(&messages[TTRPC_HEADER..length], subscription);
            stream.write_all(&framed(PLUGIN_SERVICE, request, RESPONSE, body))?;
            messages.drain(..length);
        }
    }
}

/// Appends what whole frames carry for our service to `messages`, drops the
/// rest (the answer to our own call), and returns how many bytes were used.
fn unframe(bytes: &[u8], messages: &mut Vec<u8>) -> usize {
    let mut used = 0;
    while let Some(header) = bytes[used..].first_chunk::<MUX_HEADER>() {
        let stream = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
        let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let Some(payload) = bytes.get(used + MUX_HEADER..used + MUX_HEADER + length) else {
            break;
        };
        if stream == PLUGIN_SERVICE {
            messages.extend_from_slice(payload);
        }
        used += MUX_HEADER + length;
    }
    used
}

/// The length of the first message with its header, once all of it is there.
fn complete(messages: &[u8]) -> Option<usize> {
    let header = messages.first_chunk::<TTRPC_HEADER>()?;
    let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
    (messages.len() >= TTRPC_HEADER + length).then_some(TTRPC_HEADER + length)
}

/// The body of the answer to an encoded ttrpc `Request`.
fn answer<'a>(request: &[u8], subscription: &'a [u8]) -> &'a [u8] {
    match find(request, 2) {
        Some(b"Configure") => subscription,
        Some(b"Synchronize") if has_more(find(request, 3).unwrap_or_default()) => MORE,
        _ => EMPTY,
    }
}

/// Whether `SynchronizeRequest.more`, its last field, is set.
fn has_more(request: &[u8]) -> bool {
    let mut rest = request;
    while let Some((_, _, after)) = split_field(rest) {
        rest = after;
    }
    rest == [0x18, 1]
}

/// The bytes of the first field with this number, in a message whose fields are
/// all length-delimited up to there.
fn find(message: &[u8], number: u8) -> Option<&[u8]> {
    let mut rest = message;
    while let Some((found, value, after)) = split_field(rest) {
        if found == number {
            return Some(value);
        }
        rest = after;
    }
    None
}

/// Splits one length-delimited field with a number below 16 off: its number, its
/// value, and the rest.
fn split_field(message: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, mut rest) = message.split_first()?;
    if tag & 7 != 2 {
        return None;
    }
    let mut length = 0;
    for shift in (0..28).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    let (value, rest) = rest.split_at_checked(length)?;
    Some((tag >> 3, value, rest))
}

/// Encodes a length-delimited field of at most 127 bytes.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len())
        .ok()
        .filter(|length| *length < 0x80);
    let length = length.expect("names and payloads here are short");
    [&[number << 3 | 2, length], value].concat()
}

/// One message in one frame.
fn framed(stream: u32, request: u32, kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("bodies here are short");
    let mut bytes = Vec::with_capacity(MUX_HEADER + TTRPC_HEADER + body.len());
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(&(length + 10).to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&request.to_be_bytes());
    bytes.extend_from_slice(&[kind, 0]);
    bytes.extend_from_slice(body);
    bytes
}
