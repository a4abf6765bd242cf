//! Values of the protocol that are there or not, apart from being zero.

use protobuf::MessageField;

use crate::api;

/// A message field that is set.
pub(super) fn some<M>(message: M) -> MessageField<M> {
    MessageField::some(message)
}

pub(super) fn int(value: i64) -> MessageField<api::OptionalInt> {
    some(api::OptionalInt {
        value,
        ..Default::default()
    })
}

pub(super) fn int64(value: i64) -> MessageField<api::OptionalInt64> {
    some(api::OptionalInt64 {
        value,
        ..Default::default()
    })
}

pub(super) fn uint32(value: u32) -> MessageField<api::OptionalUInt32> {
    some(api::OptionalUInt32 {
        value,
        ..Default::default()
    })
}

pub(super) fn uint64(value: u64) -> MessageField<api::OptionalUInt64> {
    some(api::OptionalUInt64 {
        value,
        ..Default::default()
    })
}

pub(super) fn boolean(value: bool) -> MessageField<api::OptionalBool> {
    some(api::OptionalBool {
        value,
        ..Default::default()
    })
}

pub(super) fn string(value: impl Into<String>) -> MessageField<api::OptionalString> {
    some(api::OptionalString {
        value: value.into(),
        ..Default::default()
    })
}
