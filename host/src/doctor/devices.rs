//! CDI and OCI hooks, where components are configured that deal with them.

use std::fs;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::own::Own;
use super::runtime::{Kind, Runtime};
use crate::config::ComponentConfig;

/// The defaults of the components.
const CDI_DIRS: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];
const HOOK_DIRS: [&str; 2] = [
    "/usr/share/containers/oci/hooks.d",
    "/etc/containers/oci/hooks.d",
];

/// Looks at what the components that come with nri-host need on the node.
pub(super) fn examine(own: &Own, runtimes: &[&Runtime], findings: &mut Vec<Finding>) {
    if let Some(injector) = own.built_in("cdi-injector") {
        let dirs = folders(injector, "spec_dirs", &CDI_DIRS);
        findings.push(contents(injector, &dirs, "CDI", "cdi", &["json", "yaml"]));
        let native = injector.config.get("mode").and_then(|mode| mode.as_str()) == Some("native");
        for runtime in runtimes.iter().filter(|_| native) {
            findings.extend(cdi_is_off(injector, runtime, "are ignored"));
            findings.extend(other_dirs(injector, runtime, &dirs));
        }
    }
    if let Some(injector) = own.built_in("device-injector") {
        for runtime in runtimes {
            if allows(injector, "allow_cdi_devices") {
                findings.extend(cdi_is_off(injector, runtime, "fail or are ignored"));
            }
            if allows(injector, "allow_sysctls") {
                findings.extend(sysctls_are_lost(injector, runtime));
            }
        }
    }
    if let Some(injector) = own.built_in("hook-injector") {
        let dirs = folders(injector, "hook_dirs", &HOOK_DIRS);
        findings.push(contents(injector, &dirs, "hook", "hooks", &["json"]));
        let crio = runtimes.iter().find(|runtime| runtime.kind() == Kind::Crio);
        if let Some(runtime) = crio {
            findings.push(
                Finding::warning(
                    "hooks-twice",
                    format!("{runtime} reads hook files, too, and each hook may run twice"),
                )
                .say(
                    "Leave hooks to one of them: disable the hook injector, or set hooks_dir in \
                     [crio.runtime] to folders that it does not read.",
                ),
            );
        }
    }
}

/// Whether a list of a component allows anything.
fn allows(component: &ComponentConfig, key: &str) -> bool {
    let list = component.config.get(key).and_then(|list| list.as_array());
    list.is_some_and(|list| !list.is_empty())
}

fn sysctls_are_lost(component: &ComponentConfig, runtime: &Runtime) -> Option<Finding> {
    let version = runtime.version.as_ref().ok()?;
    version.dies_of_sysctl(runtime.kind()).then(|| {
        Finding::warning(
            "sysctls-withheld",
            format!(
                "kernel parameters that {} sets do not reach {runtime}",
                component.plugin_name()
            ),
        )
        .because("It would end itself at the first one, so nri-host keeps them back.")
        .say("Update it: containerd 2.3 and later take them.")
    })
}

/// The folders that a component reads.
fn folders(component: &ComponentConfig, key: &str, default: &[&str]) -> Vec<PathBuf> {
    let list = component.config.get(key).and_then(|list| list.as_array());
    match list {
        Some(list) => list
            .iter()
            .filter_map(|folder| folder.as_str().map(PathBuf::from))
            .collect(),
        None => default.iter().map(PathBuf::from).collect(),
    }
}

/// Whether there is anything in the folders.
fn contents(
    component: &ComponentConfig,
    folders: &[PathBuf],
    what: &str,
    code: &'static str,
    extensions: &[&str],
) -> Finding {
    let root = component
        .config
        .get("host_root")
        .and_then(|root| root.as_str());
    let root = Path::new(root.unwrap_or("/"));
    let is_ours = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let mut found = 0;
    for folder in folders {
        let folder = root.join(folder.strip_prefix("/").unwrap_or(folder));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        found += entries.filter(|entry| is_ours(&entry.path())).count();
    }
    let plugin = component.plugin_name();
    let shown: Vec<_> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    let shown = shown.join(", ");
    match found {
        0 => Finding::warning(
            if code == "cdi" {
                "cdi-none"
            } else {
                "hooks-none"
            },
            format!("{plugin} finds no {what} files in {shown}"),
        )
        .say("Install some, or mend the folders in its [component.config]."),
        _ => Finding::ok(
            code,
            format!("{plugin} finds {what} files in {shown}: {found}"),
        ),
    }
}

fn cdi_is_off(component: &ComponentConfig, runtime: &Runtime, then: &str) -> Option<Finding> {
    let off = runtime.settings.cdi.as_ref().filter(|cdi| !cdi.value)?;
    let finding = Finding::problem(
        "cdi-disabled",
        format!(
            "{runtime} applies no CDI devices, and those of {} {then}",
            component.plugin_name()
        ),
    )
    .because(match &off.file {
        Some(file) => format!("{} says so.", file.display()),
        None => "That is the default before containerd 2.0.".to_owned(),
    });
    Some(runtime.enable_cdi(finding, off.file.as_deref()))
}

fn other_dirs(component: &ComponentConfig, runtime: &Runtime, dirs: &[PathBuf]) -> Option<Finding> {
    let theirs = &runtime.settings.cdi_dirs;
    let unread: Vec<_> = dirs.iter().filter(|dir| !theirs.contains(dir)).collect();
    let first = unread.first()?;
    Some(
        Finding::warning(
            "cdi-dirs-differ",
            format!(
                "{} reads CDI files from {}, and {runtime} does not",
                component.plugin_name(),
                first.display()
            ),
        )
        .say("Give spec_dirs of the component and cdi_spec_dirs of the runtime the same folders."),
    )
}
