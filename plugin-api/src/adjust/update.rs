//! Updates of containers that exist.

use super::error::{AdjustmentError, Item, check_name, check_new};
use super::items::some;
use crate::api;

/// Changes to the resources of one existing container. What is not set stays as it is.
///
/// ```
/// # use nri_plugin_api::{ContainerUpdate, Updates};
/// let mut updates = Updates::new();
/// updates.add(ContainerUpdate::new("4ca4…").cpus("0-3").ignore_failure())?;
/// # Ok::<(), nri_plugin_api::AdjustmentError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerUpdate(api::ContainerUpdate);

impl ContainerUpdate {
    /// An update of the container with this id that changes nothing yet.
    pub fn new(container_id: impl Into<String>) -> Self {
        let mut update = api::ContainerUpdate::new();
        update.container_id = container_id.into();
        Self(update)
    }

    fn resources(&mut self) -> &mut api::LinuxResources {
        self.0
            .linux
            .mut_or_insert_default()
            .resources
            .mut_or_insert_default()
    }

    fn memory(&mut self) -> &mut api::LinuxMemory {
        self.resources().memory.mut_or_insert_default()
    }

    fn cpu(&mut self) -> &mut api::LinuxCPU {
        self.resources().cpu.mut_or_insert_default()
    }

    /// Limits memory, in bytes.
    #[must_use]
    pub fn memory_limit(mut self, bytes: i64) -> Self {
        self.memory().limit = int64(bytes);
        self
    }

    /// Limits memory and swap together, in bytes.
    #[must_use]
    pub fn memory_swap(mut self, bytes: i64) -> Self {
        self.memory().swap = int64(bytes);
        self
    }

    /// Sets the weight among other containers.
    #[must_use]
    pub fn cpu_shares(mut self, shares: u64) -> Self {
        self.cpu().shares = uint64(shares);
        self
    }

    /// Limits processor time: `quota` out of each `period`, both in microseconds.
    #[must_use]
    pub fn cpu_quota(mut self, quota: i64, period: u64) -> Self {
        self.cpu().quota = int64(quota);
        self.cpu().period = uint64(period);
        self
    }

    /// Pins to processors, written as `0-3,8`.
    #[must_use]
    pub fn cpus(mut self, cpus: impl Into<String>) -> Self {
        self.cpu().cpus = cpus.into();
        self
    }

    /// Pins to NUMA nodes, written as `0-1`.
    #[must_use]
    pub fn mems(mut self, mems: impl Into<String>) -> Self {
        self.cpu().mems = mems.into();
        self
    }

    /// Limits huge pages of a size such as `2MB`, in bytes.
    #[must_use]
    pub fn hugepage_limit(mut self, page_size: impl Into<String>, bytes: u64) -> Self {
        let limit = api::HugepageLimit {
            page_size: page_size.into(),
            limit: bytes,
            ..Default::default()
        };
        self.resources().hugepage_limits.push(limit);
        self
    }

    /// Writes a file of cgroup v2, such as `memory.high`.
    #[must_use]
    pub fn unified(mut self, file: impl Into<String>, content: impl Into<String>) -> Self {
        self.resources().unified.insert(file.into(), content.into());
        self
    }

    /// Sets the block I/O class; an empty one clears it.
    #[must_use]
    pub fn blockio_class(mut self, class: impl Into<String>) -> Self {
        self.resources().blockio_class = some(api::OptionalString {
            value: class.into(),
            ..Default::default()
        });
        self
    }

    /// Sets the RDT class; an empty one clears it.
    #[must_use]
    pub fn rdt_class(mut self, class: impl Into<String>) -> Self {
        self.resources().rdt_class = some(api::OptionalString {
            value: class.into(),
            ..Default::default()
        });
        self
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

    /// The message, to set what this builder has no method for.
    pub fn message_mut(&mut self) -> &mut api::ContainerUpdate {
        &mut self.0
    }
}

fn int64(value: i64) -> protobuf::MessageField<api::OptionalInt64> {
    some(api::OptionalInt64 {
        value,
        ..Default::default()
    })
}

fn uint64(value: u64) -> protobuf::MessageField<api::OptionalUInt64> {
    some(api::OptionalUInt64 {
        value,
        ..Default::default()
    })
}

/// Updates of any number of containers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Updates(Vec<api::ContainerUpdate>);

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
    /// The container has no id, or an update already: the runtime would take two for a conflict.
    pub fn add(&mut self, update: ContainerUpdate) -> Result<&mut Self, AdjustmentError> {
        let id = &update.0.container_id;
        check_name(Item::Update, id)?;
        check_new(
            Item::Update,
            id,
            self.0.iter().map(|u| u.container_id.as_str()),
        )?;
        if *update.0.linux != api::LinuxContainerUpdate::default() {
            self.0.push(update.0);
        }
        Ok(self)
    }

    /// Whether there is no update.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages that go to the runtime.
    pub fn messages(&self) -> &[api::ContainerUpdate] {
        &self.0
    }

    pub(crate) fn into_messages(self) -> Vec<api::ContainerUpdate> {
        self.0
    }
}
