//! `[component.config]`.

use std::path::PathBuf;

use glob::Pattern;
use nri_plugin_api::{ConfigMistakes, Error};
use serde::Deserialize;

use crate::host_files::HostFiles;

/// How many folders there may be.
const MAX_FOLDERS: usize = 16;

/// The settings as they are written. `docs/components/hook-injector.md` has more about each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawSettings {
    /// Folders of hook files. A file replaces those with the same name in the folders before it.
    pub hook_dirs: Vec<PathBuf>,
    /// Which mounts the condition `hasBindMounts` counts.
    pub bind_mounts: BindMounts,
    /// Whose containers get no hooks.
    pub exclude: RawExclude,
    /// Whether changes of hook files are picked up.
    pub watch: bool,
    /// Where the root of the host's file system is, as the host process sees it.
    pub host_root: PathBuf,
}

/// Pods whose containers get no hooks: names or globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawExclude {
    /// Kubernetes namespaces.
    pub namespaces: Vec<String>,
    /// Runtime handlers, as runtime classes name them. The empty text is the default one.
    pub runtime_handlers: Vec<String>,
}

/// Which mounts the condition `hasBindMounts` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BindMounts {
    /// Bind mounts that the pod asked for, not those that every container has.
    Requested,
    /// Mounts of any kind, as the sample plugin of NRI does: every container has some.
    Any,
}

impl Default for RawSettings {
    fn default() -> Self {
        Self {
            hook_dirs: vec![
                PathBuf::from("/usr/share/containers/oci/hooks.d"),
                PathBuf::from("/etc/containers/oci/hooks.d"),
            ],
            bind_mounts: BindMounts::Requested,
            exclude: RawExclude::default(),
            watch: true,
            host_root: PathBuf::from("/"),
        }
    }
}

/// The settings, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) hook_dirs: Vec<PathBuf>,
    pub(crate) bind_mounts: BindMounts,
    exclude_namespaces: Vec<Pattern>,
    exclude_runtime_handlers: Vec<Pattern>,
    pub(crate) watch: bool,
    pub(crate) host: HostFiles,
}

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// All mistakes at once, by key.
    pub(crate) fn check(raw: &RawSettings) -> Result<Self, Error> {
        let mut mistakes = ConfigMistakes::new();
        check_folders(&raw.hook_dirs, &mut mistakes);
        if !raw.host_root.is_absolute() {
            mistakes.add("host_root", "expected an absolute path");
        }
        let exclude = &raw.exclude;
        let settings = Self {
            hook_dirs: raw.hook_dirs.clone(),
            bind_mounts: raw.bind_mounts,
            exclude_namespaces: globs("exclude.namespaces", &exclude.namespaces, &mut mistakes),
            exclude_runtime_handlers: globs(
                "exclude.runtime_handlers",
                &exclude.runtime_handlers,
                &mut mistakes,
            ),
            watch: raw.watch,
            host: HostFiles::new(raw.host_root.clone()),
        };
        mistakes.into_result()?;
        Ok(settings)
    }

    /// Whether containers of such a pod get no hooks.
    pub(crate) fn exclude(&self, namespace: &str, runtime_handler: &str) -> bool {
        let fits = |globs: &[Pattern], name: &str| globs.iter().any(|glob| glob.matches(name));
        fits(&self.exclude_namespaces, namespace)
            || fits(&self.exclude_runtime_handlers, runtime_handler)
    }
}

fn check_folders(folders: &[PathBuf], mistakes: &mut ConfigMistakes) {
    if folders.is_empty() {
        mistakes.add("hook_dirs", "names no folder");
    }
    if folders.len() > MAX_FOLDERS {
        let message = format!("more than {MAX_FOLDERS} folders");
        mistakes.add("hook_dirs", message);
    }
    for (i, folder) in folders.iter().enumerate() {
        let key = || format!("hook_dirs[{i}]");
        if !folder.is_absolute() {
            mistakes.add(key(), "expected an absolute path");
        }
        if folders[..i].contains(folder) {
            mistakes.add(key(), format!("{} is there twice", folder.display()));
        }
    }
}

fn globs(key: &str, texts: &[String], mistakes: &mut ConfigMistakes) -> Vec<Pattern> {
    let mut globs = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        match Pattern::new(text) {
            Ok(glob) => globs.push(glob),
            Err(error) => mistakes.add(format!("{key}[{i}]"), format!("{text:?}: {error}")),
        }
    }
    globs
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::testing;

    use super::{RawExclude, RawSettings, Settings};

    #[test]
    fn the_drop_in_shows_every_setting_with_its_default() {
        let drop_in = include_str!("../../../config/conf.d/30-hook-injector.toml");
        let shown = toml::from_str(&testing::shown_settings(drop_in)).unwrap();
        testing::assert_shows_defaults::<RawSettings>(shown, &[]);
    }

    #[test]
    fn every_mistake_is_told_by_its_key() {
        let raw = RawSettings {
            hook_dirs: vec!["relative".into(), "/a".into(), "/a".into()],
            exclude: RawExclude {
                namespaces: vec!["fine-*".to_owned(), "[".to_owned()],
                runtime_handlers: vec!["***".to_owned()],
            },
            host_root: "host".into(),
            ..RawSettings::default()
        };
        let error = Settings::check(&raw).unwrap_err();
        let keys: Vec<_> = error
            .config_mistakes()
            .iter()
            .map(|m| m.key.as_str())
            .collect();
        assert_eq!(
            keys,
            [
                "hook_dirs[0]",
                "hook_dirs[2]",
                "host_root",
                "exclude.namespaces[1]",
                "exclude.runtime_handlers[0]",
            ]
        );
    }

    #[test]
    fn names_are_excluded_whole_or_by_glob() {
        let raw = RawSettings {
            exclude: RawExclude {
                namespaces: vec!["kube-system".to_owned(), "build-*".to_owned()],
                runtime_handlers: vec!["kata*".to_owned()],
            },
            ..RawSettings::default()
        };
        let settings = Settings::check(&raw).unwrap();
        for (namespace, handler, expected) in [
            ("kube-system", "", true),
            ("kube-system-2", "", false),
            ("kube", "", false),
            ("build-1", "runc", true),
            ("default", "kata-qemu", true),
            ("default", "runc", false),
            ("", "", false),
        ] {
            assert_eq!(
                settings.exclude(namespace, handler),
                expected,
                "{namespace} {handler}"
            );
        }
    }
}
