//! Mistakes in a configuration are told by key.

use nri_plugin_api::testing::{CreateFailure, FailureKind, Harness, Setup, Value, json};
use nri_plugin_api::{Component, ConfigMistakes, Error, Host, NoConfig};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    allow_devices: Vec<Device>,
    #[serde(default)]
    later: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    path: String,
}

struct Strict;

#[nri_plugin_api::component(id = "com.example.strict", no_export)]
impl Component for Strict {
    type Config = Settings;

    fn create(config: Settings, _: Host) -> Result<Self, Error> {
        if config.later {
            return Err(Error::try_later("no device yet"));
        }
        let mut mistakes = ConfigMistakes::new();
        for (i, device) in config.allow_devices.iter().enumerate() {
            if !device.path.starts_with("/dev/") {
                mistakes.add(
                    format!("allow_devices[{i}].path"),
                    "expected a path below /dev",
                );
            }
        }
        mistakes.into_result()?;
        Ok(Self)
    }
}

fn failure(config: Value) -> CreateFailure {
    Harness::<Strict>::create(config).expect_err("the configuration is wrong")
}

fn keys(failure: &CreateFailure) -> Vec<&str> {
    failure
        .mistakes
        .iter()
        .map(|mistake| mistake.key.as_str())
        .collect()
}

#[test]
fn all_mistakes_of_the_component_are_told_at_once() {
    let failure = failure(json!({ "allow_devices": [
        { "path": "/etc" }, { "path": "/dev/fuse" }, { "path": "x" },
    ] }));
    assert_eq!(
        keys(&failure),
        ["allow_devices[0].path", "allow_devices[2].path"]
    );
    assert_eq!(failure.kind, FailureKind::Failed);
    assert!(
        failure.message.contains("allow_devices[2].path: expected"),
        "{failure}"
    );
}

#[test]
fn what_serde_finds_is_told_with_the_path_of_its_key() {
    for (config, key, message) in [
        (
            json!({ "later": 5 }),
            "later",
            "invalid type: integer `5`, expected a boolean",
        ),
        (
            json!({ "allow_devices": [{ "path": "/dev/a" }, { "path": 7 }] }),
            "allow_devices[1].path",
            "expected a string",
        ),
        (
            json!({ "allow_devices": [{}] }),
            "allow_devices[0]",
            "missing field `path`",
        ),
        (
            json!({ "alow_devices": [] }),
            "alow_devices",
            "unknown field `alow_devices`",
        ),
        (
            json!({ "allow_devices": [{ "path": "/dev/a", "x": 1 }] }),
            "allow_devices[0].x",
            "unknown field `x`",
        ),
    ] {
        let failure = failure(config.clone());
        assert_eq!(keys(&failure), [key], "{config}");
        let found = &failure.mistakes[0].message;
        assert!(found.contains(message), "{config}: {found}");
        assert!(
            !found.contains(" column "),
            "no user has seen the JSON text: {found}"
        );
    }
}

#[test]
fn trying_later_is_no_failure_for_good() {
    let failure = failure(json!({ "later": true }));
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::TryLater, "no device yet")
    );
    assert!(failure.mistakes.is_empty());
}

#[test]
fn a_component_without_configuration_refuses_any_key() {
    struct Plain;
    #[nri_plugin_api::component(id = "com.example.plain", no_export)]
    impl Component for Plain {
        type Config = NoConfig;
        fn create(_: NoConfig, _: Host) -> Result<Self, Error> {
            Ok(Self)
        }
    }
    drop(Harness::<Plain>::create(json!({})).unwrap());
    let failure = Harness::<Plain>::create(json!({ "x": 1 })).unwrap_err();
    assert_eq!(failure.mistakes[0].key, "x");
}

struct Careful;

#[nri_plugin_api::component(id = "com.example.careful", no_export)]
impl Component for Careful {
    type Config = NoConfig;

    fn create(_: NoConfig, host: Host) -> Result<Self, Error> {
        match host.is_trial() {
            true => Err(Error::failed("a trial")),
            false => Ok(Self),
        }
    }
}

#[test]
fn an_instance_knows_whether_it_is_a_trial() {
    let create = |setup: Setup| {
        let created = setup.create::<Careful>(&json!({}));
        created.map(drop).map_err(|failure| failure.message)
    };
    assert_eq!(create(Setup::new()), Ok(()));
    assert_eq!(create(Setup::new().trial()), Err("a trial".to_owned()));
}
