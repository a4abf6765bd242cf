//! Limits and shares.

use super::error::{
    AdjustmentError, Item, check_fits, check_has, check_new, check_range, check_unset,
};
use super::values::{boolean, int64, some, string, uint64};
use super::{Adjustment, DeviceKind};
use crate::api;

/// Limits and shares of a container. What is not set stays as it is; 0 is a value.
///
/// Runtimes do not pass everything on. At the creation of a container they apply of memory the limit
/// alone, to memory and swap together. In updates they ignore rules for devices, a limit for tasks
/// unless it is in the answer to Synchronize, and, other than CRI-O, of memory all but limit and
/// swap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources(pub(super) api::LinuxResources);

impl Resources {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn memory(&mut self) -> &mut api::LinuxMemory {
        self.0.memory.mut_or_insert_default()
    }

    fn cpu(&mut self) -> &mut api::LinuxCPU {
        self.0.cpu.mut_or_insert_default()
    }

    /// Limits memory, in bytes.
    #[must_use]
    pub fn memory_limit(mut self, bytes: i64) -> Self {
        self.memory().limit = int64(bytes);
        self
    }

    /// Sets the soft limit of memory, in bytes.
    #[must_use]
    pub fn memory_reservation(mut self, bytes: i64) -> Self {
        self.memory().reservation = int64(bytes);
        self
    }

    /// Limits memory and swap together, in bytes.
    #[must_use]
    pub fn memory_swap(mut self, bytes: i64) -> Self {
        self.memory().swap = int64(bytes);
        self
    }

    /// Limits memory of the kernel, in bytes. Linux has given this limit up.
    #[must_use]
    pub fn memory_kernel(mut self, bytes: i64) -> Self {
        self.memory().kernel = int64(bytes);
        self
    }

    /// Limits the memory of TCP buffers, in bytes. Of cgroup v1 only.
    #[must_use]
    pub fn memory_kernel_tcp(mut self, bytes: i64) -> Self {
        self.memory().kernel_tcp = int64(bytes);
        self
    }

    /// Sets how readily memory is swapped out, 0 to 100. Of cgroup v1 only.
    #[must_use]
    pub fn memory_swappiness(mut self, swappiness: u64) -> Self {
        self.memory().swappiness = uint64(swappiness);
        self
    }

    /// Sets whether processes wait for memory instead of being killed. Of cgroup v1 only.
    #[must_use]
    pub fn disable_oom_killer(mut self, disable: bool) -> Self {
        self.memory().disable_oom_killer = boolean(disable);
        self
    }

    /// Sets whether limits hold for control groups below, too. Of cgroup v1 only.
    #[must_use]
    pub fn memory_use_hierarchy(mut self, use_hierarchy: bool) -> Self {
        self.memory().use_hierarchy = boolean(use_hierarchy);
        self
    }

    /// Sets the weight among other containers.
    #[must_use]
    pub fn cpu_shares(mut self, shares: u64) -> Self {
        self.cpu().shares = uint64(shares);
        self
    }

    /// Limits processor time in each period, in microseconds; -1 lifts the limit.
    #[must_use]
    pub fn cpu_quota(mut self, quota: i64) -> Self {
        self.cpu().quota = int64(quota);
        self
    }

    /// Sets the period of [`Self::cpu_quota`], in microseconds.
    #[must_use]
    pub fn cpu_period(mut self, period: u64) -> Self {
        self.cpu().period = uint64(period);
        self
    }

    /// Limits real-time scheduling in each period, in microseconds. Of cgroup v1 only.
    #[must_use]
    pub fn cpu_realtime_runtime(mut self, runtime: i64) -> Self {
        self.cpu().realtime_runtime = int64(runtime);
        self
    }

    /// Sets the period of [`Self::cpu_realtime_runtime`], in microseconds. Of cgroup v1 only.
    #[must_use]
    pub fn cpu_realtime_period(mut self, period: u64) -> Self {
        self.cpu().realtime_period = uint64(period);
        self
    }

    /// Pins to processors, written as `0-3,8`. An empty text changes nothing.
    #[must_use]
    pub fn cpus(mut self, cpus: impl Into<String>) -> Self {
        self.cpu().cpus = cpus.into();
        self
    }

    /// Pins to NUMA nodes, written as `0-1`. An empty text changes nothing.
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
        self.0.hugepage_limits.push(limit);
        self
    }

    /// Writes a file of cgroup v2, such as `memory.high`.
    #[must_use]
    pub fn unified(mut self, file: impl Into<String>, content: impl Into<String>) -> Self {
        self.0.unified.insert(file.into(), content.into());
        self
    }

    /// Sets the block I/O class; an empty one clears it.
    #[must_use]
    pub fn blockio_class(mut self, class: impl Into<String>) -> Self {
        self.0.blockio_class = string(class);
        self
    }

    /// Sets the RDT class; an empty one clears it.
    #[must_use]
    pub fn rdt_class(mut self, class: impl Into<String>) -> Self {
        self.0.rdt_class = string(class);
        self
    }

    /// Limits the number of tasks. Known since NRI 0.8. A limit that the container came with stays
    /// when this one is negative.
    #[must_use]
    pub fn pids_limit(mut self, tasks: i64) -> Self {
        self.0.pids = some(api::LinuxPids {
            limit: tasks,
            ..Default::default()
        });
        self
    }

    /// Adds a rule of the device cgroup after those that are there. Known since NRI 0.10.
    #[must_use]
    pub fn device_rule(mut self, rule: DeviceRule) -> Self {
        self.0.devices.push(rule.0);
        self
    }
}

/// Whether some devices may be used, as a rule of the device cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRule(api::LinuxDeviceCgroup);

impl DeviceRule {
    /// Allows what `access` has of `r` (read), `w` (write) and `m` (make the node), for all devices.
    pub fn allow(access: impl Into<String>) -> Self {
        Self(api::LinuxDeviceCgroup {
            allow: true,
            type_: "a".to_owned(),
            access: access.into(),
            ..Default::default()
        })
    }

    /// Denies it instead.
    pub fn deny(access: impl Into<String>) -> Self {
        let Self(rule) = Self::allow(access);
        Self(api::LinuxDeviceCgroup {
            allow: false,
            ..rule
        })
    }

    /// Narrows the rule to character or block devices.
    #[must_use]
    pub fn kind(mut self, kind: DeviceKind) -> Self {
        kind.letter().clone_into(&mut self.0.type_);
        self
    }

    /// Narrows the rule to a major number.
    #[must_use]
    pub fn major(mut self, major: u32) -> Self {
        self.0.major = int64(major.into());
        self
    }

    /// Narrows the rule to a minor number.
    #[must_use]
    pub fn minor(mut self, minor: u32) -> Self {
        self.0.minor = int64(minor.into());
        self
    }
}

/// Checks what a runtime, or the OCI runtime behind it, checks.
pub(super) fn check(resources: &api::LinuxResources) -> Result<(), AdjustmentError> {
    let sizes: Vec<&str> = resources
        .hugepage_limits
        .iter()
        .map(|limit| limit.page_size.as_str())
        .collect();
    for (index, size) in sizes.iter().enumerate() {
        if size.is_empty() {
            return Err(AdjustmentError::Unnamed {
                item: Item::HugepageLimit,
            });
        }
        check_new(Item::HugepageLimit, size, sizes[..index].iter().copied())?;
    }
    for file in resources.unified.keys() {
        let is_name = file.contains('.') && !file.contains(['/', '\0']);
        if !is_name {
            return Err(AdjustmentError::CgroupFileName { name: file.clone() });
        }
    }
    if let Some(swappiness) = resources.memory.swappiness.as_ref() {
        let value = i64::try_from(swappiness.value).unwrap_or(i64::MAX);
        check_range(Item::Resources, "swappiness", value, 0..=100)?;
    }
    resources.devices.iter().try_for_each(check_rule)
}

fn check_rule(rule: &api::LinuxDeviceCgroup) -> Result<(), AdjustmentError> {
    const ITEM: Item = Item::DeviceRule;
    let access = rule.access.as_str();
    check_has(ITEM, "", "an access", !access.is_empty())?;
    let is_known = access
        .chars()
        .all(|letter| matches!(letter, 'r' | 'w' | 'm'));
    check_fits(ITEM, access, "letters other than r, w and m", is_known)?;
    let is_device = rule.type_ != DeviceKind::Fifo.letter();
    check_fits(ITEM, "", "pipes, which are no devices", is_device)
}

impl Adjustment {
    /// Sets limits and shares.
    ///
    /// # Errors
    ///
    /// They are set already, a page size is empty or there twice, a name is none of a cgroup file,
    /// the swappiness is above 100, or a device rule has no access or is about pipes.
    pub fn set_resources(&mut self, resources: Resources) -> Result<&mut Self, AdjustmentError> {
        let Resources(resources) = resources;
        check(&resources)?;
        let linux = self.linux();
        check_unset(Item::Resources, linux.resources.is_some())?;
        linux.resources = some(resources);
        Ok(self)
    }

    /// Sets the path of the control group, in the form that the cgroup driver of the OCI runtime has:
    /// `/folder/name`, or `slice:prefix:name` for systemd.
    ///
    /// # Errors
    ///
    /// The path is empty, or set already.
    pub fn set_cgroups_path(
        &mut self,
        path: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let path = path.into();
        check_has(Item::CgroupsPath, "", "a path", !path.is_empty())?;
        let linux = self.linux();
        check_unset(Item::CgroupsPath, !linux.cgroups_path.is_empty())?;
        linux.cgroups_path = path;
        Ok(self)
    }
}
