//! Updates of containers that exist.

use super::error::{AdjustmentError, Item, check_name, check_new};
use super::resources::{self, Resources};
use super::values::some;
use crate::api;

/// Changes to the resources of one existing container. What is not set stays as it is.
///
/// ```
/// # use nri_plugin_api::{ContainerUpdate, Resources, Updates};
/// let mut updates = Updates::new();
/// updates.add(ContainerUpdate::new("4ca4…", Resources::new().cpus("0-3")).ignore_failure())?;
/// # Ok::<(), nri_plugin_api::AdjustmentError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerUpdate(api::ContainerUpdate);

impl ContainerUpdate {
    /// An update of the container with this id.
    pub fn new(container_id: impl Into<String>, resources: Resources) -> Self {
        let mut update = api::ContainerUpdate::new();
        update.container_id = container_id.into();
        if resources != Resources::new() {
            update.linux.mut_or_insert_default().resources = some(resources.0);
        }
        Self(update)
    }

    /// Makes it no error if another plugin wants something else, or if it cannot be applied.
    #[must_use]
    pub fn ignore_failure(mut self) -> Self {
        self.0.ignore_failure = true;
        self
    }

    /// The message that goes to the runtime.
    pub fn message(&self) -> &api::ContainerUpdate {
        &self.0
    }

    /// The message, to set what a newer runtime knows and this builder does not.
    pub fn message_mut(&mut self) -> &mut api::ContainerUpdate {
        &mut self.0
    }
}

/// Updates of any number of containers, and evictions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Updates {
    updates: Vec<api::ContainerUpdate>,
    evictions: Vec<api::ContainerEviction>,
}

impl Updates {
    /// No update.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an update. One that changes nothing is left out: in the answer to `UpdateContainer` it
    /// would take the place of what the container is about to get.
    ///
    /// # Errors
    ///
    /// The container has no id, or an update already: the runtime would take two for a conflict. Or
    /// the resources are refused as by [`Adjustment::set_resources`](super::Adjustment::set_resources).
    pub fn add(&mut self, update: ContainerUpdate) -> Result<&mut Self, AdjustmentError> {
        let ContainerUpdate(update) = update;
        let ids = self.updates.iter().map(|u| u.container_id.as_str());
        check_name(Item::Update, &update.container_id)?;
        check_new(Item::Update, &update.container_id, ids)?;
        resources::check(&update.linux.resources)?;
        if *update.linux != api::LinuxContainerUpdate::default() {
            self.updates.push(update);
        }
        Ok(self)
    }

    /// Asks for a container to be stopped, for a reason that is meant for people. No runtime does so
    /// up to NRI 0.12.5.
    ///
    /// There is no place for evictions in the answers to `Synchronize` and `StopContainer`.
    ///
    /// # Errors
    ///
    /// The container has no id, or an eviction already.
    pub fn evict(
        &mut self,
        container_id: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let container_id = container_id.into();
        let ids = self.evictions.iter().map(|e| e.container_id.as_str());
        check_name(Item::Eviction, &container_id)?;
        check_new(Item::Eviction, &container_id, ids)?;
        self.evictions.push(api::ContainerEviction {
            container_id,
            reason: reason.into(),
            ..Default::default()
        });
        Ok(self)
    }

    /// Whether there is neither an update nor an eviction.
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty() && self.evictions.is_empty()
    }

    /// The updates as they go to the runtime.
    pub fn messages(&self) -> &[api::ContainerUpdate] {
        &self.updates
    }

    /// The evictions as they go to the runtime.
    pub fn evictions(&self) -> &[api::ContainerEviction] {
        &self.evictions
    }

    pub(crate) fn into_messages(self) -> (Vec<api::ContainerUpdate>, Vec<api::ContainerEviction>) {
        (self.updates, self.evictions)
    }

    /// The updates, for an answer that has nothing else.
    ///
    /// # Errors
    ///
    /// There are evictions.
    pub(crate) fn into_updates(
        self,
        method: &'static str,
    ) -> Result<Vec<api::ContainerUpdate>, AdjustmentError> {
        if self.evictions.is_empty() {
            Ok(self.updates)
        } else {
            Err(AdjustmentError::EvictionNotTaken { method })
        }
    }
}
