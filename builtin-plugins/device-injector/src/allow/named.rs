//! Which values of the protocol a pod may ask for.

use std::str::FromStr;

use nri_plugin_api::protobuf::Enum;

use super::{ANY, AllowList, RuleError};
use crate::names;

/// A rule of `allow_io_priorities` and its like.
#[derive(Debug)]
pub(crate) enum NamedRule<E> {
    /// `*`.
    Any,
    /// One value.
    One(E),
}

impl<E: Enum> FromStr for NamedRule<E> {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text == ANY {
            return Ok(Self::Any);
        }
        names::parse(text).map(Self::One).map_err(RuleError::Name)
    }
}

impl<E: Enum> AllowList<NamedRule<E>> {
    /// Whether a pod may have this value.
    pub(crate) fn allow(&self, value: E) -> bool {
        self.rules.iter().any(|rule| match rule {
            NamedRule::Any => true,
            NamedRule::One(one) => *one == value,
        })
    }
}
