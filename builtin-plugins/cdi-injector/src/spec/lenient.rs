//! What other readers of CDI files take, and serde would not.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// `null` is the same as an absent field.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// `0666`, `0o666` and `438` are the same.
pub(super) fn permission_bits<'de, D>(deserializer: D) -> Result<Option<u32>, D::Error>
where
    D: Deserializer<'de>,
{
    let bits: Option<Bits> = Option::deserialize(deserializer)?;
    Ok(bits.map(|Bits(bits)| bits))
}

struct Bits(u32);

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BitsVisitor)
    }
}

struct BitsVisitor;

impl Visitor<'_> for BitsVisitor {
    type Value = Bits;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("permission bits, such as 0666")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Bits, E> {
        let bits = u32::try_from(number);
        bits.map(Bits)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Bits, E> {
        let bits = u32::try_from(number);
        bits.map(Bits)
            .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    /// The parser hands over numbers with a leading zero as text.
    fn visit_str<E: Error>(self, text: &str) -> Result<Bits, E> {
        let digits = text
            .strip_prefix('0')
            .filter(|digits| !digits.starts_with('+'));
        let bits = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
        bits.map(Bits)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
