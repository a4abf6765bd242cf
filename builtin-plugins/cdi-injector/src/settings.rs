//! `[component.config]`.

use std::path::PathBuf;

use nri_node_files::on_host;
use nri_plugin_api::{ConfigMistakes, Error};
use serde::Deserialize;

use crate::allow::{AllowList, Allowance, RawAllowance};
use crate::index::Folders;

/// The settings as they are written. `docs/components/cdi-injector.md` has more about each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawSettings {
    /// Who may have what. By default nobody.
    pub allow: Vec<RawAllowance>,
    /// Who applies a device to a container.
    pub mode: Mode,
    /// What becomes of a container when a device asks for something that NRI cannot express.
    pub on_unsupported: OnUnsupported,
    /// Folders of CDI files; later ones count before earlier ones.
    pub spec_dirs: Vec<PathBuf>,
    /// The largest CDI file that is read, in bytes.
    pub max_file_size: u64,
    /// Where the root of the host's file system is, as the host process sees it.
    pub host_root: PathBuf,
}

impl Default for RawSettings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            mode: Mode::Auto,
            on_unsupported: OnUnsupported::Fail,
            spec_dirs: vec![PathBuf::from("/etc/cdi"), PathBuf::from("/var/run/cdi")],
            max_file_size: 4 << 20,
            host_root: PathBuf::from("/"),
        }
    }
}

/// Who applies a device to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The runtime where it can, else the component.
    Auto,
    /// The runtime: it is given the names.
    Native,
    /// The component: the runtime is given what the CDI files say.
    Resolve,
}

/// What becomes of something that NRI cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUnsupported {
    /// The container is not created.
    Fail,
    /// It is left out, and the log says so.
    Warn,
}

/// The settings, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The name of this instance, for advice to administrators.
    pub(crate) component: String,
    pub(crate) allow: AllowList,
    pub(crate) mode: Mode,
    pub(crate) on_unsupported: OnUnsupported,
    pub(crate) folders: Folders,
    pub(crate) host_root: PathBuf,
}

impl Settings {
    /// Checks the settings of the instance with this name.
    ///
    /// # Errors
    ///
    /// All mistakes at once, by key.
    pub(crate) fn check(raw: &RawSettings, component: &str) -> Result<Self, Error> {
        /// The largest size that makes sense for a text that is kept in memory.
        const MAX_FILE_SIZE: u64 = 64 << 20;
        let mut mistakes = ConfigMistakes::new();
        let allow = Allowance::check_all(&raw.allow, &mut mistakes);
        if !raw.host_root.is_absolute() {
            mistakes.add("host_root", "expected an absolute path");
        }
        if raw.spec_dirs.is_empty() {
            mistakes.add("spec_dirs", "expected at least one folder");
        }
        for (i, folder) in raw.spec_dirs.iter().enumerate() {
            if !folder.is_absolute() {
                mistakes.add(format!("spec_dirs[{i}]"), "expected an absolute path");
            } else if raw.spec_dirs[..i].contains(folder) {
                mistakes.add(format!("spec_dirs[{i}]"), "is there already");
            }
        }
        if !(1..=MAX_FILE_SIZE).contains(&raw.max_file_size) {
            let range = format!("expected a number of bytes from 1 to {MAX_FILE_SIZE}");
            mistakes.add("max_file_size", range);
        }
        mistakes.into_result()?;
        Ok(Self {
            component: component.to_owned(),
            allow,
            mode: raw.mode,
            on_unsupported: raw.on_unsupported,
            folders: Folders {
                paths: raw
                    .spec_dirs
                    .iter()
                    .map(|folder| on_host(&raw.host_root, folder))
                    .collect(),
                max_file_size: raw.max_file_size,
            },
            host_root: raw.host_root.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::testing;

    use super::{RawSettings, Settings};

    #[test]
    fn the_drop_in_shows_every_setting_with_its_default() {
        let drop_in = include_str!("../../../config/conf.d/15-cdi-injector.toml");
        let shown = toml::from_str(&testing::shown_settings(drop_in)).unwrap();
        testing::assert_shows_defaults::<RawSettings>(shown, &[]);
    }

    #[test]
    fn all_mistakes_are_told_by_key() {
        let raw: RawSettings = toml::from_str(
            r#"
            allow = [
                { namespaces = [], devices = ["acme.com/gpu"] },
                { namespaces = ["a/b"], devices = ["acme.com"] },
            ]
            spec_dirs = ["etc/cdi", "/a", "/a"]
            max_file_size = 0
            host_root = "host"
            "#,
        )
        .unwrap();
        let error = Settings::check(&raw, "cdi").unwrap_err();
        let keys: Vec<_> = error
            .config_mistakes()
            .iter()
            .map(|m| m.key.as_str())
            .collect();
        assert_eq!(
            keys,
            [
                "allow[0].namespaces",
                "allow[1].namespaces[0]",
                "allow[1].devices[0]",
                "host_root",
                "spec_dirs[0]",
                "spec_dirs[2]",
                "max_file_size",
            ]
        );
    }
}
