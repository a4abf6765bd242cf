//! CRI-O's settings, from its files and its command line.

use std::path::PathBuf;

use super::super::process::Process;
use super::layers::{Files, Layer, Section, Setting};
use super::settings::{Misplaced, Names, Settings};
use super::version::Version;

const NAMES: Names = Names {
    socket: "nri_listen",
    request_timeout: "nri_plugin_request_timeout",
    registration_timeout: "nri_plugin_registration_timeout",
    closed: "nri_disable_connections",
    validator_enable: "default_validator.nri_enable_default_validator",
    required: "default_validator.nri_validator_required_plugins",
    tolerate: "default_validator.nri_validator_tolerate_missing_plugins_annotation",
    rejects_hooks: "default_validator.nri_validator_reject_oci_hook_adjustment",
    rejects_sysctls: "default_validator.nri_validator_reject_sysctl_adjustment",
};

/// Reads the settings; `version` is that of the runtime, if it is known.
pub(super) fn settings(
    files: &Files,
    version: Option<&Version>,
    process: Option<&Process>,
) -> Settings {
    let since = |major, minor| version.map(|version| version.is_at_least(major, minor));
    let mut nri = Section::default();
    let mut runtime = Section::default();
    for layer in &files.layers {
        if let Some(table) = layer.table(&["crio", "nri"]) {
            nri.merge(table, &layer.path);
        }
        if let Some(table) = layer.table(&["crio", "runtime"]) {
            runtime.merge(table, &layer.path);
        }
    }
    let settings = Settings::of_nri(&nri, &NAMES, since(1, 34) != Some(false));
    let option = |name| process.and_then(|process| process.option(&[name]));
    let enabled = match option("enable-nri").map(|value| value != "false") {
        Some(value) => Some(Setting::default(value)),
        None => nri.boolean("enable_nri"),
    };
    let socket = match option("nri-listen") {
        Some(path) => Setting::default(path.into()),
        None => settings.socket.clone(),
    };
    let dirs = runtime.strings("cdi_spec_dirs").map(|dirs| dirs.value);
    let dirs = dirs.unwrap_or_else(|| ["/etc/cdi", "/var/run/cdi"].map(str::to_owned).into());
    Settings {
        enabled: enabled.or(since(1, 30).map(Setting::default)),
        socket,
        cdi: Some(Setting::default(true)),
        cdi_dirs: dirs.into_iter().map(PathBuf::from).collect(),
        misplaced: files.layers.iter().filter_map(misplaced).collect(),
        ..settings
    }
}

fn misplaced(layer: &Layer) -> Option<Misplaced> {
    let is_ours = |key: &String| key == "enable_nri" || key.starts_with("nri_");
    let has = |path: &[&str]| {
        let table = layer.table(path);
        table.is_some_and(|table| table.keys().any(is_ours))
    };
    let wrong: [(&[&str], &str); 4] = [
        (&["nri"], "[nri]"),
        (&["crio", "runtime", "nri"], "[crio.runtime.nri]"),
        (&["crio", "runtime"], "[crio.runtime]"),
        (&["crio"], "[crio]"),
    ];
    let (_, found) = wrong.into_iter().find(|(path, _)| has(path))?;
    Some(Misplaced {
        file: layer.path.clone(),
        found,
        right: "[crio.nri]",
    })
}

/// The lines that set keys of NRI's table.
pub(super) fn nri_lines(lines: &str) -> String {
    format!("[crio.nri]\n{}\n", lines.trim_end())
}

/// The lines that set keys of the validator's table.
pub(super) fn validator_lines(required: &str) -> String {
    format!(
        "[crio.nri.default_validator]\nnri_enable_default_validator = true\n\
         nri_validator_required_plugins = {required}\n"
    )
}
