//! Builders for what a component asks of the runtime.
//!
//! They refuse what the runtime would refuse, where it is asked for: a runtime fails the whole
//! container over one key that is set twice. And they refuse names with a leading `-`, which in the
//! protocol are removals: an annotation of a user must not become one by accident.

mod command;
mod devices;
mod error;
mod hooks;
mod kernel;
mod limits;
mod memory_policy;
mod mounts;
mod rdt;
mod resources;
mod scheduling;
mod seccomp;
mod update;
mod values;

use crate::api;
use error::{check_name, check_new};

pub use devices::{Device, DeviceKind};
pub use error::{AdjustmentError, Item};
pub use hooks::{Hook, HookStage};
pub use kernel::NamespaceKind;
pub use limits::Rlimit;
pub use memory_policy::MemoryPolicy;
pub use mounts::Mount;
pub use rdt::Rdt;
pub use resources::{DeviceRule, Resources};
pub use scheduling::{IoPriority, Scheduler};
pub use seccomp::{SeccompPolicy, SeccompRule};
pub use update::{ContainerUpdate, Updates};

/// Changes to a container that is being created, and updates of others.
///
/// Each thing can be set once. To replace a mount, device or variable that a plugin before this one
/// brought, remove and set it: `remove_mount("/data")`, then `add_mount(…)`.
///
/// A runtime ignores what it does not know. These are the versions of NRI to look for in
/// `nri-host status` before relying on something; the rest is known to all:
///
/// | NRI | knows as well |
/// |---|---|
/// | 0.4 | limits of the first process ([`add_rlimit`](Self::add_rlimit)) |
/// | 0.7 | [CDI devices](Self::add_cdi_device) |
/// | 0.8 | removal of mounts of the container itself, OOM score, limit for tasks |
/// | 0.10 | command line, I/O priority, seccomp policy, namespaces, device rules |
/// | 0.11 | scheduler, kernel parameters, network devices, RDT |
/// | 0.12 | memory policy |
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
        let annotations = &mut self.adjust.annotations;
        check_new(
            Item::Annotation,
            &key,
            annotations.keys().map(String::as_str),
        )?;
        annotations.insert(key, value.into());
        Ok(self)
    }

    /// Removes an annotation of the container.
    ///
    /// Combined with [`Self::set_annotation`] of the same key it overrides what a plugin before this
    /// one set, but the two travel in one map, and runtimes apply them in no fixed order. An
    /// annotation that the container came with can be set without being removed.
    ///
    /// # Errors
    ///
    /// The key is empty or starts with `-`.
    pub fn remove_annotation(&mut self, key: &str) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Annotation, key)?;
        self.adjust.annotations.insert(removal(key), String::new());
        Ok(self)
    }

    /// Updates another container.
    ///
    /// # Errors
    ///
    /// As for [`Updates::add`].
    pub fn update(&mut self, update: ContainerUpdate) -> Result<&mut Self, AdjustmentError> {
        self.updates.add(update)?;
        Ok(self)
    }

    /// Evicts another container, see [`Updates::evict`].
    ///
    /// # Errors
    ///
    /// As for [`Updates::evict`].
    pub fn evict(
        &mut self,
        container_id: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        self.updates.evict(container_id, reason)?;
        Ok(self)
    }

    /// The changes as they go to the runtime.
    pub fn message(&self) -> &api::ContainerAdjustment {
        &self.adjust
    }

    /// The changes, to set what a newer runtime knows and this builder does not. Nothing is checked.
    pub fn message_mut(&mut self) -> &mut api::ContainerAdjustment {
        &mut self.adjust
    }

    /// The updates and evictions of other containers.
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
        let (update, evict) = self.updates.into_messages();
        if update.iter().any(|update| update.container_id == created) {
            return Err(AdjustmentError::UpdateOfCreated {
                id: created.to_owned(),
            });
        }
        let adjust = Some(self.adjust);
        Ok(api::CreateContainerResponse {
            adjust: adjust
                .filter(|adjust| *adjust != api::ContainerAdjustment::default())
                .into(),
            update,
            evict,
            ..Default::default()
        })
    }
}

#[cfg(test)]
mod tests;
