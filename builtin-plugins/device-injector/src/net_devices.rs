//! The annotation `network-devices.noderesource.dev`.

use nri_plugin_api::Adjustment;

use crate::annotation::{Entry, Value};
use crate::problems::{Problems, Reported};
use crate::settings::Settings;

const FIELDS: [&str; 2] = ["hostIf", "name"];

/// Moves the devices that are allowed, and tells which they are.
pub(crate) fn inject(
    value: &Value<'_>,
    settings: &Settings,
    adjustment: &mut Adjustment,
    problems: &mut Problems,
) -> Vec<String> {
    let mut injected = Vec::new();
    let mut inside: Vec<String> = Vec::new();
    for entry in value.entries() {
        let Ok((host_name, name)) = read_entry(&entry, settings, problems) else {
            continue;
        };
        if inside.iter().any(|other| other == name) {
            let what = format_args!("{name} is there already");
            problems.add(entry.place().field("name"), what);
            continue;
        }
        match adjustment.add_net_device(host_name, Some(name).filter(|name| *name != host_name)) {
            Ok(_) => {
                inside.push(name.to_owned());
                injected.push(format!("network device {host_name} -> {name}"));
            }
            Err(error) => {
                problems.add(entry.place(), error);
            }
        }
    }
    injected
}

/// The name on the host and the one inside.
fn read_entry<'a>(
    entry: &Entry<'a>,
    settings: &Settings,
    problems: &mut Problems,
) -> Result<(&'a str, &'a str), Reported> {
    let fields = entry.fields(&FIELDS, problems)?;
    let host_name = fields.text("hostIf", problems);
    let name = fields.text("name", problems);
    let (host_name, name) = (host_name?.unwrap_or_default(), name?.unwrap_or_default());
    let place = fields.place().field("hostIf");
    if host_name.is_empty() {
        return Err(problems.add(place, "is missing"));
    }
    if !settings.network_devices.allow(host_name) {
        let advice = settings.advice("allow_network_devices", host_name);
        let what = format_args!("{host_name:?} is not allowed on this node: {advice}");
        return Err(problems.deny(place, what));
    }
    let name = if name.is_empty() { host_name } else { name };
    Ok((host_name, name))
}
