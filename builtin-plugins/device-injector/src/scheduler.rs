//! The annotation `scheduling-policy.noderesource.dev`.

use nri_plugin_api::api::{LinuxSchedulerFlag, LinuxSchedulerPolicy};
use nri_plugin_api::{Adjustment, Scheduler};

use crate::annotation::{Fields, Value};
use crate::problems::{Problems, Reported};
use crate::settings::Settings;

const FIELDS: [&str; 7] = [
    "policy", "nice", "priority", "flags", "runtime", "deadline", "period",
];

/// Sets the scheduling attributes if they are allowed, and tells which they are.
pub(crate) fn inject(
    value: &Value<'_>,
    settings: &Settings,
    adjustment: &mut Adjustment,
    problems: &mut Problems,
) -> Result<String, Reported> {
    let fields = value.sole().fields(&FIELDS, problems)?;
    let policy = fields.named::<LinuxSchedulerPolicy>("policy", problems);
    let scheduler = Scheduler::new(policy.unwrap_or_default());
    let scheduler = with_attributes(scheduler, &fields, problems);
    let (policy, scheduler) = (policy?, scheduler?);
    if !settings.scheduling_policies.allow(policy) {
        let advice = settings.advice("allow_scheduling_policies", &format!("{policy:?}"));
        let what = format_args!("{policy:?} is not allowed on this node: {advice}");
        return Err(problems.deny(fields.place().field("policy"), what));
    }
    adjustment
        .set_scheduler(scheduler)
        .map_err(|error| problems.add(fields.place(), error))?;
    Ok(format!("scheduling policy {policy:?}"))
}

/// Reads what comes with a policy. Which of it a policy takes is checked when it is set.
fn with_attributes(
    scheduler: Scheduler,
    fields: &Fields<'_>,
    problems: &mut Problems,
) -> Result<Scheduler, Reported> {
    let nice = fields.number("nice", -20..=19, problems);
    let priority = fields.number("priority", 0..=99, problems);
    let flags = fields.all_named::<LinuxSchedulerFlag>("flags", problems);
    let [runtime, deadline, period] =
        ["runtime", "deadline", "period"].map(|name| fields.number(name, 0..=u64::MAX, problems));
    let scheduler = scheduler
        .nice(nice?.unwrap_or_default())
        .priority(priority?.unwrap_or_default())
        .deadline(
            runtime?.unwrap_or_default(),
            deadline?.unwrap_or_default(),
            period?.unwrap_or_default(),
        );
    Ok(flags?.into_iter().fold(scheduler, Scheduler::flag))
}
