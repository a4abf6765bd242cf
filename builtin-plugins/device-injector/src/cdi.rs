//! The annotation `cdi-devices.noderesource.dev`.

use nri_plugin_api::cdi::DeviceName;

use crate::annotation::Value;
use crate::problems::Problems;
use crate::settings::Settings;

/// Reads the entries and asks whether they are allowed.
pub(crate) fn read(
    value: &Value<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Vec<DeviceName> {
    let mut names: Vec<DeviceName> = Vec::new();
    for entry in value.entries() {
        let Ok(text) = entry.text(problems) else {
            continue;
        };
        let name: DeviceName = match text.parse() {
            Ok(name) => name,
            Err(error) => {
                problems.add(entry.place(), error);
                continue;
            }
        };
        if names.contains(&name) {
            problems.add(entry.place(), format_args!("{name} is there already"));
        } else if settings.cdi_devices.allow(&name) {
            names.push(name);
        } else {
            let advice = settings.advice("allow_cdi_devices", name.kind());
            let what = format_args!("{name} is not allowed on this node: {advice}");
            problems.deny(entry.place(), what);
        }
    }
    names
}
