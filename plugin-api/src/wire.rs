//! Reads the protobuf wire format without building messages.
//!
//! Only what the lazy requests need: a walk over the fields of one message. Whatever the full
//! decoder accepts is accepted here, too.

/// Why an encoded message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A field is longer than the message that it is in.
    #[error("the message ends inside a field")]
    Truncated,
    /// A number does not fit its type.
    #[error("a number in the message is too long")]
    Number,
    /// A field has the number 0 or an unknown wire type, or a group ends that never began.
    #[error("the message has an impossible field tag {tag:#x}")]
    Tag {
        /// The tag: field number times 8 plus wire type.
        tag: u32,
    },
    /// A text is not UTF-8.
    #[error("a text in the message is not UTF-8")]
    Text,
    /// Groups are nested too deeply.
    #[error("the message is nested too deeply")]
    Depth,
    /// The message has the shape of the protocol, but cannot be decoded in full.
    #[error("the message cannot be decoded in full")]
    Message,
}

/// How deeply groups may be nested; NRI has none.
const MAX_GROUP_DEPTH: u32 = 100;

/// The value of a field, as far as the wire format tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Fixed-width numbers and groups: NRI has none.
    Skipped,
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    pub(crate) value: Value<'a>,
}

/// The fields of an encoded message in order. Ends after the first error.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Malformed> {
        // Nearly all tags and lengths have one byte.
        if let [byte @ 0..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for (i, &byte) in self.rest.iter().take(10).enumerate() {
            if i == 9 && byte > 1 {
                return Err(Malformed::Number);
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 {
            Malformed::Truncated
        } else {
            Malformed::Number
        })
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads one field. `None` is the end of a group, if one is open.
    fn field(&mut self, depth: u32) -> Result<Option<Field<'a>>, Malformed> {
        let tag = u32::try_from(self.varint()?).map_err(|_| Malformed::Number)?;
        let number = tag >> 3;
        if number == 0 {
            return Err(Malformed::Tag { tag });
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Skipped)?,
            2 => {
                // What does not fit is longer than the message in any case.
                let len = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                Value::Bytes(self.take(len)?)
            }
            3 if depth == MAX_GROUP_DEPTH => return Err(Malformed::Depth),
            3 => {
                while self.field(depth + 1)?.is_some() {}
                Value::Skipped
            }
            4 if depth > 0 => return Ok(None),
            5 => self.take(4).map(|_| Value::Skipped)?,
            _ => return Err(Malformed::Tag { tag }),
        };
        Ok(Some(Field { number, value }))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self
            .field(0)
            .map(|field| field.expect("no group is open at depth 0"));
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The length-delimited fields with this number, of a message that was checked before.
pub(crate) fn bytes_fields(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> + Clone {
    Fields::new(message)
        .map_while(Result::ok)
        .filter_map(move |field| match field.value {
            Value::Bytes(bytes) if field.number == number => Some(bytes),
            _ => None,
        })
}

/// The text of bytes that were checked before.
pub(crate) fn checked_text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default()
}

/// Reads bytes as text.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    str::from_utf8(bytes).map_err(|_| Malformed::Text)
}

/// Key and value of a `map<string, string>` entry, if it is written as all encoders do it: both
/// fields, in order, shorter than 128 bytes.
fn plain_entry(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let [0x0a, len @ 0..0x80, rest @ ..] = entry else {
        return None;
    };
    let (key, rest) = rest.split_at_checked(usize::from(*len))?;
    let [0x12, len @ 0..0x80, value @ ..] = rest else {
        return None;
    };
    (value.len() == usize::from(*len)).then_some((key, value))
}

/// Key and value of a `map<string, string>` entry that was checked before.
pub(crate) fn map_entry(entry: &[u8]) -> (&[u8], &[u8]) {
    if let Some(plain) = plain_entry(entry) {
        return plain;
    }
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    for field in Fields::new(entry).map_while(Result::ok) {
        match (field.number, field.value) {
            (1, Value::Bytes(bytes)) => key = bytes,
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    (key, value)
}

/// Checks an entry of a `map<string, string>`.
pub(crate) fn check_map_entry(entry: &[u8]) -> Result<(), Malformed> {
    if entry.is_ascii() && plain_entry(entry).is_some() {
        return Ok(());
    }
    for field in Fields::new(entry) {
        let field = field?;
        if let (1 | 2, Value::Bytes(bytes)) = (field.number, field.value) {
            text(bytes)?;
        }
    }
    Ok(())
}
