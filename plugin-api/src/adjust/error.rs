//! What cannot be asked of a runtime.

use std::fmt;

/// What an entry of an adjustment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Item {
    /// An annotation, by key.
    Annotation,
    /// An environment variable, by name.
    Env,
    /// A mount, by destination.
    Mount,
    /// A device node, by path.
    Device,
    /// A CDI device, by qualified name.
    CdiDevice,
    /// An update of another container, by id.
    Update,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Annotation => "annotation",
            Self::Env => "environment variable",
            Self::Mount => "mount",
            Self::Device => "device",
            Self::CdiDevice => "CDI device",
            Self::Update => "update of container",
        })
    }
}

/// Something that the runtime would refuse, or understand as something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdjustmentError {
    /// The name is empty.
    #[error("{item} without a name")]
    Unnamed {
        /// What has no name.
        item: Item,
    },
    /// The name starts with `-`, which would make it a removal.
    #[error("{item} {name:?} starts with '-': the runtime would take it for a removal")]
    RemovalMarker {
        /// What was to be added or removed.
        item: Item,
        /// Its name.
        name: String,
    },
    /// The same thing twice: a runtime lets each be set once.
    #[error("{item} {name:?} is set twice")]
    SetTwice {
        /// What was to be set.
        item: Item,
        /// Its name.
        name: String,
    },
    /// An environment variable whose name cannot be one.
    #[error("environment variable {name:?} has '=' or NUL in its name")]
    EnvName {
        /// The name.
        name: String,
    },
    /// A CDI device whose name is not of the form `vendor.com/class=name`.
    #[error("CDI device {name:?} is not of the form vendor/class=name")]
    CdiName {
        /// The name.
        name: String,
    },
    /// The container that is being created cannot be updated at the same time.
    #[error("container {id:?} is being created: it can be adjusted, not updated")]
    UpdateOfCreated {
        /// The id of the container.
        id: String,
    },
}

/// Checks a name that an entry is found by.
pub(super) fn check_name(item: Item, name: &str) -> Result<(), AdjustmentError> {
    if name.is_empty() {
        return Err(AdjustmentError::Unnamed { item });
    }
    if name.starts_with('-') {
        return Err(AdjustmentError::RemovalMarker {
            item,
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Refuses a name that is set already.
pub(super) fn check_new<'a>(
    item: Item,
    name: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> Result<(), AdjustmentError> {
    if names.any(|other| other == name) {
        return Err(AdjustmentError::SetTwice {
            item,
            name: name.to_owned(),
        });
    }
    Ok(())
}
