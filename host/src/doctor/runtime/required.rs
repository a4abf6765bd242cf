//! Whether the runtime goes on without plugins that pods cannot do without.

use super::super::finding::Finding;
use super::super::own::Own;
use super::settings::Validator;
use super::{Kind, Runtime, containerd, crio};
use crate::config::{ComponentConfig, Config, OnFailure};

/// Looks at the validator that comes with the runtime.
pub(super) fn judge(runtime: &Runtime, own: &Own, config: &Config, findings: &mut Vec<Finding>) {
    let needed: Vec<_> = config
        .components
        .iter()
        .filter(|one| is_needed(one))
        .collect();
    let Some(validator) = &runtime.settings.validator else {
        if !needed.is_empty() {
            findings.push(cannot(runtime, &needed));
        }
        return;
    };
    findings.extend(missing(runtime, validator, &needed));
    if !validator.enabled {
        return;
    }
    findings.extend(absent(runtime, validator, config));
    let kinds = [
        (validator.rejects_hooks, "hook-injector", "OCI hooks"),
        (
            validator.rejects_sysctls,
            "device-injector",
            "kernel parameters",
        ),
    ];
    for (rejects, component, what) in kinds {
        if let Some(plugin) = own.plugin_of(component).filter(|_| rejects) {
            findings.push(
                Finding::warning(
                    "validator-rejects",
                    format!("{runtime} refuses containers to which {plugin} gives {what}"),
                )
                .because("Its default validator is set to reject such adjustments."),
            );
        }
    }
}

/// Pods must not go on without it.
fn is_needed(component: &ComponentConfig) -> bool {
    component.enabled && (component.required || component.on_failure == OnFailure::Fail)
}

fn names(components: &[&ComponentConfig]) -> String {
    let names: Vec<_> = components.iter().map(|one| one.plugin_name()).collect();
    names.join(", ")
}

fn cannot(runtime: &Runtime, needed: &[&ComponentConfig]) -> Finding {
    Finding::warning(
        "required-plugins-unsupported",
        format!(
            "{runtime} starts containers without {} while nri-host is away",
            names(needed)
        ),
    )
    .because("It cannot be told that plugins are required; containerd 2.2 and CRI-O 1.34 can.")
}

fn missing(
    runtime: &Runtime,
    validator: &Validator,
    needed: &[&ComponentConfig],
) -> Option<Finding> {
    let covered = |one: &&&ComponentConfig| {
        let named = |required: &String| *required == one.name || *required == one.plugin_name();
        validator.enabled && validator.required.iter().any(named)
    };
    let open: Vec<_> = needed.iter().filter(|one| !covered(one)).copied().collect();
    if needed.is_empty() {
        return None;
    }
    if open.is_empty() {
        return Some(Finding::ok(
            "required-plugins",
            format!("{runtime} starts no container without {}", names(needed)),
        ));
    }
    let mut required = validator.required.clone();
    required.extend(open.iter().map(|one| one.name.clone()));
    let required = format!("{required:?}");
    let lines = match runtime.kind() {
        Kind::Containerd => containerd::validator_lines(&required),
        Kind::Crio => crio::validator_lines(&required),
    };
    let finding = Finding::warning(
        "required-plugins-unset",
        format!(
            "{runtime} starts containers without {} while nri-host is away",
            names(&open)
        ),
    )
    .because(
        "required and on_failure = \"fail\" count only while nri-host is connected. The runtime can \
         refuse containers meanwhile: all of them, those of static pods and of kube-system too. So \
         run nri-host as a service of the node and not as a pod, or name an annotation with which \
         pods may do without, in the key tolerate_missing_plugins_annotation.",
    );
    Some(runtime.set(finding, &lines, validator.file.as_deref()))
}

/// The runtime waits for a plugin that is not among ours.
fn absent(runtime: &Runtime, validator: &Validator, config: &Config) -> Option<Finding> {
    let ours = |required: &&String| {
        let enabled = config.components.iter().filter(|one| one.enabled);
        enabled
            .into_iter()
            .any(|one| **required == one.name || **required == one.plugin_name())
    };
    let others: Vec<_> = validator.required.iter().filter(|one| !ours(one)).collect();
    if others.is_empty() {
        return None;
    }
    let names: Vec<_> = others.iter().map(|name| name.as_str()).collect();
    let finding = Finding::warning(
        "required-plugin-absent",
        format!(
            "{runtime} starts no container without {}, which nri-host does not run",
            names.join(", ")
        ),
    )
    .say("See that another process provides it, or take it out of the required plugins.");
    Some(match validator.tolerates {
        true => finding.because("Pods with an annotation may do without."),
        false => finding,
    })
}
