//! The messages of NRI, generated from `proto/nri.proto`.
//!
//! Fields that this crate does not know are kept when a message is decoded and encoded again. With
//! the feature `serde` every message can be serialized: field names are those of the protocol,
//! fields with their default value are left out, enum values appear by name, and messages that only
//! wrap an optional value, such as [`OptionalInt64`], appear as that value.

#[cfg(feature = "serde")]
mod json;

#[expect(
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::semicolon_if_nothing_returned,
    reason = "generated code is not written for this project's lints"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/nri/mod.rs"));
}

pub use generated::nri::*;
