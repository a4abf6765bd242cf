//! Attributes of the container's first process: I/O priority, scheduling and memory policy.

use nri_plugin_api::api::{
    IOPrioClass, LinuxContainerAdjustment, LinuxSchedulerFlag, LinuxSchedulerPolicy, MpolFlag,
    MpolMode,
};
use nri_plugin_api::{IoPriority, MemoryPolicy, Scheduler};

use crate::asking::{IOP, MPOL, SCH, adjusted_linux, assert_refused, linux};

fn io_priority(class: IOPrioClass, priority: u8) -> LinuxContainerAdjustment {
    linux(|a| a.set_io_priority(IoPriority::new(class, priority)))
}

fn scheduler(scheduler: Scheduler) -> LinuxContainerAdjustment {
    linux(|a| a.set_scheduler(scheduler))
}

fn memory_policy(policy: MemoryPolicy) -> LinuxContainerAdjustment {
    linux(|a| a.set_memory_policy(policy))
}

#[test]
fn io_priorities_are_set_as_they_are_written() {
    use IOPrioClass::{IOPRIO_CLASS_BE, IOPRIO_CLASS_IDLE, IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT};
    for (row, value, expected) in [
        (
            "D34",
            "class: IOPRIO_CLASS_RT\npriority: 3",
            io_priority(IOPRIO_CLASS_RT, 3),
        ),
        (
            "D35",
            "class: IOPRIO_CLASS_NONE",
            io_priority(IOPRIO_CLASS_NONE, 0),
        ),
        (
            "idle",
            "{class: IOPRIO_CLASS_IDLE}",
            io_priority(IOPRIO_CLASS_IDLE, 0),
        ),
        (
            "case",
            "{CLASS: IOPRIO_CLASS_BE, Priority: \"7\"}",
            io_priority(IOPRIO_CLASS_BE, 7),
        ),
    ] {
        assert_eq!(adjusted_linux(row, IOP, value), expected, "{row}");
    }
    for (row, value, expected) in [
        (
            "D36",
            "class: rt",
            "class: expected one of IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT, ",
        ),
        (
            "D36",
            "priority: 3",
            "class: is missing: expected one of IOPRIO_CLASS_NONE",
        ),
        (
            "D37",
            "{class: IOPRIO_CLASS_BE, priority: 99}",
            "priority: expected a number from 0 to 7",
        ),
        (
            "D38",
            "{class: IOPRIO_CLASS_BE, priority: high}",
            "priority: expected a number",
        ),
        (
            "D38",
            "- class: IOPRIO_CLASS_BE",
            "expected a mapping, not a list",
        ),
        (
            "text",
            "IOPRIO_CLASS_BE",
            "expected a mapping, not \"IOPRIO_CLASS_BE\"",
        ),
    ] {
        assert_refused(row, IOP, value, expected);
    }
}

#[test]
fn scheduling_policies_are_set_as_they_are_written() {
    use LinuxSchedulerPolicy::{SCHED_BATCH, SCHED_DEADLINE, SCHED_FIFO, SCHED_NONE};
    let reset = LinuxSchedulerFlag::SCHED_FLAG_RESET_ON_FORK;
    for (row, value, expected) in [
        (
            "D39",
            "{policy: SCHED_FIFO, priority: 10, flags: [SCHED_FLAG_RESET_ON_FORK]}",
            Scheduler::new(SCHED_FIFO).priority(10).flag(reset),
        ),
        (
            "D40",
            "{policy: SCHED_DEADLINE, runtime: 1000000, deadline: 2000000, period: 3000000}",
            Scheduler::new(SCHED_DEADLINE).deadline(1_000_000, 2_000_000, 3_000_000),
        ),
        (
            "nice",
            "{policy: SCHED_BATCH, nice: -5}",
            Scheduler::new(SCHED_BATCH).nice(-5),
        ),
        ("none", "policy: SCHED_NONE", Scheduler::new(SCHED_NONE)),
    ] {
        assert_eq!(
            adjusted_linux(row, SCH, value),
            scheduler(expected),
            "{row}"
        );
    }
    for (row, value, expected) in [
        (
            "D41",
            "{policy: SCHED_BOGUS, nice: 5}",
            "policy: expected one of SCHED_NONE, SCHED_OTHER",
        ),
        (
            "D41",
            "{policy: SCHED_OTHER, flags: [NOPE]}",
            "flags 1: expected one of SCHED_FLAG_RESET_ON_FORK",
        ),
        (
            "D43",
            "{policy: SCHED_DEADLINE, runtime: -1}",
            "runtime: expected a number from 0",
        ),
        (
            "fields",
            "{policy: SCHED_FIFO}",
            "scheduler: priority 0 is not within 1 to 99",
        ),
        (
            "fields",
            "{policy: SCHED_IDLE, priority: 1}",
            "scheduler \"SCHED_IDLE\" cannot have a priority",
        ),
        ("list", "[]x", "this is not valid YAML"),
    ] {
        assert_refused(row, SCH, value, expected);
    }
    // Both problems are told.
    assert_refused(
        "D41",
        SCH,
        "{policy: SCHED_BOGUS, flags: [NOPE]}",
        "flags 1: expected",
    );
}

#[test]
fn memory_policies_are_set_as_they_are_written() {
    use MpolMode::{MPOL_BIND, MPOL_DEFAULT, MPOL_INTERLEAVE};
    for (row, value, expected) in [
        (
            "D53",
            "{mode: MPOL_INTERLEAVE, nodes: \"2,3\", flags: [MPOL_F_STATIC_NODES]}",
            MemoryPolicy::new(MPOL_INTERLEAVE)
                .nodes("2,3")
                .flag(MpolFlag::MPOL_F_STATIC_NODES),
        ),
        (
            "nodes",
            "mode: MPOL_BIND\nnodes: 1",
            MemoryPolicy::new(MPOL_BIND).nodes("1"),
        ),
        (
            "nodes",
            "mode: MPOL_BIND\nnodes: 0-3,5",
            MemoryPolicy::new(MPOL_BIND).nodes("0-3,5"),
        ),
        (
            "default",
            "mode: MPOL_DEFAULT",
            MemoryPolicy::new(MPOL_DEFAULT),
        ),
    ] {
        assert_eq!(
            adjusted_linux(row, MPOL, value),
            memory_policy(expected),
            "{row}"
        );
    }
    for (row, value, expected) in [
        (
            "D54",
            "mode: INTERLEAVE",
            "mode: expected one of MPOL_DEFAULT, MPOL_PREFERRED",
        ),
        ("D54", "nodes: 1", "mode: is missing"),
        (
            "D55",
            "{mode: MPOL_LOCAL, flags: [X]}",
            "flags 1: expected one of MPOL_F_STATIC_NODES",
        ),
        (
            "nodes",
            "{mode: MPOL_BIND, nodes: 3-1}",
            "nodes: expected NUMA nodes such as",
        ),
        (
            "nodes",
            "{mode: MPOL_BIND, nodes: '+1'}",
            "nodes: expected NUMA nodes such as",
        ),
        (
            "nodes",
            "{mode: MPOL_BIND}",
            "memory policy \"MPOL_BIND\" needs nodes",
        ),
    ] {
        assert_refused(row, MPOL, value, expected);
    }
}
