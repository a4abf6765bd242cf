//! Names of the protocol's values, such as `SCHED_FIFO`.

use std::fmt;

use nri_plugin_api::protobuf::Enum;

/// A text that is none of the names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {expected}, not {text:?}")]
pub(crate) struct UnknownName {
    expected: String,
    text: String,
}

/// Reads the name of a value. It must be the name as it is: the kernel's documentation knows no
/// other.
pub(crate) fn parse<E: Enum>(text: &str) -> Result<E, UnknownName> {
    E::from_str(text).ok_or_else(|| UnknownName {
        expected: join(E::VALUES),
        text: text.to_owned(),
    })
}

/// Values in one text.
pub(crate) fn join(values: &[impl fmt::Debug]) -> String {
    let names: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    names.join(", ")
}
