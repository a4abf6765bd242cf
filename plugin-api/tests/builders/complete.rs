//! No field of the protocol is out of reach.

use std::collections::BTreeSet;

use nri_plugin_api::{Adjustment, Resources, Updates};

use crate::adjustments::ADJUSTMENTS;
use crate::protocol::{all_fields, decoded, definition, set_fields};
use crate::updates::RESOURCES;

#[test]
fn every_field_of_an_adjustment_can_be_set() {
    let adjustment = definition("ContainerAdjustment");
    let mut reached = BTreeSet::new();
    let resources = RESOURCES.iter().map(|(build, _)| {
        let mut adjustment = Adjustment::new();
        adjustment.set_resources(build(Resources::new())).unwrap();
        adjustment
    });
    let others = ADJUSTMENTS.iter().map(|(build, _)| {
        let mut adjustment = Adjustment::new();
        build(&mut adjustment).unwrap();
        adjustment
    });
    for one in resources.chain(others) {
        set_fields(&*decoded(&adjustment, one.message()), &mut reached);
    }
    let mut all = BTreeSet::new();
    all_fields(&adjustment, &mut all);
    assert!(all.contains("LinuxMemory.swap") && all.contains("LinuxSeccompArg.op"));
    let missing: Vec<_> = all.difference(&reached).collect();
    assert!(missing.is_empty(), "no builder sets {missing:?}");
}

#[test]
fn every_field_of_an_update_and_an_eviction_can_be_set() {
    let mut updates = Updates::new();
    updates.evict("c", "r").unwrap();
    let resources = Resources::new().cpus("1");
    let update = nri_plugin_api::ContainerUpdate::new("c", resources).ignore_failure();
    let mut reached = BTreeSet::new();
    let (of_update, of_eviction) = (
        definition("ContainerUpdate"),
        definition("ContainerEviction"),
    );
    set_fields(&*decoded(&of_update, update.message()), &mut reached);
    set_fields(
        &*decoded(&of_eviction, &updates.evictions()[0]),
        &mut reached,
    );
    let own = |field: &&String| {
        // The rest is the same as in adjustments.
        [
            "ContainerUpdate.",
            "LinuxContainerUpdate.",
            "ContainerEviction.",
        ]
        .iter()
        .any(|message| field.starts_with(message))
    };
    let mut all = BTreeSet::new();
    all_fields(&of_update, &mut all);
    all_fields(&of_eviction, &mut all);
    assert!(all.contains("ContainerUpdate.ignore_failure"));
    let missing: Vec<_> = all.difference(&reached).filter(own).collect();
    assert!(missing.is_empty(), "no builder sets {missing:?}");
}
