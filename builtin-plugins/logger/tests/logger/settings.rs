//! What the settings ask for, and mistakes in them.

use std::collections::HashMap;

use nri_logger::Logger;
use nri_plugin_api::testing::{Harness, Setup, json};
use nri_plugin_api::{Method, MethodSet};
use serde_json::Value;

use crate::lines::everything;

#[test]
fn only_the_events_of_the_settings_are_subscribed_to() {
    let methods = |events: Value| {
        let mut logger = Harness::<Logger>::create(json!({"events": events})).unwrap();
        logger.methods().iter().collect::<Vec<_>>()
    };
    assert_eq!(
        methods(json!(["CreateContainer"])),
        [Method::CreateContainer]
    );
    assert_eq!(methods(json!(["pod"])).len(), 5);
    assert_eq!(methods(json!(["container", "synchronize"])).len(), 9);
    assert_eq!(methods(json!(["pod, createcontainer"])).len(), 6);
}

/// A failure in `ValidateContainerAdjustment` refuses the container, whatever `on_failure` is. Nobody
/// who switches a log on expects that.
#[test]
fn a_logger_can_refuse_no_container_unless_it_is_told_to_log_the_check() {
    let methods = |config| Harness::<Logger>::create(config).unwrap().methods();
    let harmless = MethodSet::ALL.without(Method::ValidateContainerAdjustment);
    assert_eq!(methods(json!({})), harmless);
    assert_eq!(methods(json!({"events": ["all"]})), harmless);
    assert_eq!(methods(everything()), MethodSet::ALL);
}

#[test]
fn mistakes_in_the_settings_are_told_by_key_and_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let failure = Harness::<Logger>::create(json!({
        "file": folder.path().join("absent/events"),
        "events": ["pod", "CreatePod", ""],
        "queue": 0,
        "queue_bytes": 0,
        "max_event_bytes": 10,
        "rotate_bytes": 1,
        "rotate_keep": 1001,
        "namespaces": ["a", "a**"],
        "exclude_namespaces": ["["],
        "labels": {"app": "***"},
        "redact_env": ["["],
        "redact_annotations": ["a", "["],
    }))
    .unwrap_err();
    let mistakes: HashMap<&str, &str> = failure
        .mistakes
        .iter()
        .map(|mistake| (mistake.key.as_str(), mistake.message.as_str()))
        .collect();
    let mut keys: Vec<&&str> = mistakes.keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            &"events[1]",
            &"events[2]",
            &"exclude_namespaces[0]",
            &"file",
            &"labels.app",
            &"max_event_bytes",
            &"namespaces[1]",
            &"queue",
            &"queue_bytes",
            &"redact_annotations[1]",
            &"redact_env[0]",
            &"rotate_bytes",
            &"rotate_keep",
        ]
    );
    assert!(mistakes["file"].contains("No such file"), "{mistakes:?}");
    assert!(mistakes["events[1]"].contains("CreatePod"), "{mistakes:?}");

    for config in [
        json!({"events": []}),
        json!({"namespaces": []}),
        json!({"format": "yaml"}),
        json!({"file": "/dev/null"}),
        json!({"file": "x"}),
    ] {
        let failure = Harness::<Logger>::create(config.clone()).unwrap_err();
        assert_eq!(failure.mistakes.len(), 1, "{config}");
    }
    let failure = Harness::<Logger>::create(json!({"event": []})).unwrap_err();
    assert!(failure.message.contains("event"), "{failure}");
}

#[test]
fn a_trial_makes_no_file_and_finds_what_would_keep_it_from_being_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("events.json");
    let create = |file: &std::path::Path| {
        let config = json!({ "file": file });
        let created = Setup::new().trial().create::<Logger>(&config);
        created.map(drop).map_err(|failure| failure.mistakes.len())
    };
    assert_eq!(create(&file), Ok(()));
    assert!(!file.exists());
    std::fs::write(&file, "kept").expect("it can be written");
    assert_eq!(create(&file), Ok(()));
    assert_eq!(std::fs::read(&file).expect("it is there"), b"kept");
    assert_eq!(create(&folder.path().join("no/events.json")), Err(1));
    assert_eq!(create(folder.path()), Err(1));
}
