use super::values::some;
use super::{
    Adjustment, AdjustmentError, ContainerUpdate, Device, DeviceKind, Item, Mount, Resources,
    Updates, api,
};

fn device(path: &str) -> Device {
    Device::new(path, DeviceKind::Character, 1, 3)
}

/// One call for each thing that has a name.
type Setter = fn(&mut Adjustment, &str) -> Result<(), AdjustmentError>;

const SETTERS: &[(Item, Setter)] = &[
    (Item::Device, |a, name| a.add_device(device(name)).map(drop)),
    (Item::Mount, |a, name| {
        a.add_mount(Mount::bind("/src", name)).map(drop)
    }),
    (Item::Annotation, |a, name| {
        a.set_annotation(name, "v").map(drop)
    }),
    (Item::Env, |a, name| a.set_env(name, "v").map(drop)),
    (Item::Update, |a, name| {
        a.update(ContainerUpdate::new(name, Resources::new().cpus("1")))
            .map(drop)
    }),
];

#[test]
fn the_same_name_twice_is_refused_and_the_first_one_kept() {
    for (item, set) in SETTERS {
        let mut adjustment = Adjustment::new();
        set(&mut adjustment, "x").unwrap();
        let before = adjustment.clone();
        let refused = AdjustmentError::SetTwice {
            item: *item,
            name: "x".to_owned(),
        };
        assert_eq!(set(&mut adjustment, "x"), Err(refused));
        assert_eq!(adjustment, before);
    }
}

#[test]
fn names_that_are_empty_or_look_like_removals_are_refused() {
    for (item, set) in SETTERS {
        let item = *item;
        assert_eq!(
            set(&mut Adjustment::new(), ""),
            Err(AdjustmentError::Unnamed { item })
        );
        let marker = AdjustmentError::RemovalMarker {
            item,
            name: "-x".to_owned(),
        };
        assert_eq!(set(&mut Adjustment::new(), "-x"), Err(marker));
    }
}

#[test]
fn something_removed_can_be_set_anew() {
    let mut adjustment = Adjustment::new();
    adjustment.remove_mount("/data").unwrap();
    adjustment.remove_mount("/data").unwrap();
    adjustment
        .add_mount(Mount::bind("/srv", "/data").option("ro"))
        .unwrap();
    adjustment
        .remove_device("/dev/null")
        .unwrap()
        .add_device(device("/dev/null"))
        .unwrap();
    adjustment
        .remove_env("A")
        .unwrap()
        .set_env("A", "1")
        .unwrap();
    adjustment
        .remove_annotation("k")
        .unwrap()
        .set_annotation("k", "v")
        .unwrap();

    let message = adjustment.message();
    let destinations: Vec<_> = message
        .mounts
        .iter()
        .map(|m| m.destination.as_str())
        .collect();
    assert_eq!(destinations, ["-/data", "/data"]);
    assert_eq!(message.mounts[1].options, ["rbind", "ro"]);
    let paths: Vec<_> = message
        .linux
        .devices
        .iter()
        .map(|d| d.path.as_str())
        .collect();
    assert_eq!(paths, ["-/dev/null", "/dev/null"]);
    let env: Vec<_> = message
        .env
        .iter()
        .map(|e| (e.key.as_str(), e.value.as_str()))
        .collect();
    assert_eq!(env, [("-A", ""), ("A", "1")]);
    assert_eq!(message.annotations.keys().collect::<Vec<_>>(), ["-k", "k"]);
}

#[test]
fn a_device_has_only_the_attributes_that_were_set() {
    let mut adjustment = Adjustment::new();
    adjustment.add_device(device("/dev/a")).unwrap();
    let b = Device::new("/dev/b", DeviceKind::Block, 8, 0)
        .file_mode(0o660)
        .uid(0)
        .gid(6);
    adjustment.add_device(b).unwrap();
    let [a, b] = adjustment.message().linux.devices.as_slice() else {
        panic!("two devices")
    };
    assert_eq!((a.type_.as_str(), a.major, a.minor), ("c", 1, 3));
    assert!(a.file_mode.is_none() && a.uid.is_none() && a.gid.is_none());
    assert_eq!((b.type_.as_str(), b.major, b.minor), ("b", 8, 0));
    assert_eq!(b.file_mode.value, 0o660);
    assert!(b.uid.is_some(), "user 0 is a value, too");
    assert_eq!(b.gid.value, 6);
}

#[test]
fn cdi_names_must_be_qualified() {
    let mut adjustment = Adjustment::new();
    adjustment.add_cdi_device("vendor.com/class=dev0").unwrap();
    for name in [
        "dev0",
        "vendor.com/class",
        "/class=dev0",
        "vendor.com/=dev0",
        "v/c=",
    ] {
        let refused = adjustment.add_cdi_device(name).unwrap_err();
        assert!(
            matches!(refused, AdjustmentError::CdiName { name: refused, .. } if refused == name)
        );
    }
    assert!(matches!(
        adjustment.add_cdi_device("vendor.com/class=dev0"),
        Err(AdjustmentError::SetTwice {
            item: Item::CdiDevice,
            ..
        })
    ));
}

#[test]
fn environment_names_cannot_hold_an_equals_sign() {
    let refused = AdjustmentError::EnvName {
        name: "A=B".to_owned(),
    };
    assert_eq!(Adjustment::new().set_env("A=B", "c"), Err(refused));
}

#[test]
fn the_created_container_cannot_be_updated() {
    let mut adjustment = Adjustment::new();
    adjustment
        .update(ContainerUpdate::new("other", Resources::new().cpus("0-1")))
        .unwrap();
    let response = adjustment.clone().into_response("created").unwrap();
    assert!(response.adjust.is_none());
    assert_eq!(response.update[0].linux.resources.cpu.cpus, "0-1");

    let refused = AdjustmentError::UpdateOfCreated {
        id: "other".to_owned(),
    };
    assert_eq!(adjustment.into_response("other"), Err(refused));
}

#[test]
fn an_update_holds_what_was_set_and_nothing_else() {
    let resources = Resources::new()
        .memory_limit(1 << 30)
        .cpu_quota(50_000)
        .cpu_period(100_000)
        .unified("memory.high", "900000000");
    let update = ContainerUpdate::new("c", resources).ignore_failure();
    let resources = &update.message().linux.resources;
    assert_eq!(resources.memory.limit.value, 1 << 30);
    assert!(resources.memory.swap.is_none());
    assert_eq!(
        (resources.cpu.quota.value, resources.cpu.period.value),
        (50_000, 100_000)
    );
    assert!(resources.cpu.shares.is_none());
    assert_eq!(resources.unified["memory.high"], "900000000");
    assert!(update.message().ignore_failure);
    let mut updates = Updates::new();
    updates.add(update).unwrap();
    assert_eq!(updates.messages().len(), 1);
}

#[test]
fn an_update_that_changes_nothing_is_left_out() {
    let mut updates = Updates::new();
    updates
        .add(ContainerUpdate::new("c", Resources::new()))
        .unwrap();
    let mut hollow = ContainerUpdate::new("d", Resources::new()).ignore_failure();
    hollow.message_mut().linux = some(api::LinuxContainerUpdate::new());
    updates.add(hollow).unwrap();
    assert!(updates.is_empty());
    updates
        .add(ContainerUpdate::new("e", Resources::new().cpus("1")))
        .unwrap();
    assert_eq!(updates.messages().len(), 1);
}

#[test]
fn evictions_go_only_where_an_answer_has_a_place_for_them() {
    let mut adjustment = Adjustment::new();
    adjustment.evict("other", "out of space").unwrap();
    let response = adjustment.clone().into_response("created").unwrap();
    assert_eq!(response.evict[0].container_id, "other");

    let refused = AdjustmentError::EvictionNotTaken {
        method: "StopContainer",
    };
    let updates = adjustment.updates().clone();
    assert_eq!(updates.into_updates("StopContainer"), Err(refused));
}
