//! Components that are configured and not run.

use crate::config::{BrokenComponent, ComponentConfig};

/// See the module.
#[derive(Clone, Debug)]
pub enum Absent {
    /// Switched off.
    Disabled(Box<ComponentConfig>),
    /// Its configuration, its file or its code does not allow it.
    Broken {
        /// Its name, if it has one.
        name: Option<String>,
        /// Its index, if it has one.
        index: Option<u8>,
        /// The host is not ready without it.
        required: bool,
        /// Why.
        reason: String,
    },
}

impl From<&BrokenComponent> for Absent {
    fn from(broken: &BrokenComponent) -> Self {
        Self::Broken {
            name: broken.name.clone(),
            index: broken.index,
            required: broken.required,
            reason: broken.reason(),
        }
    }
}
