//! Protobuf messages as bytes: walked, renumbered and checked, never decoded into objects.
//!
//! Requests and replies pass the host as the bytes that came, so that a component may use fields
//! that the host was not built with. What the host must know of them is read here.

use thiserror::Error;

/// Longest tag, and longest length, of a field in bytes.
const MAX_SHORT_NUMBER: usize = 5;

/// Why bytes are not the message that they should be.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end in the middle of a field.
    #[error("the message is cut off")]
    Truncated,
    /// A number has more than ten bytes, five in a tag or length, or does not fit 64 bits.
    #[error("a number is too long")]
    LongNumber,
    /// Field number 0, or one past the largest.
    #[error("field number {0} is not allowed")]
    FieldNumber(u64),
    /// A wire type that proto3 does not have.
    #[error("field {field} has wire type {wire_type}")]
    WireType {
        /// Number of the field.
        field: u32,
        /// The wire type.
        wire_type: u8,
    },
    /// A field has another kind of value than its message defines.
    #[error("field {field} of {message} has a value of the wrong kind")]
    WrongKind {
        /// Name of the message.
        message: &'static str,
        /// Number of the field.
        field: u32,
    },
    /// A number is larger than its field can hold. Most decoders would take some of its bits.
    #[error("field {field} of {message} does not fit 32 bits")]
    OutOfRange {
        /// Name of the message.
        message: &'static str,
        /// Number of the field.
        field: u32,
    },
    /// A string is not UTF-8.
    #[error("field {field} of {message} is not UTF-8")]
    NotUtf8 {
        /// Name of the message.
        message: &'static str,
        /// Number of the field.
        field: u32,
    },
    /// Nested deeper than any message of the protocol.
    #[error("the message is nested too deeply")]
    TooDeep,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire types 1 and 5.
    Fixed,
    /// Wire type 2.
    Bytes(&'a [u8]),
}

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its number.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
    /// Tag and value as they stand in the message.
    pub encoded: &'a [u8],
}

impl Field<'_> {
    /// Length of the value as it stands in the message, in bytes.
    pub(super) fn value_len(&self) -> usize {
        let tag = self.encoded.iter().take_while(|byte| **byte & 0x80 != 0);
        self.encoded.len() - tag.count() - 1
    }
}

/// The fields of a message, in order. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Walks `message`.
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<Field<'a>, Malformed> {
        let start = self.rest;
        let tag = self.short_varint()?;
        let number = u32::try_from(tag >> 3)
            .ok()
            .filter(|number| (1..1 << 29).contains(number))
            .ok_or(Malformed::FieldNumber(tag >> 3))?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let len = self.short_varint()?;
                let len = usize::try_from(len).map_err(|_| Malformed::Truncated)?;
                Value::Bytes(self.take(len)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            wire_type => {
                let wire_type = u8::try_from(wire_type).expect("three bits");
                return Err(Malformed::WireType {
                    field: number,
                    wire_type,
                });
            }
        };
        let encoded = &start[..start.len() - self.rest.len()];
        Ok(Field {
            number,
            value,
            encoded,
        })
    }

    /// A number of 32 bits. Not every decoder reads past the five bytes that these take.
    fn short_varint(&mut self) -> Result<u64, Malformed> {
        let before = self.rest.len();
        let number = self.varint()?;
        if before - self.rest.len() > MAX_SHORT_NUMBER {
            return Err(Malformed::LongNumber);
        }
        Ok(number)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for (index, byte) in self.rest.iter().enumerate() {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                return Err(Malformed::LongNumber);
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
            if index == 9 {
                return Err(Malformed::LongNumber);
            }
        }
        Err(Malformed::Truncated)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The last value of field `number` if it holds bytes, as protobuf readers take it.
///
/// `None` as well when the message is malformed before a value is found.
pub fn bytes_field(message: &[u8], number: u32) -> Option<&[u8]> {
    bytes_fields(message, number).last()
}

/// All values of field `number` that hold bytes, up to where the message is malformed.
pub(super) fn bytes_fields(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    Fields::of(message)
        .map_while(Result::ok)
        .filter(move |field| field.number == number)
        .filter_map(|field| match field.value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        })
}

/// Like [`bytes_field`], for a string; empty if there is none.
pub fn text_field(message: &[u8], number: u32) -> &str {
    bytes_field(message, number)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .unwrap_or_default()
}

/// The text that `key` has in field `number`, a map; empty if there is none.
pub fn map_text<'a>(message: &'a [u8], number: u32, key: &str) -> &'a str {
    let entries = bytes_fields(message, number);
    let found = entries.filter(|entry| text_field(entry, 1) == key).last();
    found.map(|entry| text_field(entry, 2)).unwrap_or_default()
}

/// Turns a `StateChangeEvent` into the number of its event and the request that it stands for.
///
/// The pod moves from field 2 to 1, the container from 3 to 2: so they stand in every request.
///
/// # Errors
///
/// When the message is malformed.
pub fn split_state_change(message: &[u8]) -> Result<(u32, Vec<u8>), Malformed> {
    let mut event = 0;
    let mut request = Vec::with_capacity(message.len());
    for field in Fields::of(message) {
        let field = field?;
        match (field.number, field.value) {
            (1, Value::Varint(number)) => event = u32::try_from(number).unwrap_or(u32::MAX),
            (2 | 3, Value::Bytes(_)) => {
                // Tags of fields below 16 are one byte, so the next lower number is 8 less.
                request.push(field.encoded[0] - 8);
                request.extend_from_slice(&field.encoded[1..]);
            }
            _ => {}
        }
    }
    Ok((event, request))
}

/// A chunk of Synchronize.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// There is more to come.
    pub more: bool,
    /// The chunk without saying so, in pieces.
    ///
    /// Protobuf merges repeated fields of concatenated messages, so the pieces of all chunks, one
    /// after the other, are the whole message.
    pub pieces: Vec<&'a [u8]>,
}

impl<'a> Chunk<'a> {
    /// Reads a chunk.
    ///
    /// # Errors
    ///
    /// When the message is malformed.
    pub fn read(chunk: &'a [u8]) -> Result<Self, Malformed> {
        const MORE: u32 = 3;
        let mut more = false;
        let mut pieces = Vec::new();
        let mut rest_from = 0;
        let mut at = 0;
        for field in Fields::of(chunk) {
            let field = field?;
            if let (MORE, Value::Varint(value)) = (field.number, field.value) {
                more = value != 0;
                pieces.push(&chunk[rest_from..at]);
                rest_from = at + field.encoded.len();
            }
            at += field.encoded.len();
        }
        pieces.push(&chunk[rest_from..]);
        Ok(Self { more, pieces })
    }
}

/// The adjustment in a `CreateContainerResponse` sets a sysctl.
pub fn adjusts_sysctl(response: &[u8]) -> bool {
    const ADJUST: u32 = 1;
    const LINUX: u32 = 6;
    const SYSCTL: u32 = 8;
    nested(response, ADJUST)
        .flat_map(|adjust| nested(adjust, LINUX))
        .any(|linux| nested(linux, SYSCTL).next().is_some())
}

fn nested(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    Fields::of(message)
        .map_while(Result::ok)
        .filter(move |field| field.number == number)
        .filter_map(|field| match field.value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::api;
    use proptest::prelude::*;
    use protobuf::Message as _;

    use super::*;

    fn pod(name: &str) -> api::PodSandbox {
        let mut pod = api::PodSandbox::new();
        pod.name = name.into();
        pod.annotations.insert("key".into(), "value".into());
        pod
    }

    #[test]
    fn a_state_change_becomes_the_request_that_it_stands_for() {
        let mut event = api::StateChangeEvent::new();
        event.event = api::Event::POST_START_CONTAINER.into();
        event.pod = Some(pod("p")).into();
        event.container.mut_or_insert_default().name = "c".into();
        let (number, request) = split_state_change(&event.write_to_bytes().unwrap()).unwrap();
        assert_eq!(number, 7);
        let request = api::PostStartContainerRequest::parse_from_bytes(&request).unwrap();
        assert_eq!(request.pod, event.pod);
        assert_eq!(request.container, event.container);
    }

    #[test]
    fn chunks_of_synchronize_join_to_the_whole_message() {
        let mut joined = Vec::new();
        for (name, more) in [("a", true), ("b", true), ("c", false)] {
            let chunk = api::SynchronizeRequest {
                pods: vec![pod(name)],
                more,
                ..Default::default()
            };
            let bytes = chunk.write_to_bytes().unwrap();
            let chunk = Chunk::read(&bytes).unwrap();
            assert_eq!(chunk.more, more);
            joined.extend(chunk.pieces.concat());
        }
        let whole = api::SynchronizeRequest::parse_from_bytes(&joined).unwrap();
        let names: Vec<&str> = whole.pods.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert!(!whole.more);
    }

    #[test]
    fn a_field_of_the_wrong_kind_does_not_say_whether_there_is_more() {
        let more = [0x18, 1];
        let more_as_bytes = [0x1a, 1, 0];
        let bytes = [&more[..], &more_as_bytes].concat();
        let chunk = Chunk::read(&bytes).unwrap();
        assert!(chunk.more);
        assert_eq!(chunk.pieces.concat(), more_as_bytes);
    }

    #[test]
    fn names_are_read_from_a_request_without_decoding_it() {
        let mut request = api::CreateContainerRequest::new();
        request.pod = Some(pod("web")).into();
        let bytes = request.write_to_bytes().unwrap();
        let pod = bytes_field(&bytes, 1).unwrap();
        assert_eq!(text_field(pod, 2), "web");
        assert_eq!(text_field(pod, 4), "");
    }

    #[test]
    fn a_sysctl_in_an_adjustment_is_seen() {
        let mut response = api::CreateContainerResponse::new();
        let adjust = response.adjust.mut_or_insert_default();
        adjust.annotations.insert("a".into(), "b".into());
        assert!(!adjusts_sysctl(&response.write_to_bytes().unwrap()));
        let linux = response
            .adjust
            .mut_or_insert_default()
            .linux
            .mut_or_insert_default();
        linux.sysctl.insert("net.core.somaxconn".into(), "1".into());
        assert!(adjusts_sysctl(&response.write_to_bytes().unwrap()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            if let Ok(chunk) = Chunk::read(&bytes) {
                prop_assert!(chunk.pieces.concat().len() <= bytes.len());
            }
            if let Ok((_, request)) = split_state_change(&bytes) {
                prop_assert!(request.len() <= bytes.len());
            }
        }
    }
}
