//! The annotation `io-priority.noderesource.dev`.

use nri_plugin_api::api::IOPrioClass;
use nri_plugin_api::{Adjustment, IoPriority};

use crate::annotation::Value;
use crate::problems::{Problems, Reported};
use crate::settings::Settings;

const FIELDS: [&str; 2] = ["class", "priority"];

/// Sets the priority if it is allowed, and tells which it is.
pub(crate) fn inject(
    value: &Value<'_>,
    settings: &Settings,
    adjustment: &mut Adjustment,
    problems: &mut Problems,
) -> Result<String, Reported> {
    let fields = value.sole().fields(&FIELDS, problems)?;
    let class = fields.named::<IOPrioClass>("class", problems);
    let priority = fields.number("priority", 0..=7_u8, problems);
    let (class, priority) = (class?, priority?.unwrap_or_default());
    if !settings.io_priorities.allow(class) {
        let advice = settings.advice("allow_io_priorities", &format!("{class:?}"));
        let what = format_args!("{class:?} is not allowed on this node: {advice}");
        return Err(problems.deny(fields.place().field("class"), what));
    }
    adjustment
        .set_io_priority(IoPriority::new(class, priority))
        .map_err(|error| problems.add(fields.place(), error))?;
    Ok(format!("I/O priority {class:?} {priority}"))
}
