//! What is read when all is well.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nri_host::config::{
    Given, HostConfig, Isolation, OnFailure, OnStuck, Overrides, RuntimeConfig, load,
};
use serde_json::json;
use tracing::level_filters::LevelFilter;

use crate::fixture::{A, Files, with_components};

#[test]
fn an_empty_file_gives_the_defaults() {
    let files = Files::new("");
    let config = files.config();
    assert_eq!(config.runtime, RuntimeConfig::default());
    assert_eq!(config.host, HostConfig::default());
    assert!(config.components.is_empty());
    assert_eq!(
        files.warnings(),
        ["nri-host.toml: no component is configured"]
    );
}

#[test]
fn every_key_is_read() {
    let files = Files::new(
        r#"
[runtime]
socket = "/run/other/nri.sock"
expect_runtime = "containerd"
handshake_timeout = "2m"
[host]
component_dirs = ["/nowhere", "LIB"]
runtime_dir = "/run/x"
state_dir = "/var/lib/x"
fail_exempt_namespaces = ["kube-system", "storage"]
log = "debug"
[[component]]
name = "dev_ice.injector+1-x"
index = 7
library = "libb.so"
enabled = true
timeout = "500ms"
sync_timeout = "2s"
on_failure = "fail"
on_stuck = "restart-host"
required = true
isolation = "in-process"
quarantine = { failures = 0, window = "1h" }
[component.config]
allow = ["/dev/fuse"]
since = 1979-05-27
limit = 1.5
[component.config.deep]
flag = true
"#,
    );
    let config = files.config();
    assert_eq!(config.runtime.socket, Path::new("/run/other/nri.sock"));
    assert_eq!(config.runtime.expect_runtime.as_deref(), Some("containerd"));
    assert_eq!(config.runtime.handshake_timeout, Duration::from_secs(120));
    assert_eq!(
        config.host.component_dirs,
        [PathBuf::from("/nowhere"), files.path("lib")]
    );
    assert_eq!(config.host.runtime_dir, Path::new("/run/x"));
    assert_eq!(
        config.host.admin_socket(),
        Path::new("/run/x/nri-host.sock")
    );
    assert_eq!(config.host.state_dir, Path::new("/var/lib/x"));
    assert_eq!(
        config.host.fail_exempt_namespaces,
        ["kube-system", "storage"]
    );
    assert_eq!(config.host.log, LevelFilter::DEBUG);
    let [component] = &config.components[..] else {
        panic!("there is one component: {config:?}");
    };
    assert_eq!(component.plugin_name(), "07-dev_ice.injector+1-x");
    assert_eq!(component.library, files.path("lib/libb.so"));
    assert!(component.enabled && component.required);
    assert_eq!(component.timeout, Some(Duration::from_millis(500)));
    assert_eq!(component.sync_timeout, Some(Duration::from_secs(2)));
    assert_eq!(component.on_failure, OnFailure::Fail);
    assert_eq!(component.on_stuck, OnStuck::RestartHost);
    assert_eq!(component.quarantine.failures, 0);
    assert_eq!(component.quarantine.window, Duration::from_secs(3600));
    assert_eq!(component.isolation, Isolation::InProcess);
    assert_eq!(
        serde_json::Value::Object(component.config.clone()),
        json!({
            "allow": ["/dev/fuse"],
            "since": "1979-05-27",
            "limit": 1.5,
            "deep": {"flag": true},
        })
    );
}

#[test]
fn each_key_of_the_quarantine_has_its_own_default() {
    for (written, failures, window) in [
        ("", 5, 600),
        ("quarantine = {}\n", 5, 600),
        ("quarantine.failures = 100\n", 100, 600),
        ("[component.quarantine]\nwindow = \"30s\"\n", 5, 30),
    ] {
        let quarantine = with_components(&format!("{A}{written}"))
            .config()
            .components[0]
            .quarantine;
        assert_eq!(quarantine.failures, failures, "{written:?}");
        assert_eq!(
            quarantine.window,
            Duration::from_secs(window),
            "{written:?}"
        );
    }
}

fn given<T>(value: T) -> Option<Given<T>> {
    Some(Given {
        value,
        by: "--flag",
    })
}

#[test]
fn flags_win_over_the_file() {
    let files = Files::new("[runtime]\nsocket = \"/run/a.sock\"\n[host]\nlog = \"warn\"\n");
    let overrides = Overrides {
        socket: given("/run/b.sock".into()),
        log: given(LevelFilter::TRACE),
    };
    let config = load(&files.path("nri-host.toml"), &overrides)
        .config
        .unwrap();
    assert_eq!(config.runtime.socket, Path::new("/run/b.sock"));
    assert_eq!(config.host.log, LevelFilter::TRACE);
}

#[test]
fn a_relative_socket_on_the_command_line_is_taken_from_the_current_folder() {
    let overrides = Overrides {
        socket: given("nri.sock".into()),
        log: None,
    };
    let config = load(&Files::new("").path("nri-host.toml"), &overrides)
        .config
        .unwrap();
    assert_eq!(
        config.runtime.socket,
        std::env::current_dir().unwrap().join("nri.sock")
    );
}
