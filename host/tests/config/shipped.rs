//! The file that packages install.

use nri_host::config::{HostConfig, RuntimeConfig};

use crate::fixture::{Files, with_components};

/// The file as packages install it.
const TEXT: &str = include_str!("../../../config/nri-host.toml");

/// With every key switched on: settings stand behind a `#` without a space.
fn uncommented() -> String {
    let setting = |line: &str| {
        let key = line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '['));
        key.unwrap_or(line).to_owned()
    };
    TEXT.lines().map(|line| setting(line) + "\n").collect()
}

#[test]
fn as_it_is_it_holds_the_defaults() {
    let config = Files::new(TEXT).config();
    assert_eq!(config.runtime, RuntimeConfig::default());
    assert_eq!(config.host, HostConfig::default());
    assert!(config.components.is_empty());
}

#[test]
fn the_values_in_it_are_the_defaults() {
    let files = Files::new(&uncommented().replace("/usr/lib/nri-host/components", "LIB"));
    files.write("lib/libnri_device_injector.so", "");
    let mut config = files.config();
    config.host.component_dirs = HostConfig::default().component_dirs;
    assert_eq!(config.host, HostConfig::default());
    let runtime = RuntimeConfig::default();
    assert_eq!(config.runtime.socket, runtime.socket);
    assert_eq!(config.runtime.handshake_timeout, runtime.handshake_timeout);

    let short = with_components(
        "[[component]]\nname = \"device-injector\"\nindex = 10\nlibrary = \"liba.so\"\n",
    );
    let [shown] = &config.components[..] else {
        panic!("there is one component: {config:?}");
    };
    let default = &short.config().components[0];
    assert_eq!(shown.enabled, default.enabled);
    assert_eq!(shown.on_failure, default.on_failure);
    assert_eq!(shown.on_stuck, default.on_stuck);
    assert_eq!(shown.quarantine, default.quarantine);
    assert_eq!(shown.required, default.required);
    assert_eq!(shown.isolation, default.isolation);
}

#[test]
fn it_shows_every_key() {
    let text = uncommented();
    let missing: Vec<_> = [
        "socket",
        "expect_runtime",
        "handshake_timeout",
        "component_dirs",
        "runtime_dir",
        "state_dir",
        "fail_exempt_namespaces",
        "log",
        "name",
        "index",
        "library",
        "enabled",
        "timeout",
        "sync_timeout",
        "on_failure",
        "on_stuck",
        "quarantine",
        "required",
        "isolation",
    ]
    .into_iter()
    .filter(|key| {
        !text
            .lines()
            .any(|line| line.starts_with(&format!("{key} = ")))
    })
    .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
