//! The annotation `mounts.noderesource.dev`.

use std::fmt;
use std::path::{Path, PathBuf};

use nri_plugin_api::Mount;

use crate::annotation::{Entry, Fields, Value};
use crate::paths::{Clean, PathError, check_absolute, check_container_path};
use crate::problems::{Problems, Reported};
use crate::settings::Settings;

const FIELDS: [&str; 4] = ["source", "destination", "type", "options"];

/// The options by which runtimes tell a bind mount, whatever its type says.
const BIND_OPTIONS: [&str; 2] = ["bind", "rbind"];

/// The type of bind mounts.
const BIND: &str = "bind";

/// A mount that a container gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    destination: Clean,
    kind: String,
    source: String,
    options: Vec<String>,
}

impl MountEntry {
    pub(crate) fn into_mount(self) -> Mount {
        Mount::new(self.kind, self.source, self.destination).options(self.options)
    }
}

impl fmt::Display for MountEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.source, self.destination)
    }
}

/// Reads the entries and asks whether they are allowed.
pub(crate) fn read(
    value: &Value<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Vec<MountEntry> {
    let mut mounts: Vec<MountEntry> = Vec::new();
    for entry in value.entries() {
        let Ok(mount) = read_entry(&entry, settings, problems) else {
            continue;
        };
        if mounts
            .iter()
            .any(|other| other.destination == mount.destination)
        {
            let what = format_args!("{} is there already", mount.destination);
            problems.add(entry.place().field("destination"), what);
            continue;
        }
        mounts.push(mount);
    }
    mounts
}

fn read_entry(
    entry: &Entry<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Result<MountEntry, Reported> {
    let fields = entry.fields(&FIELDS, problems)?;
    // Every field is read before the first problem ends the entry.
    let destination = read_destination(&fields, problems);
    let options = read_options(&fields, problems);
    let kind = fields.text("type", problems);
    let source = fields.text("source", problems);
    let (mut options, kind) = (options?, kind?);

    let bound = options.iter().any(|option| is_bind_option(option));
    let is_bind = bound || matches!(kind, None | Some("" | BIND));
    let (kind, source) = if is_bind {
        if !bound {
            options.insert(0, "rbind".to_owned());
        }
        let source = bind_source(source?, &fields, settings, problems);
        (BIND.to_owned(), source?)
    } else {
        let kind = kind.unwrap_or_default();
        judge_file_system(kind, &fields, settings, problems)?;
        (kind.to_owned(), source?.unwrap_or(kind).to_owned())
    };
    Ok(MountEntry {
        destination: destination?,
        kind,
        source,
        options,
    })
}

fn read_destination(fields: &Fields<'_>, problems: &mut Problems) -> Result<Clean, Reported> {
    let text = fields.text("destination", problems)?.unwrap_or_default();
    check_container_path(text)
        .map_err(|error| problems.add(fields.place().field("destination"), error))
}

fn read_options(fields: &Fields<'_>, problems: &mut Problems) -> Result<Vec<String>, Reported> {
    let mut options = Vec::new();
    let mut result = Ok(());
    for (i, option) in fields.texts("options", problems)?.into_iter().enumerate() {
        let place = fields.place().field("options").item(i);
        // A list whose items are not aligned reads as one item with blanks in it.
        if option.is_empty() || option.contains(char::is_whitespace) || option.contains('\0') {
            let what = format_args!("{option:?} is not one option: each is an item of its own");
            result = Err(problems.add(place, what));
        } else if option.split(',').any(|part| part == "remount") {
            let what = "\"remount\" would change a mount that is there already";
            result = Err(problems.add(place, what));
        } else {
            options.push(option.to_owned());
        }
    }
    result.map(|()| options)
}

fn is_bind_option(option: &str) -> bool {
    option.split(',').any(|part| BIND_OPTIONS.contains(&part))
}

/// Where a bind mount's source leads to. That is mounted, and not what the pod called it: a link
/// that is changed now leads nowhere else.
fn bind_source(
    source: Option<&str>,
    fields: &Fields<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Result<String, Reported> {
    let place = fields.place().field("source");
    let source = source.unwrap_or_default();
    check_absolute(source).map_err(|error| problems.add(place, error))?;
    if settings.mounts.allow_any() {
        return Ok(source.to_owned());
    }
    if source.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(problems.add(place, PathError::Dots(source.to_owned())));
    }
    // Without repeated slashes, so that it can be compared.
    let path: PathBuf = Path::new(source).components().collect();
    // Where nothing is allowed, nothing is looked at: whether something is there is not a pod's
    // business, and a file system that does not answer would hold up the node.
    if !settings.mounts.allow_source(&path) {
        let advice = settings.advice("allow_mounts", source);
        let what = format_args!("{source:?} is not allowed on this node: {advice}");
        return Err(problems.deny(place, what));
    }
    let what = match settings.host.resolve(&path) {
        Ok(target) if settings.mounts.allow_source(&target) => {
            match target.into_os_string().into_string() {
                Ok(target) => return Ok(target),
                Err(_) => format!("{source:?} leads to a path that is not UTF-8"),
            }
        }
        Ok(target) => {
            let advice = settings.advice("allow_mounts", &target.to_string_lossy());
            let what = format_args!(
                "{source:?} leads to {target:?}, which is not allowed on this node: {advice}"
            );
            return Err(problems.deny(place, what));
        }
        Err(error) => format!("{source:?} on this node: {error}"),
    };
    Err(problems.add(place, what))
}

fn judge_file_system(
    kind: &str,
    fields: &Fields<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Result<(), Reported> {
    if settings.mounts.allow_file_system(kind) {
        return Ok(());
    }
    let advice = settings.advice("allow_mounts", kind);
    let what = format_args!("mounts of type {kind:?} are not allowed on this node: {advice}");
    Err(problems.deny(fields.place().field("type"), what))
}
