//! What the log says.

use nri_device_injector::DeviceInjector;
use nri_plugin_api::testing::{self, Harness, Outcome, json};

use crate::asking::{DEV, MNT};

#[test]
fn unknown_fields_are_ignored_and_logged_in_one_line() {
    let mut injector = Harness::<DeviceInjector>::create(json!({"allow_devices": ["*"]})).unwrap();
    let value = "[{path: /dev/null, fileMode: 0600, x: 1}, {path: /dev/zero, y: 1}]";
    let pod = testing::pod("p", [(DEV, value)]);
    let container = testing::container(&pod, "c0");
    let _answer = injector.create_container(&pod, &container).answer();
    let logs = injector.logs();
    assert_eq!(logs.len(), 2, "{logs:?}");
    assert_eq!(logs[0].level, testing::LogLevel::Warn);
    assert!(
        logs[0].message.contains("unknown field \"fileMode\""),
        "{logs:?}"
    );
    assert!(logs[0].message.contains("count=3"), "{logs:?}");
}

#[test]
fn what_is_injected_is_logged_once() {
    let mut injector = Harness::<DeviceInjector>::create(json!({"allow_devices": ["*"]})).unwrap();
    let pod = testing::pod(
        "p",
        [(
            "devices.nri.io/container.c0",
            "[{path: /dev/null}, {path: /dev/zero}]",
        )],
    );
    for name in ["c0", "c1"] {
        let container = testing::container(&pod, name);
        let _answer = injector.create_container(&pod, &container).answer();
    }
    let logs = injector.logs();
    assert_eq!(logs.len(), 1, "{logs:?}");
    for part in ["default", "p", "c0", "/dev/null (c 1:3), /dev/zero (c 1:5)"] {
        assert!(logs[0].message.contains(part), "{logs:?}");
    }
}

#[test]
fn nothing_that_is_injected_is_left_out_of_the_log() {
    let config = json!({"allow_devices": ["*"], "allow_mounts": ["*"]});
    let mut injector = Harness::<DeviceInjector>::create(config).unwrap();
    let devices: String = (0..256)
        .map(|n| {
            format!(
                "- {{path: \"/dev/{n}\\n, {}\", type: c, major: 1, minor: 3}}\n",
                "x".repeat(900)
            )
        })
        .collect();
    let mounts = format!(
        "- {{source: /{}/secret, destination: /x}}",
        "a/".repeat(1500)
    );
    let pod = testing::pod("p", [(DEV, devices.as_str()), (MNT, mounts.as_str())]);
    let outcome = injector.create_container(&pod, &testing::container(&pod, "c0"));
    assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
    let logs = injector.logs();
    for n in 0..256 {
        let quoted = format!("\"/dev/{n}\\n, ");
        let told = |line: &str| {
            line.replace("\\\"", "\"")
                .replace("\\\\", "\\")
                .contains(&quoted)
        };
        assert!(
            logs.iter().any(|log| told(&log.message)),
            "{n}: {}",
            logs[0].message
        );
    }
    assert!(logs[0].message.contains("/secret -> /x"), "{logs:?}");
    assert!(logs.iter().all(|log| log.message.len() < 8 << 10));
}
