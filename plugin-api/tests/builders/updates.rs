//! Updates and evictions of other containers.

use nri_plugin_api::{Adjustment, ContainerUpdate, DeviceKind, DeviceRule, Resources, Updates};

use crate::protocol::text;

pub(crate) type Build = fn(Resources) -> Resources;

/// What is asked for, and what the runtime reads. Zero is a value everywhere but in the texts.
pub(crate) const RESOURCES: &[(Build, &str)] = &[
    (|r| r.memory_limit(-1), "memory {limit {value: -1}}"),
    (
        |r| r.memory_reservation(2),
        "memory {reservation {value: 2}}",
    ),
    (|r| r.memory_swap(3), "memory {swap {value: 3}}"),
    (|r| r.memory_kernel(4), "memory {kernel {value: 4}}"),
    (|r| r.memory_kernel_tcp(5), "memory {kernel_tcp {value: 5}}"),
    (
        |r| r.memory_swappiness(100),
        "memory {swappiness {value: 100}}",
    ),
    (|r| r.memory_swappiness(0), "memory {swappiness {}}"),
    (
        |r| r.disable_oom_killer(true),
        "memory {disable_oom_killer {value: true}}",
    ),
    (
        |r| r.memory_use_hierarchy(false),
        "memory {use_hierarchy {}}",
    ),
    (
        |r| r.memory_use_hierarchy(true),
        "memory {use_hierarchy {value: true}}",
    ),
    (|r| r.cpu_shares(2), "cpu {shares {value: 2}}"),
    (|r| r.cpu_shares(0), "cpu {shares {}}"),
    (|r| r.cpu_quota(-1), "cpu {quota {value: -1}}"),
    (|r| r.cpu_period(100_000), "cpu {period {value: 100000}}"),
    (
        |r| r.cpu_realtime_runtime(7),
        "cpu {realtime_runtime {value: 7}}",
    ),
    (
        |r| r.cpu_realtime_period(8),
        "cpu {realtime_period {value: 8}}",
    ),
    (|r| r.cpus("0-3,8"), r#"cpu {cpus: "0-3,8"}"#),
    (|r| r.mems("0"), r#"cpu {mems: "0"}"#),
    (
        |r| r.hugepage_limit("2MB", 0).hugepage_limit("1GB", 9),
        r#"hugepage_limits {page_size: "2MB"} hugepage_limits {page_size: "1GB" limit: 9}"#,
    ),
    (
        |r| r.blockio_class("slow"),
        r#"blockio_class {value: "slow"}"#,
    ),
    (|r| r.blockio_class(""), "blockio_class {}"),
    (|r| r.rdt_class("gold"), r#"rdt_class {value: "gold"}"#),
    (|r| r.rdt_class(""), "rdt_class {}"),
    (
        |r| r.unified("memory.high", "1"),
        r#"unified {key: "memory.high" value: "1"}"#,
    ),
    (|r| r.pids_limit(10), "pids {limit: 10}"),
    (|r| r.pids_limit(0), "pids {}"),
    (
        |r| {
            r.device_rule(
                DeviceRule::allow("r")
                    .kind(DeviceKind::Character)
                    .major(1)
                    .minor(3),
            )
        },
        r#"devices {allow: true type: "c" major {value: 1} minor {value: 3} access: "r"}"#,
    ),
];

#[test]
fn a_runtime_reads_the_resources_that_a_component_sets() {
    for (build, expected) in RESOURCES {
        let resources = build(Resources::new());
        let mut adjustment = Adjustment::new();
        adjustment.set_resources(resources.clone()).unwrap();
        assert_eq!(
            text("ContainerAdjustment", adjustment.message()),
            format!("linux {{resources {{{expected}}}}}")
        );
        let update = ContainerUpdate::new("c", resources);
        assert_eq!(
            text("ContainerUpdate", update.message()),
            format!(r#"container_id: "c" linux {{resources {{{expected}}}}}"#)
        );
    }
}

#[test]
fn failures_of_an_update_can_be_ignored() {
    let update = ContainerUpdate::new("c", Resources::new().cpu_shares(2)).ignore_failure();
    assert_eq!(
        text("ContainerUpdate", update.message()),
        r#"container_id: "c" linux {resources {cpu {shares {value: 2}}}} ignore_failure: true"#
    );
}

#[test]
fn an_eviction_names_a_container_and_a_reason() {
    let mut updates = Updates::new();
    updates.evict("c", "out of space").unwrap();
    assert!(!updates.is_empty());
    let [eviction] = updates.evictions() else {
        panic!("one eviction")
    };
    assert_eq!(
        text("ContainerEviction", eviction),
        r#"container_id: "c" reason: "out of space""#
    );
}
