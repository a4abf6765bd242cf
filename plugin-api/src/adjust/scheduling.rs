//! When the first process gets the processor and the disks.

use super::Adjustment;
use super::error::{AdjustmentError, Item, check_fits, check_has, check_range, check_unset};
use super::values::some;
use crate::api::{self, LinuxSchedulerPolicy as Policy};

/// The I/O priority of the first process, see `ioprio_set(2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct IoPriority(api::LinuxIOPriority);

impl IoPriority {
    /// A priority within a class: 0 is the highest, 7 the lowest. `IOPRIO_CLASS_NONE` takes the
    /// setting away that the container came with.
    pub fn new(class: api::IOPrioClass, priority: u8) -> Self {
        Self(api::LinuxIOPriority {
            class: class.into(),
            priority: priority.into(),
            ..Default::default()
        })
    }
}

/// Scheduling attributes of the first process, see `sched_setattr(2)`.
///
/// ```
/// # use nri_plugin_api::{Adjustment, Scheduler, api::LinuxSchedulerPolicy::*};
/// let mut adjustment = Adjustment::new();
/// adjustment.set_scheduler(Scheduler::new(SCHED_FIFO).priority(10))?;
/// # Ok::<(), nri_plugin_api::AdjustmentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler(api::LinuxScheduler);

impl Scheduler {
    /// A policy, for now with nothing else. `SCHED_NONE` takes the setting away that the container
    /// came with.
    pub fn new(policy: Policy) -> Self {
        Self(api::LinuxScheduler {
            policy: policy.into(),
            ..Default::default()
        })
    }

    /// Sets the nice value, -20 (most processor time) to 19, for `SCHED_OTHER` and `SCHED_BATCH`.
    #[must_use]
    pub fn nice(mut self, nice: i32) -> Self {
        self.0.nice = nice;
        self
    }

    /// Sets the priority, 1 to 99 (the highest), for `SCHED_FIFO` and `SCHED_RR`, which need one.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.0.priority = priority;
        self
    }

    /// Adds a flag.
    #[must_use]
    pub fn flag(mut self, flag: api::LinuxSchedulerFlag) -> Self {
        self.0.flags.push(flag.into());
        self
    }

    /// Sets the parameters of `SCHED_DEADLINE`, which needs them: `runtime` out of each `period`,
    /// done by its `deadline`, all in nanoseconds. A period of 0 is as long as the deadline.
    #[must_use]
    pub fn deadline(mut self, runtime: u64, deadline: u64, period: u64) -> Self {
        self.0.runtime = runtime;
        self.0.deadline = deadline;
        self.0.period = period;
        self
    }

    fn check(&self) -> Result<(), AdjustmentError> {
        const ITEM: Item = Item::Scheduler;
        let Self(scheduler) = self;
        let policy = scheduler.policy.enum_value_or_default();
        let name = || format!("{policy:?}");
        match policy {
            Policy::SCHED_FIFO | Policy::SCHED_RR => {
                check_range(ITEM, "priority", scheduler.priority.into(), 1..=99)?;
            }
            _ => check_fits(ITEM, name(), "a priority", scheduler.priority == 0)?,
        }
        match policy {
            Policy::SCHED_OTHER | Policy::SCHED_BATCH => {
                check_range(ITEM, "nice", scheduler.nice.into(), -20..=19)?;
            }
            _ => check_fits(ITEM, name(), "a nice value", scheduler.nice == 0)?,
        }
        let times = (scheduler.runtime, scheduler.deadline, scheduler.period);
        if policy == Policy::SCHED_DEADLINE {
            let (runtime, deadline, period) = times;
            let ordered = 0 < runtime && runtime <= deadline && (period == 0 || deadline <= period);
            check_has(ITEM, name(), "0 < runtime <= deadline <= period", ordered)
        } else {
            check_fits(
                ITEM,
                name(),
                "runtime, deadline or period",
                times == (0, 0, 0),
            )
        }
    }
}

impl Adjustment {
    /// Sets the I/O priority of the first process. Known since NRI 0.10.
    ///
    /// # Errors
    ///
    /// It is set already, or not within 0 to 7.
    pub fn set_io_priority(&mut self, priority: IoPriority) -> Result<&mut Self, AdjustmentError> {
        let IoPriority(priority) = priority;
        check_range(
            Item::IoPriority,
            "priority",
            priority.priority.into(),
            0..=7,
        )?;
        let linux = self.linux();
        check_unset(Item::IoPriority, linux.io_priority.is_some())?;
        linux.io_priority = some(priority);
        Ok(self)
    }

    /// Sets the scheduling attributes of the first process. Known since NRI 0.11.
    ///
    /// # Errors
    ///
    /// They are set already, or the policy does not go with one of the others or lacks one.
    pub fn set_scheduler(&mut self, scheduler: Scheduler) -> Result<&mut Self, AdjustmentError> {
        scheduler.check()?;
        let linux = self.linux();
        check_unset(Item::Scheduler, linux.scheduler.is_some())?;
        linux.scheduler = some(scheduler.0);
        Ok(self)
    }
}
