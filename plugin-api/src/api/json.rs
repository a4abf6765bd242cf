//! What the `serde` attributes on the generated messages call.

use protobuf::{Enum, EnumOrUnknown, MessageField};
use serde::{Serialize, Serializer};

/// Whether a message field is not set.
pub(crate) fn is_absent<M>(field: &MessageField<M>) -> bool {
    field.is_none()
}

/// Whether a field has the value that the wire format leaves out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Serializes the message itself, not its container.
pub(crate) fn message<M: Serialize, S: Serializer>(
    field: &MessageField<M>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    field.as_ref().serialize(serializer)
}

/// A value by its name, or by its number if it is a newer one.
struct Named<'a, E: Enum>(&'a EnumOrUnknown<E>);

impl<E: Enum + Serialize> Serialize for Named<'_, E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.enum_value() {
            Ok(value) => value.serialize(serializer),
            Err(number) => serializer.serialize_i32(number),
        }
    }
}

/// Serializes an enum field.
pub(crate) fn enum_value<E: Enum + Serialize, S: Serializer>(
    value: &EnumOrUnknown<E>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Named(value).serialize(serializer)
}

/// Serializes a repeated enum field.
pub(crate) fn enum_values<E: Enum + Serialize, S: Serializer>(
    values: &[EnumOrUnknown<E>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(Named))
}
