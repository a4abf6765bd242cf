//! What is refused where it is asked for.

use nri_plugin_api::api::{IOPrioClass, LinuxSchedulerPolicy as Policy, MpolFlag, MpolMode};
use nri_plugin_api::{
    Adjustment, ContainerUpdate, Device, DeviceKind, DeviceRule, Hook, HookStage, IoPriority,
    MemoryPolicy, Mount, NamespaceKind, Rdt, Resources, Rlimit, Scheduler, SeccompPolicy,
    SeccompRule,
};

use crate::adjustments::Build;

const FULL: Policy = Policy::SCHED_OTHER;

/// What cannot be asked for, and what is said of it.
const REFUSED: &[(Build, &str)] = &[
    (
        |a| a.set_args(Vec::<String>::new()),
        "command line needs a program as its first argument",
    ),
    (
        |a| a.set_args(["", "sh"]),
        "command line needs a program as its first argument",
    ),
    (
        |a| a.add_hook(HookStage::Poststop, Hook::new("h")),
        "OCI hook: \"h\" is not an absolute path",
    ),
    (
        |a| a.add_hook(HookStage::Poststop, Hook::new("/h").timeout(0)),
        "OCI hook \"/h\" needs a timeout of a second or more",
    ),
    (
        |a| a.add_rlimit(Rlimit::Core, 2, 1),
        "resource limit RLIMIT_CORE: the soft limit is above the hard one",
    ),
    (
        |a| a.set_oom_score_adj(1001),
        "OOM score adjustment: score 1001 is not within -1000 to 1000",
    ),
    (
        |a| a.set_io_priority(IoPriority::new(IOPrioClass::IOPRIO_CLASS_RT, 8)),
        "I/O priority: priority 8 is not within 0 to 7",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(Policy::SCHED_RR)),
        "scheduler: priority 0 is not within 1 to 99",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(FULL).priority(1)),
        "scheduler \"SCHED_OTHER\" cannot have a priority",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(FULL).nice(20)),
        "scheduler: nice 20 is not within -20 to 19",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(Policy::SCHED_IDLE).nice(1)),
        "scheduler \"SCHED_IDLE\" cannot have a nice value",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(FULL).deadline(1, 2, 3)),
        "scheduler \"SCHED_OTHER\" cannot have runtime, deadline or period",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(Policy::SCHED_DEADLINE).deadline(3, 2, 0)),
        "scheduler \"SCHED_DEADLINE\" needs 0 < runtime <= deadline <= period",
    ),
    (
        |a| a.set_memory_policy(MemoryPolicy::new(MpolMode::MPOL_BIND)),
        "memory policy \"MPOL_BIND\" needs nodes",
    ),
    (
        |a| a.set_memory_policy(MemoryPolicy::new(MpolMode::MPOL_LOCAL).nodes("0")),
        "memory policy \"MPOL_LOCAL\" cannot have nodes",
    ),
    (
        |a| {
            let policy = MemoryPolicy::new(MpolMode::MPOL_BIND).nodes("0");
            let policy = policy.flag(MpolFlag::MPOL_F_STATIC_NODES);
            a.set_memory_policy(policy.flag(MpolFlag::MPOL_F_RELATIVE_NODES))
        },
        "memory policy \"MPOL_F_STATIC_NODES\" cannot have MPOL_F_RELATIVE_NODES",
    ),
    (
        |a| a.join_namespace(NamespaceKind::Pid, "proc/1/ns/pid"),
        "namespace: \"proc/1/ns/pid\" is not an absolute path",
    ),
    (
        |a| {
            a.remove_namespace(NamespaceKind::Pid)?
                .set_new_namespace(NamespaceKind::Pid)
        },
        "namespace \"pid\" is removed and set",
    ),
    (
        |a| {
            a.set_new_namespace(NamespaceKind::Pid)?
                .remove_namespace(NamespaceKind::Pid)
        },
        "namespace \"pid\" is removed and set",
    ),
    (
        |a| a.add_net_device("a-name-too-long!", None),
        "network device \"a-name-too-long!\": a name has 1 to 15 bytes without '/', ':' and blanks",
    ),
    (
        |a| a.add_net_device("eth0", Some("..")),
        "network device \"..\": a name has 1 to 15 bytes without '/', ':' and blanks",
    ),
    (
        |a| a.add_net_device("eth0", Some("-x")),
        "network device \"-x\" starts with '-': the runtime would take it for a removal",
    ),
    (
        |a| a.set_rdt(Rdt::new()),
        "RDT needs a class, schemata or monitoring",
    ),
    (
        |a| a.set_rdt(Rdt::new().clos_id("")),
        "RDT needs a name for its class",
    ),
    (
        |a| a.set_rdt(Rdt::new().clos_id("..")),
        "RDT \"..\" cannot have a class whose name is none for a folder",
    ),
    (|a| a.set_cgroups_path(""), "cgroups path needs a path"),
    (
        |a| a.set_seccomp_policy(SeccompPolicy::new("")),
        "seccomp policy needs a default action",
    ),
    (
        |a| a.set_seccomp_policy(SeccompPolicy::new("SCMP_ACT_ALLOW").listener("", "m")),
        "seccomp policy cannot have listener metadata without a listener",
    ),
    (
        |a| a.set_seccomp_policy(seccomp(SeccompRule::new("SCMP_ACT_KILL", [""]))),
        "seccomp policy needs names of system calls in every rule",
    ),
    (
        |a| a.set_seccomp_policy(seccomp(SeccompRule::new("", ["bpf"]))),
        "seccomp policy \"bpf\" needs an action",
    ),
    (
        |a| {
            a.set_seccomp_policy(seccomp(SeccompRule::new("SCMP_ACT_KILL", ["bpf"]).arg(
                6,
                "SCMP_CMP_EQ",
                0,
            )))
        },
        "seccomp policy: index of an argument 6 is not within 0 to 5",
    ),
    (
        |a| {
            a.set_seccomp_policy(seccomp(
                SeccompRule::new("SCMP_ACT_KILL", ["bpf"]).arg(0, "", 0),
            ))
        },
        "seccomp policy \"bpf\" needs an operator for its argument",
    ),
    (
        |a| a.set_resources(Resources::new().hugepage_limit("", 1)),
        "limit for huge pages of without a name",
    ),
    (
        |a| {
            a.set_resources(
                Resources::new()
                    .hugepage_limit("2MB", 1)
                    .hugepage_limit("2MB", 1),
            )
        },
        "limit for huge pages of \"2MB\" is set twice",
    ),
    (
        |a| a.set_resources(Resources::new().unified("../memory.high", "1")),
        "cgroup file \"../memory.high\" is not of the form controller.parameter",
    ),
    (
        |a| a.set_resources(Resources::new().memory_swappiness(101)),
        "resources: swappiness 101 is not within 0 to 100",
    ),
    (
        |a| a.set_resources(Resources::new().device_rule(DeviceRule::allow(""))),
        "device rule needs an access",
    ),
    (
        |a| a.set_resources(Resources::new().device_rule(DeviceRule::deny("rx"))),
        "device rule \"rx\" cannot have letters other than r, w and m",
    ),
    (
        |a| {
            a.set_resources(
                Resources::new().device_rule(DeviceRule::deny("r").kind(DeviceKind::Fifo)),
            )
        },
        "device rule cannot have pipes, which are no devices",
    ),
    (
        |a| {
            a.update(ContainerUpdate::new(
                "c",
                Resources::new().unified("memory", "1"),
            ))
        },
        "cgroup file \"memory\" is not of the form controller.parameter",
    ),
    (|a| a.evict("", "r"), "eviction of container without a name"),
];

fn seccomp(rule: SeccompRule) -> SeccompPolicy {
    SeccompPolicy::new("SCMP_ACT_ALLOW").rule(rule)
}

#[test]
fn what_a_runtime_would_refuse_is_refused_at_once() {
    for (build, expected) in REFUSED {
        let refused = build(&mut Adjustment::new()).unwrap_err();
        assert_eq!(refused.to_string(), *expected);
    }
}

/// What there can be one of, with the name that it then has.
const ONCE: &[(Build, &str)] = &[
    (|a| a.set_annotation("k", "v"), "annotation \"k\""),
    (|a| a.set_env("A", "v"), "environment variable \"A\""),
    (|a| a.set_args(["sh"]), "command line"),
    (|a| a.add_mount(Mount::bind("/s", "/d")), "mount \"/d\""),
    (
        |a| a.add_device(Device::new("/dev/a", DeviceKind::Block, 8, 0)),
        "device \"/dev/a\"",
    ),
    (|a| a.add_cdi_device("v/c=d"), "CDI device \"v/c=d\""),
    (
        |a| a.add_rlimit(Rlimit::As, 1, 1),
        "resource limit \"RLIMIT_AS\"",
    ),
    (|a| a.set_oom_score_adj(0), "OOM score adjustment"),
    (|a| a.set_cgroups_path("/c"), "cgroups path"),
    (|a| a.set_resources(Resources::new()), "resources"),
    (
        |a| a.set_io_priority(IoPriority::new(IOPrioClass::IOPRIO_CLASS_IDLE, 0)),
        "I/O priority",
    ),
    (|a| a.set_scheduler(Scheduler::new(FULL)), "scheduler"),
    (
        |a| a.set_memory_policy(MemoryPolicy::new(MpolMode::MPOL_LOCAL)),
        "memory policy",
    ),
    (
        |a| a.set_seccomp_policy(SeccompPolicy::new("SCMP_ACT_KILL")),
        "seccomp policy",
    ),
    (
        |a| a.set_new_namespace(NamespaceKind::Uts),
        "namespace \"uts\"",
    ),
    (
        |a| a.join_namespace(NamespaceKind::Uts, "/u"),
        "namespace \"uts\"",
    ),
    (
        |a| a.remove_namespace(NamespaceKind::Uts),
        "namespace \"-uts\"",
    ),
    (|a| a.set_sysctl("a.b", "1"), "sysctl \"a.b\""),
    (
        |a| a.add_net_device("eth0", None),
        "network device \"eth0\"",
    ),
    (|a| a.set_rdt(Rdt::new().clos_id("c")), "RDT"),
    (
        |a| a.remove_rdt().set_rdt(Rdt::new().schemata(["L3:0=f"])),
        "RDT",
    ),
    (
        |a| a.update(ContainerUpdate::new("c", Resources::new().cpus("1"))),
        "update of container \"c\"",
    ),
    (|a| a.evict("c", "r"), "eviction of container \"c\""),
];

#[test]
fn nothing_can_be_set_twice() {
    for (build, name) in ONCE {
        let mut adjustment = Adjustment::new();
        build(&mut adjustment).unwrap();
        let before = adjustment.clone();
        let refused = build(&mut adjustment).unwrap_err();
        assert_eq!(refused.to_string(), format!("{name} is set twice"));
        assert_eq!(adjustment, before);
    }
}

#[test]
fn cdi_names_have_the_letters_that_cdi_gives_them() {
    for name in ["v/c=d", "vendor-0.com/net_dev=0", "v.com/c=a:b.c-d_e"] {
        assert!(Adjustment::new().add_cdi_device(name).is_ok(), "{name}");
    }
    let refused = [
        "d", "v/c", "/c=d", "v/=d", "v/c=", "0v/c=d", "v./c=d", "v/c-=d", "v/c=:d", "v/c=d.",
        "v/c=d=e", "v/c/e=d", "v v/c=d", "v/c=ü",
    ];
    for name in refused {
        assert!(Adjustment::new().add_cdi_device(name).is_err(), "{name}");
    }
}
