//! Mounts.

use super::error::{AdjustmentError, Item, check_name, check_new};
use super::{Adjustment, removal};
use crate::api;

/// A mount in a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount(api::Mount);

impl Mount {
    /// A mount of any file system type.
    pub fn new(
        kind: impl Into<String>,
        source: impl Into<String>,
        destination: impl Into<String>,
    ) -> Self {
        Self(api::Mount {
            type_: kind.into(),
            source: source.into(),
            destination: destination.into(),
            ..Default::default()
        })
    }

    /// Shows a file or folder of the host, with the mounts below it, inside the container.
    pub fn bind(source: impl Into<String>, destination: impl Into<String>) -> Self {
        Self::new("bind", source, destination).option("rbind")
    }

    /// Adds an option, such as `ro`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.0.options.push(option.into());
        self
    }

    /// Adds several options.
    #[must_use]
    pub fn options(mut self, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.options.extend(options.into_iter().map(Into::into));
        self
    }
}

impl Adjustment {
    /// Adds a mount.
    ///
    /// # Errors
    ///
    /// The destination is empty, starts with `-`, or is set already.
    pub fn add_mount(&mut self, mount: Mount) -> Result<&mut Self, AdjustmentError> {
        let mounts = &mut self.adjust.mounts;
        check_name(Item::Mount, &mount.0.destination)?;
        let destinations = mounts.iter().map(|m| m.destination.as_str());
        check_new(Item::Mount, &mount.0.destination, destinations)?;
        mounts.push(mount.0);
        Ok(self)
    }

    /// Removes a mount, by its destination inside the container. Before NRI 0.8 only one that a plugin
    /// before this one added.
    ///
    /// # Errors
    ///
    /// The destination is empty or starts with `-`.
    pub fn remove_mount(&mut self, destination: &str) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Mount, destination)?;
        let destination = removal(destination);
        if !self
            .adjust
            .mounts
            .iter()
            .any(|mount| mount.destination == destination)
        {
            self.adjust.mounts.push(api::Mount {
                destination,
                ..Default::default()
            });
        }
        Ok(self)
    }
}
