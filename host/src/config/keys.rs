//! The keys of the configuration, each table's in one list.

/// The tables of the main file.
pub(super) const MAIN: [&str; 3] = ["runtime", "host", "component"];
/// `[runtime]`
pub(super) const RUNTIME: [&str; 3] = ["socket", "expect_runtime", "handshake_timeout"];
/// `[host]`
pub(super) const HOST: [&str; 6] = [
    "component_dirs",
    "runtime_dir",
    "state_dir",
    "fail_exempt_namespaces",
    "log",
    "metrics_listen",
];
/// `[[component]]`
pub(super) const COMPONENT: [&str; 12] = [
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
    "config",
];
/// `quarantine` of a component
pub(super) const QUARANTINE: [&str; 2] = ["failures", "window"];

/// Every table by its path, `""` for the main file itself, with all keys that it may have. What
/// stands in `config` of a component is the component's own.
pub const KEYS: [(&str, &[&str]); 5] = [
    ("", &MAIN),
    ("runtime", &RUNTIME),
    ("host", &HOST),
    ("component", &COMPONENT),
    ("component.quarantine", &QUARANTINE),
];
