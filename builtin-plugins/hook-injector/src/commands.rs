//! What administrators can ask: are the hook files good, and which hooks would a pod get?
//!
//! Both read the folders as the component would, and change nothing.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use nri_plugin_api::Error;
use serde::Deserialize;

use crate::hook::{Command, Subject};
use crate::loader::Loader;
use crate::problem::Effect;
use crate::report;
use crate::settings::{BindMounts, RawSettings, Settings};
use crate::subject::is_requested;
use crate::table::Table;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well.
    Good,
    /// What was asked for is not as it should be: files are skipped, or something is undecided.
    Bad,
}

/// `check`: lists the hooks in their order, and all problems.
///
/// # Errors
///
/// The settings are wrong, or nothing can be written to `out`.
pub fn check(settings: &RawSettings, out: &mut dyn Write) -> Result<Verdict, Error> {
    let settings = Settings::check(settings)?;
    let table = load(&settings);
    writeln!(out, "{}", report::summary(&table))?;
    for hook in &table.hooks {
        let stages: Vec<_> = hook.stages().iter().map(ToString::to_string).collect();
        let (file, path) = (hook.file().display(), &hook.hook().path);
        writeln!(out, "  {file}: {path} at {}", or_never(&stages.join(", ")))?;
    }
    for problem in &table.problems {
        writeln!(out, "{problem}")?;
    }
    let skips = |effect: Effect| effect != Effect::InUse;
    Ok(if table.problems.iter().any(|p| skips(p.effect)) {
        Verdict::Bad
    } else {
        Verdict::Good
    })
}

fn or_never(stages: &str) -> &str {
    if stages.is_empty() {
        "no stage"
    } else {
        stages
    }
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
#[error("this is not the JSON of a pod, as `kubectl get pod -o json` writes it")]
struct NotAPod(#[source] serde_json::Error);

/// `match`: says which hooks each container of a pod would get. `pod` is the JSON that
/// `kubectl get pod -o json` writes, or a manifest in JSON.
///
/// The name of the runtime class is taken for that of the runtime handler. Where the pod leaves the
/// command to the image, hooks that ask for it are undecided.
///
/// # Errors
///
/// The settings are wrong, `pod` cannot be read, or nothing can be written to `out`.
pub fn match_pod(settings: &RawSettings, pod: &str, out: &mut dyn Write) -> Result<Verdict, Error> {
    let settings = Settings::check(settings)?;
    let pod: Pod = serde_json::from_str(pod).map_err(NotAPod)?;
    let table = load(&settings);
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    let handler = pod.spec.runtime_class_name.as_deref().unwrap_or_default();
    writeln!(out, "pod {namespace}/{}", pod.metadata.name)?;
    if settings.exclude(namespace, handler) {
        writeln!(out, "  excluded: no hooks")?;
        return Ok(Verdict::Good);
    }
    let annotations = pod.metadata.annotations.iter().flatten();
    let annotations: HashMap<_, _> = annotations
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let mut verdict = Verdict::Good;
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    for container in containers {
        let subject = container.subject(annotations.clone(), settings.bind_mounts);
        writeln!(out, "container {}", container.name)?;
        if match_container(&table, &subject, out)? == Verdict::Bad {
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
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
                BindMounts::Requested => mounts.any(|mount| is_requested(&mount.mount_path)),
                BindMounts::Any => true,
            },
            command: command.map_or(Command::OfImage, |command| Command::Is(command)),
        }
    }
}

fn match_container(
    table: &Table,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> io::Result<Verdict> {
    let mut verdict = Verdict::Good;
    let mut has_none = true;
    for hook in &table.hooks {
        let file = hook.file().display();
        match hook.holds_for(subject) {
            Ok(false) => continue,
            Ok(true) => {
                let stages: Vec<_> = hook.stages().iter().map(ToString::to_string).collect();
                writeln!(out, "  {file}: {}", or_never(&stages.join(", ")))?;
            }
            Err(why) => {
                writeln!(out, "  {file}: undecided: {why}")?;
                verdict = Verdict::Bad;
            }
        }
        has_none = false;
    }
    if has_none {
        writeln!(out, "  no hooks")?;
    }
    Ok(verdict)
}
