//! Builders for what a component asks of the runtime.
//!
//! They refuse what the runtime would refuse, where it is asked for: a runtime fails the whole
//! container over one key that is set twice. And they refuse names with a leading `-`, which in the
//! protocol are removals: an annotation of a user must not become one by accident.

mod error;
mod items;
mod update;

use crate::api;
use error::{check_name, check_new};

pub use error::{AdjustmentError, Item};
pub use items::{Device, DeviceKind, Mount};
pub use update::{ContainerUpdate, Updates};

/// Changes to a container that is being created, and updates of others.
///
/// Each thing can be set once. To replace a mount, device or variable that a plugin before this one
/// brought, remove and set it: `remove_mount("/data")`, then `add_mount(…)`.
///
/// ```
/// # use nri_plugin_api::{Adjustment, Device, DeviceKind};
/// let mut adjustment = Adjustment::new();
/// adjustment
///     .add_device(Device::new("/dev/fuse", DeviceKind::Character, 10, 229))?
///     .set_env("FUSE", "yes")?;
/// assert!(adjustment.set_env("FUSE", "no").is_err());
/// # Ok::<(), nri_plugin_api::AdjustmentError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjustment {
    adjust: api::ContainerAdjustment,
    updates: Updates,
}

/// The name of a removal.
fn removal(name: &str) -> String {
    format!("-{name}")
}

impl Adjustment {
    /// No change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.adjust == api::ContainerAdjustment::default() && self.updates.is_empty()
    }

    fn linux(&mut self) -> &mut api::LinuxContainerAdjustment {
        self.adjust.linux.mut_or_insert_default()
    }

    /// Adds a device node.
    ///
    /// # Errors
    ///
    /// The path is empty, starts with `-`, or is set already.
    pub fn add_device(&mut self, device: Device) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Device, &device.0.path)?;
        let devices = &mut self.linux().devices;
        check_new(
            Item::Device,
            &device.0.path,
            devices.iter().map(|d| d.path.as_str()),
        )?;
        devices.push(device.0);
        Ok(self)
    }

    /// Removes a device node that a plugin before this one added. Those of the container itself
    /// stay, runtimes do not hear of it.
    ///
    /// # Errors
    ///
    /// The path is empty or starts with `-`.
    pub fn remove_device(&mut self, path: &str) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Device, path)?;
        let path = removal(path);
        let devices = &mut self.linux().devices;
        if !devices.iter().any(|device| device.path == path) {
            devices.push(api::LinuxDevice {
                path,
                ..Default::default()
            });
        }
        Ok(self)
    }

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

    /// Removes a mount, by its destination inside the container.
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

    /// Adds a CDI device by its qualified name, as in `vendor.com/class=name`. It cannot be removed
    /// again.
    ///
    /// # Errors
    ///
    /// The name has another form, or is there already.
    pub fn add_cdi_device(
        &mut self,
        name: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let name = name.into();
        check_name(Item::CdiDevice, &name)?;
        if !is_qualified_cdi_name(&name) {
            return Err(AdjustmentError::CdiName { name });
        }
        let devices = &mut self.adjust.CDI_devices;
        check_new(
            Item::CdiDevice,
            &name,
            devices.iter().map(|d| d.name.as_str()),
        )?;
        devices.push(api::CDIDevice {
            name,
            ..Default::default()
        });
        Ok(self)
    }

    /// Sets an annotation of the container.
    ///
    /// # Errors
    ///
    /// The key is empty, starts with `-`, or is set already.
    pub fn set_annotation(
        &mut self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let key = key.into();
        check_name(Item::Annotation, &key)?;
        check_new(
            Item::Annotation,
            &key,
            self.adjust.annotations.keys().map(String::as_str),
        )?;
        self.adjust.annotations.insert(key, value.into());
        Ok(self)
    }

    /// Removes an annotation of the container.
    ///
    /// Not to be combined with [`Self::set_annotation`] of the same key: the two travel in one map,
    /// and runtimes apply them in no fixed order. An annotation that the container came with can be
    /// set without being removed.
    ///
    /// # Errors
    ///
    /// The key is empty or starts with `-`.
    pub fn remove_annotation(&mut self, key: &str) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Annotation, key)?;
        self.adjust.annotations.insert(removal(key), String::new());
        Ok(self)
    }

    /// Sets an environment variable.
    ///
    /// # Errors
    ///
    /// The name is empty, starts with `-`, holds `=` or NUL, or is set already.
    pub fn set_env(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let name = name.into();
        check_env_name(&name)?;
        check_new(
            Item::Env,
            &name,
            self.adjust.env.iter().map(|env| env.key.as_str()),
        )?;
        self.adjust.env.push(api::KeyValue {
            key: name,
            value: value.into(),
            ..Default::default()
        });
        Ok(self)
    }

    /// Removes an environment variable that a plugin before this one set. Those of the container
    /// itself stay, runtimes do not hear of it.
    ///
    /// # Errors
    ///
    /// The name is empty, starts with `-`, or holds `=` or NUL.
    pub fn remove_env(&mut self, name: &str) -> Result<&mut Self, AdjustmentError> {
        check_env_name(name)?;
        let key = removal(name);
        if !self.adjust.env.iter().any(|env| env.key == key) {
            self.adjust.env.push(api::KeyValue {
                key,
                ..Default::default()
            });
        }
        Ok(self)
    }

    /// Updates another container.
    ///
    /// # Errors
    ///
    /// The container has no id, or an update already.
    pub fn update(&mut self, update: ContainerUpdate) -> Result<&mut Self, AdjustmentError> {
        self.updates.add(update)?;
        Ok(self)
    }

    /// The changes as they go to the runtime.
    pub fn message(&self) -> &api::ContainerAdjustment {
        &self.adjust
    }

    /// The changes, to set what this builder has no method for. Nothing is checked.
    pub fn message_mut(&mut self) -> &mut api::ContainerAdjustment {
        &mut self.adjust
    }

    /// The updates of other containers.
    pub fn updates(&self) -> &Updates {
        &self.updates
    }

    /// The answer for the creation of this container.
    ///
    /// # Errors
    ///
    /// The container that is being created is among those to be updated.
    pub(crate) fn into_response(
        self,
        created: &str,
    ) -> Result<api::CreateContainerResponse, AdjustmentError> {
        let mut response = api::CreateContainerResponse::new();
        if self.adjust != api::ContainerAdjustment::default() {
            response.adjust = items::some(self.adjust);
        }
        response.update = self.updates.into_messages();
        if response
            .update
            .iter()
            .any(|update| update.container_id == created)
        {
            return Err(AdjustmentError::UpdateOfCreated {
                id: created.to_owned(),
            });
        }
        Ok(response)
    }
}

fn check_env_name(name: &str) -> Result<(), AdjustmentError> {
    check_name(Item::Env, name)?;
    if name.contains(['=', '\0']) {
        return Err(AdjustmentError::EnvName {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// Whether a name has the three parts of `vendor/class=device`.
fn is_qualified_cdi_name(name: &str) -> bool {
    let Some((kind, device)) = name.split_once('=') else {
        return false;
    };
    let Some((vendor, class)) = kind.split_once('/') else {
        return false;
    };
    !(vendor.is_empty() || class.is_empty() || device.is_empty())
}

#[cfg(test)]
mod tests;
