//! Adjustments of a container that is being created.

use nri_plugin_api::api::{
    IOPrioClass, LinuxSchedulerFlag, LinuxSchedulerPolicy, MpolFlag, MpolMode,
};
use nri_plugin_api::{
    Adjustment, AdjustmentError, Device, DeviceKind, DeviceRule, Hook, HookStage, IoPriority,
    MemoryPolicy, Mount, NamespaceKind, Rdt, Resources, Rlimit, Scheduler, SeccompPolicy,
    SeccompRule,
};

use crate::protocol::text;

pub(crate) type Build =
    for<'a> fn(&'a mut Adjustment) -> Result<&'a mut Adjustment, AdjustmentError>;

/// What is asked for, and what the runtime reads.
pub(crate) const ADJUSTMENTS: &[(Build, &str)] = &[
    (
        |a| a.set_annotation("k", "v"),
        r#"annotations {key: "k" value: "v"}"#,
    ),
    (
        |a| a.set_annotation("k", ""),
        r#"annotations {key: "k" value: ""}"#,
    ),
    (
        |a| a.remove_annotation("k"),
        r#"annotations {key: "-k" value: ""}"#,
    ),
    (
        |a| a.add_mount(Mount::bind("/srv", "/data").option("ro")),
        r#"mounts {destination: "/data" type: "bind" source: "/srv" options: "rbind" options: "ro"}"#,
    ),
    (
        |a| a.add_mount(Mount::new("tmpfs", "tmpfs", "/t").options(["size=1m", "noexec"])),
        r#"mounts {destination: "/t" type: "tmpfs" source: "tmpfs" options: "size=1m" options: "noexec"}"#,
    ),
    (
        |a| a.remove_mount("/data"),
        r#"mounts {destination: "-/data"}"#,
    ),
    (|a| a.set_env("A", "1=2"), r#"env {key: "A" value: "1=2"}"#),
    (|a| a.set_env("A", ""), r#"env {key: "A"}"#),
    (|a| a.remove_env("A"), r#"env {key: "-A"}"#),
    (|a| a.set_args(["sh", ""]), r#"args: "sh" args: """#),
    (|a| Ok(a.remove_args().remove_args()), r#"args: """#),
    (
        |a| a.remove_args().set_args(["sh"]),
        r#"args: "" args: "sh""#,
    ),
    (
        |a| Ok(a.set_args(["sh"])?.remove_args()),
        r#"args: "" args: "sh""#,
    ),
    (
        |a| {
            let hook = Hook::new("/h")
                .arg("h")
                .args(["-v"])
                .env("A=1")
                .envs(["B=2"])
                .timeout(5);
            a.add_hook(HookStage::CreateRuntime, hook)
        },
        r#"hooks {create_runtime {path: "/h" args: "h" args: "-v" env: "A=1" env: "B=2" timeout {value: 5}}}"#,
    ),
    (
        |a| {
            let stages = HookStage::ALL.into_iter().rev();
            stages
                .map(|stage| (stage, Hook::new(format!("/{}", stage.name()))))
                .try_fold(a, |a, (stage, hook)| a.add_hook(stage, hook))
        },
        r#"hooks {prestart {path: "/prestart"} create_runtime {path: "/createRuntime"} create_container {path: "/createContainer"} start_container {path: "/startContainer"} poststart {path: "/poststart"} poststop {path: "/poststop"}}"#,
    ),
    (
        |a| {
            a.add_hook(HookStage::Poststop, Hook::new("/h"))?
                .add_hook(HookStage::Poststop, Hook::new("/h"))
        },
        r#"hooks {poststop {path: "/h"} poststop {path: "/h"}}"#,
    ),
    (
        |a| a.add_device(Device::new("/dev/a", DeviceKind::Character, 1, 3)),
        r#"linux {devices {path: "/dev/a" type: "c" major: 1 minor: 3}}"#,
    ),
    (
        |a| {
            a.add_device(
                Device::new("/dev/b", DeviceKind::Block, 8, 0)
                    .file_mode(0o660)
                    .uid(0)
                    .gid(6),
            )
        },
        r#"linux {devices {path: "/dev/b" type: "b" major: 8 file_mode {value: 432} uid {} gid {value: 6}}}"#,
    ),
    (
        |a| a.remove_device("/dev/a"),
        r#"linux {devices {path: "-/dev/a"}}"#,
    ),
    (
        |a| a.add_cdi_device("v.com/c=d:0"),
        r#"CDI_devices {name: "v.com/c=d:0"}"#,
    ),
    (
        |a| a.add_rlimit(Rlimit::Nofile, 5, u64::MAX),
        r#"rlimits {type: "RLIMIT_NOFILE" hard: 18446744073709551615 soft: 5}"#,
    ),
    (
        |a| a.add_rlimit(Rlimit::Core, 0, 0),
        r#"rlimits {type: "RLIMIT_CORE"}"#,
    ),
    (
        |a| a.set_oom_score_adj(-7),
        "linux {oom_score_adj {value: -7}}",
    ),
    (|a| a.set_oom_score_adj(0), "linux {oom_score_adj {}}"),
    (
        |a| a.set_cgroups_path("/c/g"),
        r#"linux {cgroups_path: "/c/g"}"#,
    ),
    (
        |a| a.set_io_priority(IoPriority::new(IOPrioClass::IOPRIO_CLASS_BE, 7)),
        "linux {io_priority {class: IOPRIO_CLASS_BE priority: 7}}",
    ),
    (
        |a| a.set_io_priority(IoPriority::new(IOPrioClass::IOPRIO_CLASS_NONE, 0)),
        "linux {io_priority {}}",
    ),
    (
        |a| {
            let flag = LinuxSchedulerFlag::SCHED_FLAG_RESET_ON_FORK;
            a.set_scheduler(
                Scheduler::new(LinuxSchedulerPolicy::SCHED_FIFO)
                    .priority(10)
                    .flag(flag),
            )
        },
        "linux {scheduler {policy: SCHED_FIFO priority: 10 flags: SCHED_FLAG_RESET_ON_FORK}}",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(LinuxSchedulerPolicy::SCHED_BATCH).nice(-20)),
        "linux {scheduler {policy: SCHED_BATCH nice: -20}}",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(LinuxSchedulerPolicy::SCHED_DEADLINE).deadline(1, 2, 3)),
        "linux {scheduler {policy: SCHED_DEADLINE runtime: 1 deadline: 2 period: 3}}",
    ),
    (
        |a| a.set_scheduler(Scheduler::new(LinuxSchedulerPolicy::SCHED_NONE)),
        "linux {scheduler {}}",
    ),
    (
        |a| {
            let policy = MemoryPolicy::new(MpolMode::MPOL_BIND).nodes("0-1");
            a.set_memory_policy(policy.flag(MpolFlag::MPOL_F_STATIC_NODES))
        },
        r#"linux {memory_policy {mode: MPOL_BIND nodes: "0-1" flags: MPOL_F_STATIC_NODES}}"#,
    ),
    (
        |a| a.set_memory_policy(MemoryPolicy::new(MpolMode::MPOL_DEFAULT)),
        "linux {memory_policy {}}",
    ),
    (
        |a| {
            a.set_new_namespace(NamespaceKind::Ipc)?
                .join_namespace(NamespaceKind::Network, "/n")
        },
        r#"linux {namespaces {type: "ipc"} namespaces {type: "network" path: "/n"}}"#,
    ),
    (
        |a| a.remove_namespace(NamespaceKind::Pid),
        r#"linux {namespaces {type: "-pid"}}"#,
    ),
    (
        |a| a.set_sysctl("net.a", "1"),
        r#"linux {sysctl {key: "net.a" value: "1"}}"#,
    ),
    (
        |a| a.remove_sysctl("net.a"),
        r#"linux {sysctl {key: "-net.a" value: ""}}"#,
    ),
    (
        |a| a.add_net_device("ens1", Some("net0")),
        r#"linux {net_devices {key: "ens1" value {name: "net0"}}}"#,
    ),
    (
        |a| a.add_net_device("ens2", None),
        r#"linux {net_devices {key: "ens2" value {}}}"#,
    ),
    (
        |a| a.remove_net_device("ens1"),
        r#"linux {net_devices {key: "-ens1" value {}}}"#,
    ),
    (
        |a| {
            a.set_rdt(
                Rdt::new()
                    .clos_id("gold")
                    .schemata(["L3:0=f"])
                    .monitoring(false),
            )
        },
        r#"linux {rdt {clos_id {value: "gold"} schemata {value: "L3:0=f"} enable_monitoring {}}}"#,
    ),
    (|a| Ok(a.remove_rdt()), "linux {rdt {remove: true}}"),
    (
        |a| a.remove_rdt().set_rdt(Rdt::new().monitoring(true)),
        "linux {rdt {enable_monitoring {value: true} remove: true}}",
    ),
    (
        |a| {
            let rule = SeccompRule::new("SCMP_ACT_ERRNO", ["bpf", "ptrace"]).errno(0);
            let rule = rule.arg(1, "SCMP_CMP_GT", 9).arg_masked(5, 3, 1);
            a.set_seccomp_policy(
                SeccompPolicy::new("SCMP_ACT_ALLOW")
                    .default_errno(38)
                    .architecture("SCMP_ARCH_X86_64")
                    .flag("SECCOMP_FILTER_FLAG_LOG")
                    .listener("/run/s", "m")
                    .rule(rule),
            )
        },
        r#"linux {seccomp_policy {default_action: "SCMP_ACT_ALLOW" default_errno {value: 38} architectures: "SCMP_ARCH_X86_64" flags: "SECCOMP_FILTER_FLAG_LOG" listener_path: "/run/s" listener_metadata: "m" syscalls {names: "bpf" names: "ptrace" action: "SCMP_ACT_ERRNO" errno_ret {} args {index: 1 value: 9 op: "SCMP_CMP_GT"} args {index: 5 value: 3 value_two: 1 op: "SCMP_CMP_MASKED_EQ"}}}}"#,
    ),
    (
        |a| a.set_resources(Resources::new().cpus("0-1").memory_limit(0)),
        r#"linux {resources {memory {limit {}} cpu {cpus: "0-1"}}}"#,
    ),
    (
        |a| {
            let some = DeviceRule::deny("m")
                .kind(DeviceKind::Block)
                .major(8)
                .minor(0);
            a.set_resources(
                Resources::new()
                    .device_rule(DeviceRule::allow("rwm"))
                    .device_rule(some),
            )
        },
        r#"linux {resources {devices {allow: true type: "a" access: "rwm"} devices {type: "b" major {value: 8} minor {} access: "m"}}}"#,
    ),
];

#[test]
fn a_runtime_reads_what_a_component_asks_for() {
    for (build, expected) in ADJUSTMENTS {
        let mut adjustment = Adjustment::new();
        build(&mut adjustment).unwrap();
        assert!(!adjustment.is_empty(), "{expected}");
        assert_eq!(text("ContainerAdjustment", adjustment.message()), *expected);
    }
}

#[test]
fn names_of_the_specification_lead_back_to_what_they_name() {
    for stage in HookStage::ALL {
        assert_eq!(HookStage::from_name(stage.name()), Some(stage));
    }
    for kind in NamespaceKind::ALL {
        assert_eq!(NamespaceKind::from_name(kind.name()), Some(kind));
    }
    for limit in Rlimit::ALL {
        assert_eq!(Rlimit::from_name(limit.name()), Some(limit));
    }
    assert_eq!(HookStage::from_name("poststopped"), None);
    assert_eq!(NamespaceKind::from_name("-pid"), None);
    assert_eq!(Rlimit::from_name("NOFILE"), None);
}
