//! The messages as JSON, with the feature `serde`.

use nri_plugin_api::api;
use nri_plugin_api::protobuf::{EnumOrUnknown, MessageField};
use serde_json::{json, to_value};

#[test]
fn field_names_are_those_of_the_protocol_and_defaults_are_left_out() {
    let mut container = api::Container::new();
    container.name = "web".to_owned();
    container.labels.insert("b".to_owned(), "2".to_owned());
    container.labels.insert("a".to_owned(), String::new());
    container.mounts.push(api::Mount {
        type_: "tmpfs".to_owned(),
        ..Default::default()
    });
    container.CDI_devices.push(api::CDIDevice {
        name: "v/c=d".to_owned(),
        ..Default::default()
    });
    container.user = MessageField::some(api::User::new());
    let expected = json!({
        "name": "web",
        "labels": { "a": "", "b": "2" },
        "mounts": [{ "type": "tmpfs" }],
        "CDI_devices": [{ "name": "v/c=d" }],
        "user": {},
    });
    assert_eq!(to_value(&container).unwrap(), expected);
}

#[test]
fn enums_appear_by_name_and_newer_values_by_number() {
    let mut container = api::Container::new();
    container.state = api::ContainerState::CONTAINER_RUNNING.into();
    assert_eq!(
        to_value(&container).unwrap(),
        json!({ "state": "CONTAINER_RUNNING" })
    );
    container.state = EnumOrUnknown::from_i32(77);
    assert_eq!(to_value(&container).unwrap(), json!({ "state": 77 }));
    let mut policy = api::LinuxMemoryPolicy::new();
    policy.flags = vec![
        api::MpolFlag::MPOL_F_STATIC_NODES.into(),
        EnumOrUnknown::from_i32(9),
    ];
    assert_eq!(
        to_value(&policy).unwrap(),
        json!({ "flags": ["MPOL_F_STATIC_NODES", 9] })
    );
}

#[test]
fn wrappers_appear_as_their_value_even_if_it_is_the_default() {
    let mut resources = api::LinuxResources::new();
    let memory = resources.memory.mut_or_insert_default();
    memory.limit = MessageField::some(api::OptionalInt64::new());
    resources.rdt_class = MessageField::some(api::OptionalString {
        value: "gold".to_owned(),
        ..Default::default()
    });
    let mut rdt = api::LinuxRdt::new();
    rdt.schemata = MessageField::some(api::OptionalRepeatedString {
        value: vec!["L3:0=f".to_owned()],
        ..Default::default()
    });
    assert_eq!(
        to_value(&resources).unwrap(),
        json!({ "memory": { "limit": 0 }, "rdt_class": "gold" })
    );
    assert_eq!(to_value(&rdt).unwrap(), json!({ "schemata": ["L3:0=f"] }));
}

#[test]
fn maps_with_numbers_as_keys_are_objects() {
    let mut owners = api::FieldOwners::new();
    owners.simple.insert(7, "10-a".to_owned());
    assert_eq!(
        to_value(&owners).unwrap(),
        json!({ "simple": { "7": "10-a" } })
    );
}

#[test]
fn unknown_fields_stay_out_of_json() {
    use nri_plugin_api::protobuf::Message;
    // Field 100 with the number 1.
    let empty = api::Empty::parse_from_bytes(&[0xa0, 0x06, 0x01]).unwrap();
    assert_eq!(to_value(&empty).unwrap(), json!({}));
    assert_eq!(
        empty.write_to_bytes().unwrap(),
        [0xa0, 0x06, 0x01],
        "but are not lost"
    );
}
