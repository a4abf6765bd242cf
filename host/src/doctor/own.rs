//! nri-host's own configuration and libraries.

use std::io;
use std::path::Path;

use super::finding::Finding;
use crate::chain;
use crate::component::inspect::{FileError, Inspected, check_folder, inspect};
use crate::component::trials::{Objection, Trials};
use crate::config::{ComponentConfig, Config, Loaded};

/// What is known of nri-host from its files.
#[derive(Debug)]
pub(super) struct Own<'a> {
    /// The main file.
    pub(super) file: &'a Path,
    /// `None`: it is too broken to be used.
    pub(super) config: Option<&'a Config>,
    /// Each enabled component whose library is sound.
    sound: Vec<Sound<'a>>,
}

#[derive(Debug)]
struct Sound<'a> {
    component: &'a ComponentConfig,
    /// What the library says it is.
    id: String,
}

impl<'a> Own<'a> {
    /// The enabled component whose library is this one of those that come with nri-host.
    pub(super) fn built_in(&self, name: &str) -> Option<&'a ComponentConfig> {
        let id = format!("dev.nri-host.{name}");
        let sound = self.sound.iter().find(|sound| sound.id == id)?;
        Some(sound.component)
    }

    /// Its name as the runtime knows it.
    pub(super) fn plugin_of(&self, name: &str) -> Option<String> {
        self.built_in(name).map(ComponentConfig::plugin_name)
    }
}

/// Looks at the configuration and at all libraries that it names, as `check` does.
pub(super) fn examine<'a>(
    loaded: &'a Loaded,
    file: &'a Path,
    findings: &mut Vec<Finding>,
) -> Own<'a> {
    for mistake in &loaded.mistakes {
        findings.push(Finding::problem("config-mistake", mistake.to_string()));
    }
    for warning in &loaded.warnings {
        findings.push(Finding::warning("config-warning", warning.to_string()));
    }
    let config = loaded.config.as_ref();
    let mut own = Own {
        file,
        config,
        sound: Vec::new(),
    };
    let Some(config) = config else {
        return own;
    };
    let enabled: Vec<_> = config.components.iter().filter(|one| one.enabled).collect();
    if loaded.mistakes.is_empty() {
        let (all, on) = (config.components.len(), enabled.len());
        let file = file.display();
        findings.push(Finding::ok(
            "config",
            format!("{file} and its drop-ins have no mistakes; components: {all}, enabled: {on}"),
        ));
    }
    if enabled.is_empty() && !config.components.is_empty() {
        findings.push(
            Finding::warning(
                "no-components",
                "no component is enabled, so nothing is done",
            )
            .say("Set enabled = true for one in a file of your own in conf.d."),
        );
    }
    folders(config, findings);
    let mut trials = Trials::new(&config.host.state_dir);
    for component in enabled {
        if let Some(inspected) = library(component, &mut trials, findings) {
            own.sound.push(Sound {
                component,
                id: inspected.note.id,
            });
        }
    }
    own
}

fn folders(config: &Config, findings: &mut Vec<Finding>) {
    for folder in &config.host.component_dirs {
        let shown = folder.display();
        findings.push(match check_folder(folder) {
            Ok(()) => Finding::ok(
                "component-dir",
                format!("only its owner can write to {shown}"),
            ),
            Err(FileError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Finding::warning(
                    "component-dir-missing",
                    format!("there is no folder {shown}, where libraries are looked for"),
                )
                .say("Install components there, or mend component_dirs in [host].")
            }
            Err(error) => Finding::problem(
                "component-dir-unsafe",
                format!("no library in {shown} is loaded"),
            )
            .because(format!("{}.", chain(&error))),
        });
    }
}

/// Looks at the library of a component; `None` if it would not be loaded.
fn library(
    component: &ComponentConfig,
    trials: &mut Trials,
    findings: &mut Vec<Finding>,
) -> Option<Inspected> {
    let plugin = component.plugin_name();
    let refused = |reason: String| {
        let path = component.library.display();
        Finding::problem("library-refused", format!("{plugin} cannot be loaded"))
            .because(format!("{path}: {reason}."))
            .run(format!("nri-host inspect {path}"))
    };
    let inspected = match inspect(&component.library) {
        Ok(inspected) => inspected,
        Err(error) => {
            findings.push(refused(chain(&error)));
            return None;
        }
    };
    let path = inspected.path.display().to_string();
    for warning in &inspected.warnings {
        let warning = format!("{path}, the library of {plugin}: {warning}");
        findings.push(Finding::warning("library-warning", warning));
    }
    if let Err(reason) = trials.pass(&plugin, &inspected) {
        findings.push(refused(reason));
        return None;
    }
    if let Err(objection) = trials.create(component) {
        objections(component, objection, findings);
    }
    let note = &inspected.note;
    findings.push(Finding::ok(
        "library",
        format!(
            "{plugin} can be loaded: {} {} from {path}",
            note.id, note.version
        ),
    ));
    Some(inspected)
}

/// What was said against an instance of a component.
fn objections(component: &ComponentConfig, objection: Objection, findings: &mut Vec<Finding>) {
    let plugin = component.plugin_name();
    match objection {
        Objection::Config(mistakes) => findings.extend(mistakes.iter().map(|mistake| {
            let at = component.locate(&mistake.key);
            Finding::problem("component-config", format!("{at}: {plugin}: {mistake}"))
        })),
        Objection::Broken(reason) => findings.push(
            Finding::problem(
                "component-broken",
                format!("no instance of {plugin} can be made"),
            )
            .because(format!("{reason}.")),
        ),
        // What it needs may be in use by the daemon.
        Objection::NotNow(reason) => findings.push(
            Finding::unknown(
                "component-not-tried",
                format!("the configuration of {plugin} could not be tried out"),
            )
            .because(format!("{reason}.")),
        ),
    }
}
