//! `[component.config]`.

use std::path::PathBuf;
use std::str::FromStr;

use nri_plugin_api::api::{IOPrioClass, LinuxSchedulerPolicy, MpolMode};
use nri_plugin_api::{ConfigMistakes, Error};
use serde::Deserialize;

use crate::allow::{
    AllowList, CdiRule, DeviceRule, MountRule, NamedRule, NamespaceRule, NetDeviceRule, RuleError,
    SysctlRule,
};
use crate::host_files::HostFiles;
use crate::problems::OnDenied;

/// The settings as they are written. `docs/components/device-injector.md` has more about each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawSettings {
    /// Kubernetes namespaces whose pods may use the annotations: names or globs. By default all,
    /// since that allows nothing by itself.
    pub allow_namespaces: Vec<String>,
    /// Devices: paths of device nodes on the host, globs of them, or numbers as in `c 10:229`.
    /// By default none.
    pub allow_devices: Vec<String>,
    /// Sources of bind mounts, with all that is below them: paths on the host or globs of them. A
    /// word without `/` is a type of file system, such as `tmpfs`. By default none.
    pub allow_mounts: Vec<String>,
    /// Whether the annotation of CDI devices is read; another component may serve it. By default it is.
    pub cdi_devices: bool,
    /// CDI devices: `vendor.com/class` or `vendor.com/class=name`. By default none.
    pub allow_cdi_devices: Vec<String>,
    /// Network devices of the host: names or globs. By default none.
    pub allow_network_devices: Vec<String>,
    /// Kernel parameters: names, or starts of names such as `net.core.*`. By default none.
    pub allow_sysctls: Vec<String>,
    /// Classes of I/O priority, such as `IOPRIO_CLASS_BE`. By default none.
    pub allow_io_priorities: Vec<String>,
    /// Scheduling policies, such as `SCHED_BATCH`. By default none.
    pub allow_scheduling_policies: Vec<String>,
    /// Modes of the NUMA memory policy, such as `MPOL_PREFERRED`. By default none.
    pub allow_memory_policies: Vec<String>,
    /// What becomes of a request for something that is not allowed.
    pub on_denied: OnDenied,
    /// Where the root of the host's file system is, as the host process sees it.
    pub host_root: PathBuf,
}

impl Default for RawSettings {
    fn default() -> Self {
        Self {
            allow_namespaces: vec!["*".to_owned()],
            allow_devices: Vec::new(),
            allow_mounts: Vec::new(),
            cdi_devices: true,
            allow_cdi_devices: Vec::new(),
            allow_network_devices: Vec::new(),
            allow_sysctls: Vec::new(),
            allow_io_priorities: Vec::new(),
            allow_scheduling_policies: Vec::new(),
            allow_memory_policies: Vec::new(),
            on_denied: OnDenied::default(),
            host_root: PathBuf::from("/"),
        }
    }
}

/// The settings, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The name of this instance, for advice to administrators.
    component: String,
    pub(crate) namespaces: AllowList<NamespaceRule>,
    pub(crate) devices: AllowList<DeviceRule>,
    pub(crate) mounts: AllowList<MountRule>,
    /// Whether CDI devices are this component's business.
    pub(crate) reads_cdi_devices: bool,
    pub(crate) cdi_devices: AllowList<CdiRule>,
    pub(crate) network_devices: AllowList<NetDeviceRule>,
    pub(crate) sysctls: AllowList<SysctlRule>,
    pub(crate) io_priorities: AllowList<NamedRule<IOPrioClass>>,
    pub(crate) scheduling_policies: AllowList<NamedRule<LinuxSchedulerPolicy>>,
    pub(crate) memory_policies: AllowList<NamedRule<MpolMode>>,
    pub(crate) on_denied: OnDenied,
    pub(crate) host: HostFiles,
}

impl Settings {
    /// Checks the settings of the instance with this name.
    ///
    /// # Errors
    ///
    /// All mistakes at once, by key.
    pub(crate) fn check(raw: &RawSettings, component: &str) -> Result<Self, Error> {
        let mut mistakes = ConfigMistakes::new();
        if !raw.host_root.is_absolute() {
            mistakes.add("host_root", "expected an absolute path");
        }
        let m = &mut mistakes;
        let settings = Self {
            component: component.to_owned(),
            namespaces: rules("allow_namespaces", &raw.allow_namespaces, m),
            devices: rules("allow_devices", &raw.allow_devices, m),
            mounts: rules("allow_mounts", &raw.allow_mounts, m),
            reads_cdi_devices: raw.cdi_devices,
            cdi_devices: rules("allow_cdi_devices", &raw.allow_cdi_devices, m),
            network_devices: rules("allow_network_devices", &raw.allow_network_devices, m),
            sysctls: rules("allow_sysctls", &raw.allow_sysctls, m),
            io_priorities: rules("allow_io_priorities", &raw.allow_io_priorities, m),
            scheduling_policies: rules(
                "allow_scheduling_policies",
                &raw.allow_scheduling_policies,
                m,
            ),
            memory_policies: rules("allow_memory_policies", &raw.allow_memory_policies, m),
            on_denied: raw.on_denied,
            host: HostFiles::new(raw.host_root.clone()),
        };
        mistakes.into_result()?;
        Ok(settings)
    }

    /// A rule that names a symbolic link never fits what the link leads to. Says so at the start,
    /// since it is not seen by looking at the rule.
    pub(crate) fn warn_of_links(&self) {
        for (path, target) in self.mounts.links(&self.host) {
            tracing::warn!(
                "allow_mounts: {} leads to {} and allows nothing as it is written: write {}",
                path.display(),
                target.display(),
                target.display(),
            );
        }
    }

    /// What the author of a pod can ask the administrator for.
    pub(crate) fn advice(&self, key: &str, entry: &str) -> String {
        format!(
            "the administrator of the node can add {entry:?} to {key} of component {:?}",
            self.component
        )
    }
}

/// Reads a list of rules and notes each mistake under its key.
fn rules<R>(key: &str, texts: &[String], mistakes: &mut ConfigMistakes) -> AllowList<R>
where
    R: FromStr<Err = RuleError>,
{
    let mut rules = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        match text.parse() {
            Ok(rule) => rules.push(rule),
            Err(error) => {
                let message = format!("{text:?}: {}", Error::from(error));
                mistakes.add(format!("{key}[{i}]"), message);
            }
        }
    }
    AllowList::new(rules)
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::testing;

    use super::RawSettings;

    #[test]
    fn the_drop_in_shows_every_setting_with_its_default() {
        let drop_in = include_str!("../../../config/conf.d/10-device-injector.toml");
        let shown = toml::from_str(&testing::shown_settings(drop_in)).unwrap();
        testing::assert_shows_defaults::<RawSettings>(shown, &[]);
    }
}
