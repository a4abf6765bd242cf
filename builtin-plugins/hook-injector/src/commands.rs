//! What administrators can ask: are the hook files good, and which hooks would a pod get?
//!
//! Both read the folders as the component would, and change nothing.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};

use nri_plugin_api::{Command, CommandStatus, Error, Output};
use serde::Deserialize;

use crate::component::HookInjector;
use crate::hook::{Command as Program, Subject};
use crate::loader::Loader;
use crate::problem::Effect;
use crate::report;
use crate::settings::{BindMounts, RawSettings, Settings};
use crate::subject::is_requested_volume;
use crate::table::{ActiveHook, Table};

/// How long the JSON of a pod may be, in bytes: twice what Kubernetes stores.
const MAX_POD: u64 = 4 << 20;

/// The commands of the component.
pub(crate) const COMMANDS: &[Command<HookInjector>] = &[
    Command::new(
        "check",
        "lists the hooks that are in use, and all that is wrong with hook files",
        check,
    ),
    Command::new(
        "match",
        "POD.json: says which hooks the containers of a pod would get; - reads standard input",
        match_pod,
    ),
];

/// Lists the hooks in their order, and all problems.
fn check(
    config: &RawSettings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    if !args.is_empty() {
        output.complain("check takes no arguments");
        return Ok(CommandStatus::USAGE);
    }
    let settings = match Settings::check(config) {
        Ok(settings) => settings,
        Err(error) => return Ok(bad_config(&error, output)),
    };
    let table = load(&settings);
    writeln!(output, "{}", report::summary(&table))?;
    for hook in &table.hooks {
        let (file, path) = (hook.file().display(), &hook.hook().path);
        writeln!(output, "  {file}: {path} at {}", stages(hook))?;
    }
    for problem in &table.problems {
        writeln!(output, "{problem}")?;
    }
    let is_in_use = |effect: Effect| effect == Effect::InUse;
    Ok(if table.problems.iter().all(|p| is_in_use(p.effect)) {
        CommandStatus::DONE
    } else {
        CommandStatus::FAILED
    })
}

fn bad_config(error: &Error, output: &mut Output<'_>) -> CommandStatus {
    output.complain(error);
    CommandStatus::BAD_CONFIG
}

fn stages(hook: &ActiveHook) -> String {
    let stages: Vec<_> = hook.stages().iter().map(|stage| stage.name()).collect();
    if stages.is_empty() {
        return "no stage".to_owned();
    }
    stages.join(", ")
}

fn load(settings: &Settings) -> Table {
    Loader::new(settings.host.clone(), settings.hook_dirs.clone()).load()
}

/// A pod as Kubernetes has it, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pod {
    #[serde(default)]
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    runtime_class_name: Option<String>,
    #[serde(default)]
    init_containers: Vec<Container>,
    containers: Vec<Container>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: String,
    command: Option<Vec<String>>,
    #[serde(default)]
    volume_mounts: Vec<VolumeMount>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VolumeMount {
    mount_path: String,
}

/// Why a pod cannot be read.
#[derive(Debug, thiserror::Error)]
enum PodError {
    #[error("it cannot be read")]
    Io(#[source] io::Error),
    #[error("it is longer than {MAX_POD} bytes")]
    TooLong,
    #[error("it is not the JSON of a pod, as `kubectl get pod -o json` writes it")]
    NotAPod(#[source] serde_json::Error),
}

/// Says which hooks each container of a pod would get. The pod is what `kubectl get pod -o json`
/// writes, or a manifest in JSON.
///
/// The name of the runtime class is taken for that of the runtime handler. Where the pod leaves the
/// command to the image, hooks that ask for it are undecided, which is told by the exit status.
fn match_pod(
    config: &RawSettings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    let [path] = args else {
        output.complain("match takes one argument: the file with the JSON of a pod, or -");
        return Ok(CommandStatus::USAGE);
    };
    let settings = match Settings::check(config) {
        Ok(settings) => settings,
        Err(error) => return Ok(bad_config(&error, output)),
    };
    let pod = match read_pod(path) {
        Ok(pod) => pod,
        Err(error) => {
            output.complain(Error::from(error).context(path));
            return Ok(CommandStatus::BAD_FILE);
        }
    };
    Ok(write_matches(&settings, &pod, output)?)
}

fn read_pod(path: &str) -> Result<Pod, PodError> {
    let mut json = Vec::new();
    let read = match path {
        "-" => io::stdin().lock().take(MAX_POD + 1).read_to_end(&mut json),
        path => File::open(path).and_then(|file| file.take(MAX_POD + 1).read_to_end(&mut json)),
    };
    let read = read.map_err(PodError::Io)?;
    if u64::try_from(read).is_ok_and(|len| len > MAX_POD) {
        return Err(PodError::TooLong);
    }
    serde_json::from_slice(&json).map_err(PodError::NotAPod)
}

fn write_matches(settings: &Settings, pod: &Pod, out: &mut dyn Write) -> io::Result<CommandStatus> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    let handler = pod.spec.runtime_class_name.as_deref().unwrap_or_default();
    writeln!(out, "pod {namespace}/{}", pod.metadata.name)?;
    if settings.exclude(namespace, handler) {
        writeln!(out, "  excluded: no hooks")?;
        return Ok(CommandStatus::DONE);
    }
    let table = load(settings);
    let annotations = pod.metadata.annotations.iter().flatten();
    let annotations: HashMap<_, _> = annotations
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let mut status = CommandStatus::DONE;
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    for container in containers {
        let subject = container.subject(annotations.clone(), settings.bind_mounts);
        writeln!(out, "container {}", container.name)?;
        if !write_container(&table, &subject, out)? {
            status = CommandStatus::FAILED;
        }
    }
    Ok(status)
}

impl Container {
    fn subject<'a>(
        &'a self,
        annotations: HashMap<&'a str, &'a str>,
        bind_mounts: BindMounts,
    ) -> Subject<'a> {
        let command = self.command.as_ref().and_then(|command| command.first());
        let mut mounts = self.volume_mounts.iter();
        Subject {
            annotations,
            has_bind_mounts: match bind_mounts {
                // The volumes of pods are bind mounts.
                BindMounts::Requested => mounts.any(|mount| is_requested_volume(&mount.mount_path)),
                BindMounts::Any => true,
            },
            command: command.map_or(Program::OfImage, |command| Program::Is(command)),
        }
    }
}

/// Whether all hooks were decided.
fn write_container(table: &Table, subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let (mut has_hooks, mut is_decided) = (false, true);
    for hook in &table.hooks {
        let file = hook.file().display();
        match hook.holds_for(subject) {
            Ok(false) => continue,
            Ok(true) => writeln!(out, "  {file}: {}", stages(hook))?,
            Err(why) => {
                writeln!(out, "  {file}: undecided: {why}")?;
                is_decided = false;
            }
        }
        has_hooks = true;
    }
    if !has_hooks {
        writeln!(out, "  no hooks")?;
    }
    Ok(is_decided)
}
