//! containerd's settings, from its files.

use std::path::PathBuf;

use toml::{Table, Value};

use super::layers::{Files, Layer, Section, Setting, strings};
use super::settings::{Misplaced, Names, Settings};
use super::version::Version;

/// NRI's table in `[plugins]`, in files of version 2 and later.
const NRI: &str = "io.containerd.nri.v1.nri";
/// The same in those of version 1.
const NRI_V1: &str = "nri";
const NRI_HEADER: &str = "[plugins.\"io.containerd.nri.v1.nri\"]";
/// The CRI's table, in files of version 2 ...
const CRI_V2: &str = "io.containerd.grpc.v1.cri";
/// ... and what has the settings of CDI in later ones.
const CRI_V3: &str = "io.containerd.cri.v1.runtime";

const NAMES: Names = Names {
    socket: "socket_path",
    request_timeout: "plugin_request_timeout",
    registration_timeout: "plugin_registration_timeout",
    closed: "disable_connections",
    validator_enable: "default_validator.enable",
    required: "default_validator.required_plugins",
    tolerate: "default_validator.tolerate_missing_plugins_annotation",
    rejects_hooks: "default_validator.reject_oci_hook_adjustment",
    rejects_sysctls: "default_validator.reject_sysctl_adjustment",
};

/// Reads the settings; `version` is that of the runtime, if it is known.
pub(super) fn settings(files: &Files, version: Option<&Version>) -> Settings {
    let since = |major, minor| version.map(|version| version.is_at_least(major, minor));
    // A file in a form that only 2.0 and later read says as much as its version.
    let is_2 = since(2, 0).or_else(|| (config_version(files) >= 3).then_some(true));
    let mut section = Section::default();
    let key = nri_key(files, is_2);
    for layer in &files.layers {
        if let Some(table) = plugin(layer, key) {
            if is_2 == Some(false) {
                // Until 2.0, a table replaces that of an earlier file as a whole.
                section = Section::default();
            }
            section.merge(table, &layer.path);
        }
    }
    let disable = section.boolean("disable");
    let settings = Settings::of_nri(&section, &NAMES, since(2, 2) != Some(false));
    Settings {
        enabled: match disable {
            Some(Setting { value, file }) => Some(Setting {
                value: !value,
                file,
            }),
            None => is_2.map(Setting::default),
        },
        left_out_by: left_out(files, &[NRI, NRI_V1]),
        cri_left_out_by: left_out(files, &[CRI_V2, CRI_V3, "cri"]),
        misplaced: files
            .layers
            .iter()
            .filter_map(|layer| misplaced(layer, key))
            .collect(),
        ..with_cdi(settings, files, is_2)
    }
}

fn with_cdi(settings: Settings, files: &Files, is_2: Option<bool>) -> Settings {
    let mut cri = Section::default();
    for layer in &files.layers {
        let migrated = layer_version(layer) < 3;
        let key = if is_2 == Some(true) && !migrated {
            CRI_V3
        } else {
            CRI_V2
        };
        if let Some(table) = plugin(layer, key) {
            if is_2 == Some(false) {
                cri = Section::default();
            }
            cri.merge(table, &layer.path);
        }
    }
    let dirs = cri.strings("cdi_spec_dirs").map(|dirs| dirs.value);
    let dirs = dirs.unwrap_or_else(|| ["/etc/cdi", "/var/run/cdi"].map(str::to_owned).into());
    Settings {
        cdi: cri.boolean("enable_cdi").or(is_2.map(Setting::default)),
        cdi_dirs: dirs.into_iter().map(PathBuf::from).collect(),
        ..settings
    }
}

/// The version of the configuration: that of the last file which has one, else 1.
pub(super) fn config_version(files: &Files) -> i64 {
    let mut versions = files.layers.iter().map(layer_version);
    versions.rfind(|version| *version > 0).unwrap_or(1)
}

/// 0: it does not say.
fn layer_version(layer: &Layer) -> i64 {
    let version = layer.table.get("version").and_then(Value::as_integer);
    version.unwrap_or(0)
}

/// The newest version of configuration that a release reads.
pub(super) fn newest_config_version(version: &Version) -> i64 {
    match version {
        version if version.is_at_least(2, 3) => 4,
        version if version.is_at_least(2, 0) => 3,
        _ => 2,
    }
}

/// containerd 2 takes the names of version 2 in files of version 1, too.
fn nri_key(files: &Files, is_2: Option<bool>) -> &'static str {
    let is_v1 = is_2 == Some(false) && config_version(files) < 2;
    if is_v1 { NRI_V1 } else { NRI }
}

fn plugin<'a>(layer: &'a Layer, key: &str) -> Option<&'a Table> {
    layer.table(&["plugins", key])
}

/// The file that switches a plugin off by one of its names. The lists of all files count together.
fn left_out(files: &Files, names: &[&str]) -> Option<PathBuf> {
    let names_it = |layer: &&Layer| {
        let list = strings(layer.table.get("disabled_plugins"));
        list.iter().any(|name| names.contains(&name.as_str()))
    };
    let layer = files.layers.iter().find(names_it)?;
    Some(layer.path.clone())
}

fn misplaced(layer: &Layer, key: &str) -> Option<Misplaced> {
    let wrong: [(&[&str], &str, bool); 5] = [
        (&[NRI], "[\"io.containerd.nri.v1.nri\"]", true),
        (&["nri"], "[nri]", true),
        (
            &["plugins", "io", "containerd", "nri", "v1", "nri"],
            "[plugins.io.containerd.nri.v1.nri]",
            true,
        ),
        (&["plugins", NRI_V1], "[plugins.nri]", key == NRI),
        (&["plugins", NRI], NRI_HEADER, key == NRI_V1),
    ];
    let (_, found, _) = wrong
        .into_iter()
        .find(|(path, _, counts)| *counts && layer.table(path).is_some())?;
    Some(Misplaced {
        file: layer.path.clone(),
        found,
        right: NRI_HEADER,
    })
}

/// The lines that set keys of NRI's table.
pub(super) fn nri_lines(lines: &str) -> String {
    format!("{NRI_HEADER}\n{}", indented(lines))
}

/// The lines that set keys of the validator's table.
pub(super) fn validator_lines(required: &str) -> String {
    format!(
        "[plugins.\"io.containerd.nri.v1.nri\".default_validator]\n  enable = true\n  \
         required_plugins = {required}\n"
    )
}

/// The lines that let containerd apply CDI devices.
pub(super) fn cdi_lines(files: &Files) -> String {
    let key = if config_version(files) >= 3 {
        CRI_V3
    } else {
        CRI_V2
    };
    format!("[plugins.\"{key}\"]\n  enable_cdi = true\n")
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}
