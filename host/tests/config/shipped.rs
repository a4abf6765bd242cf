//! The file that packages install.

use std::collections::BTreeSet;

use nri_host::config::{HostConfig, KEYS, RuntimeConfig};

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
    // These have no default.
    assert!(config.host.metrics_listen.take().is_some());
    assert_eq!(config.host, HostConfig::default());
    assert!(config.runtime.expect_runtime.take().is_some());
    assert_eq!(config.runtime, RuntimeConfig::default());

    let short = with_components(
        "[[component]]\nname = \"device-injector\"\nindex = 10\nlibrary = \"liba.so\"\n",
    );
    let mut short = short.config();
    let ([shown], [default]) = (&mut config.components[..], &mut short.components[..]) else {
        panic!("there is one component each: {config:?}");
    };
    // These have no default, or are of one place only.
    assert!(shown.timeout.take().is_some() && shown.sync_timeout.take().is_some());
    shown.config.clear();
    shown.library.clone_from(&default.library);
    shown.origin = default.origin.clone();
    assert_eq!(shown, default);
}

#[test]
fn it_shows_every_key_and_no_other() {
    let text: toml::Table = uncommented().parse().expect("it is TOML");
    for (path, keys) in KEYS {
        let shown: BTreeSet<_> = table(&text, path).keys().map(String::as_str).collect();
        assert_eq!(shown, keys.iter().copied().collect(), "[{path}]");
    }
}

/// The table at this path, or the first in the array of tables there.
fn table<'a>(root: &'a toml::Table, path: &str) -> &'a toml::Table {
    let keys = path.split('.').filter(|key| !key.is_empty());
    keys.fold(root, |table, key| {
        let value = table.get(key).and_then(|value| match value {
            toml::Value::Array(items) => items.first()?.as_table(),
            value => value.as_table(),
        });
        value.unwrap_or_else(|| panic!("there is no [{path}]"))
    })
}
