//! What annotations lead to that are about the first process, the kernel's parameters and network
//! devices, row by row. The numbers of rows are those of `docs/components/device-injector.md`.

use nri_device_injector::DeviceInjector;
use nri_plugin_api::api::{
    IOPrioClass, LinuxContainerAdjustment, LinuxSchedulerFlag, LinuxSchedulerPolicy, MpolFlag,
    MpolMode,
};
use nri_plugin_api::testing::{self, Harness, Outcome, json};
use nri_plugin_api::{Adjustment, AdjustmentError, IoPriority, MemoryPolicy, Scheduler};

const IOP: &str = "io-priority.noderesource.dev";
const SCH: &str = "scheduling-policy.noderesource.dev";
const NET: &str = "network-devices.noderesource.dev";
const SYS: &str = "sysctl.noderesource.dev";
const MPOL: &str = "memory-policy.noderesource.dev";

/// Asks an injector that allows everything about the container `c0`.
fn ask(key: &str, value: &str) -> Outcome<LinuxContainerAdjustment> {
    ask_with(
        json!({
            "allow_io_priorities": ["*"],
            "allow_scheduling_policies": ["*"],
            "allow_network_devices": ["*"],
            "allow_sysctls": ["*"],
            "allow_memory_policies": ["*"],
        }),
        key,
        value,
    )
}

fn ask_with(
    config: serde_json::Value,
    key: &str,
    value: &str,
) -> Outcome<LinuxContainerAdjustment> {
    let mut injector = Harness::<DeviceInjector>::create(config).expect("the settings are fine");
    let pod = testing::pod("p", [(key, value)]);
    match injector.create_container(&pod, &testing::container(&pod, "c0")) {
        Outcome::Answer(response) => {
            Outcome::Answer(response.adjust.linux.clone().unwrap_or_default())
        }
        Outcome::Rejected(reason) => Outcome::Rejected(reason),
        other => panic!("{value}: {other:?}"),
    }
}

#[track_caller]
fn assert_rejected(row: &str, key: &str, value: &str, expected: &str) {
    let Outcome::Rejected(reason) = ask(key, value) else {
        panic!("{row}: {value} is taken")
    };
    let expected = format!("{key}: {expected}");
    assert!(reason.contains(&expected), "{row}: {reason}");
}

/// What an adjustment has once something is set.
fn linux(
    set: impl FnOnce(&mut Adjustment) -> Result<&mut Adjustment, AdjustmentError>,
) -> LinuxContainerAdjustment {
    let mut adjustment = Adjustment::new();
    set(&mut adjustment).expect("it can be set");
    adjustment.message().linux.clone().unwrap_or_default()
}

fn io_priority(class: IOPrioClass, priority: u8) -> LinuxContainerAdjustment {
    linux(|a| a.set_io_priority(IoPriority::new(class, priority)))
}

fn scheduler(scheduler: Scheduler) -> LinuxContainerAdjustment {
    linux(|a| a.set_scheduler(scheduler))
}

fn memory_policy(policy: MemoryPolicy) -> LinuxContainerAdjustment {
    linux(|a| a.set_memory_policy(policy))
}

fn net_devices(devices: &[(&str, Option<&str>)]) -> LinuxContainerAdjustment {
    let mut devices = devices.iter();
    linux(|a| devices.try_fold(a, |a, (host, name)| a.add_net_device(*host, *name)))
}

fn sysctls(parameters: &[(&str, &str)]) -> LinuxContainerAdjustment {
    let mut parameters = parameters.iter();
    linux(|a| parameters.try_fold(a, |a, (name, value)| a.set_sysctl(*name, *value)))
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
        assert_eq!(ask(IOP, value).answer(), expected, "{row}");
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
        assert_rejected(row, IOP, value, expected);
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
        assert_eq!(ask(SCH, value).answer(), scheduler(expected), "{row}");
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
        assert_rejected(row, SCH, value, expected);
    }
    // Both problems are told.
    assert_rejected(
        "D41",
        SCH,
        "{policy: SCHED_BOGUS, flags: [NOPE]}",
        "flags 1: expected",
    );
}

#[test]
fn network_devices_are_moved_under_the_names_that_are_written() {
    for (row, value, expected) in [
        (
            "D44",
            "- hostIf: ens2.100\n  Name: netdev0",
            net_devices(&[("ens2.100", Some("netdev0"))]),
        ),
        ("D45", "- hostIf: eth5", net_devices(&[("eth5", None)])),
        (
            "null",
            "- {hostIf: eth5, name: ~}",
            net_devices(&[("eth5", None)]),
        ),
        // A name stays as it is written, even where YAML once took it for a boolean.
        (
            "D46",
            "[{hostIf: a, name: x}, {hostIf: b, name: y}]",
            net_devices(&[("a", Some("x")), ("b", Some("y"))]),
        ),
    ] {
        assert_eq!(ask(NET, value).answer(), expected, "{row}");
    }
    for (row, value, expected) in [
        (
            "D46",
            "[{hostIf: a, name: x}, {hostIf: a, name: y}]",
            "entry 2: network device \"a\" is set twice",
        ),
        ("D47", "- ~", "entry 1: expected a mapping, not nothing"),
        ("D48", "hostIf: eth5", "expected a list, not a mapping"),
        ("missing", "- name: x", "entry 1: hostIf: is missing"),
        (
            "inside",
            "[{hostIf: a, name: x}, {hostIf: x}]",
            "entry 2: name: x is there already",
        ),
        (
            "removal",
            "- hostIf: -eth0",
            "entry 1: network device \"-eth0\" starts with '-'",
        ),
        (
            "removal",
            "- {hostIf: eth0, name: -x}",
            "entry 1: network device \"-x\" starts with '-'",
        ),
        (
            "name",
            "- {hostIf: eth0, name: a/b}",
            "entry 1: network device \"a/b\": a name has",
        ),
    ] {
        assert_rejected(row, NET, value, expected);
    }
}

#[test]
fn kernel_parameters_are_set_as_they_are_written() {
    for (row, value, expected) in [
        (
            "D49",
            "net.core.somaxconn: \"256\"",
            sysctls(&[("net.core.somaxconn", "256")]),
        ),
        (
            "D50",
            "{k.a: 5, k.b: yes, k.c: 010, k.d: , k.E: 1_0}",
            sysctls(&[
                ("k.a", "5"),
                ("k.b", "yes"),
                ("k.c", "010"),
                ("k.d", ""),
                ("k.E", "1_0"),
            ]),
        ),
    ] {
        assert_eq!(ask(SYS, value).answer(), expected, "{row}");
    }
    for (row, value, expected) in [
        (
            "D51",
            "net.core: {somaxconn: 1}",
            "net.core: expected a text, not a mapping",
        ),
        (
            "D51",
            "- net.core.somaxconn",
            "expected a mapping, not a list",
        ),
        (
            "removal",
            "-net.x: 1",
            "-net.x: expected the name of a kernel parameter",
        ),
        (
            "slash",
            "net/core/somaxconn: 1",
            "net/core/somaxconn: expected the name",
        ),
        (
            "slash",
            "net.../../kernel/x: 1",
            "net.../../kernel/x: expected the name",
        ),
        ("word", "somaxconn: 1", "somaxconn: expected the name"),
        ("twice", "{net.x: 1, net.x: 2}", "this is not valid YAML"),
    ] {
        assert_rejected(row, SYS, value, expected);
    }
    let adjustment = ask("sysctl.nri.io", "net.core.somaxconn: 1").answer();
    assert_eq!(adjustment, LinuxContainerAdjustment::new(), "D52");
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
        assert_eq!(ask(MPOL, value).answer(), memory_policy(expected), "{row}");
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
        assert_rejected(row, MPOL, value, expected);
    }
}

#[test]
fn an_empty_value_asks_for_nothing() {
    for (row, key) in [
        ("D36", IOP),
        ("D42", SCH),
        ("D44", NET),
        ("D49", SYS),
        ("D54", MPOL),
    ] {
        for value in ["", "~", "# nothing"] {
            let adjustment = ask(key, value).answer();
            assert_eq!(
                adjustment,
                LinuxContainerAdjustment::new(),
                "{row}: {value}"
            );
        }
    }
}

#[test]
fn older_keys_and_keys_for_one_container_count_in_the_same_order() {
    for (row, old, new, value) in [
        (
            "D17",
            "io-priority.nri.io/container.c0",
            "io-priority.noderesource.dev/pod",
            "class: IOPRIO_CLASS_RT",
        ),
        (
            "D17",
            "scheduling-policy.nri.io/container.c0",
            "scheduling-policy.noderesource.dev/pod",
            "policy: SCHED_BATCH",
        ),
        (
            "D17",
            "network-devices.nri.io/container.c0",
            "network-devices.noderesource.dev/pod",
            "- hostIf: a",
        ),
        (
            "D17",
            "memory-policy.nri.io/container.c0",
            "memory-policy.noderesource.dev/pod",
            "mode: MPOL_LOCAL",
        ),
    ] {
        let expected = ask(old, value).answer();
        assert_ne!(expected, LinuxContainerAdjustment::new(), "{row}: {old}");
        let mut injector = Harness::<DeviceInjector>::create(json!({
            "allow_io_priorities": ["*"],
            "allow_scheduling_policies": ["*"],
            "allow_network_devices": ["*"],
            "allow_memory_policies": ["*"],
        }))
        .unwrap();
        let pod = testing::pod("p", [(new, "this is refused"), (old, value)]);
        let answer = injector.create_container(&pod, &testing::container(&pod, "c0"));
        assert_eq!(
            answer.answer().adjust.linux.clone().unwrap(),
            expected,
            "{row}: {old}"
        );
    }
}

#[test]
fn only_what_is_listed_is_allowed() {
    for (key, value, setting, rule, other) in [
        (
            IOP,
            "class: IOPRIO_CLASS_BE",
            "allow_io_priorities",
            "IOPRIO_CLASS_BE",
            "IOPRIO_CLASS_IDLE",
        ),
        (
            SCH,
            "policy: SCHED_BATCH",
            "allow_scheduling_policies",
            "SCHED_BATCH",
            "SCHED_OTHER",
        ),
        (
            NET,
            "- hostIf: ens2",
            "allow_network_devices",
            "ens*",
            "ens",
        ),
        (
            SYS,
            "net.core.somaxconn: 1",
            "allow_sysctls",
            "net.core.*",
            "net.cor.*",
        ),
        (
            MPOL,
            "mode: MPOL_LOCAL",
            "allow_memory_policies",
            "MPOL_LOCAL",
            "MPOL_DEFAULT",
        ),
    ] {
        let answer = ask_with(json!({ setting: [rule] }), key, value).answer();
        assert_ne!(answer, LinuxContainerAdjustment::new(), "{key}");
        for rules in [json!([]), json!([other])] {
            let reason = ask_with(json!({ setting: rules }), key, value).rejection();
            assert!(reason.contains(key), "{reason}");
            assert!(reason.contains(setting), "{reason}");
        }
    }
}
