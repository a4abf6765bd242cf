//! The annotation `memory-policy.noderesource.dev`.

use nri_plugin_api::api::{MpolFlag, MpolMode};
use nri_plugin_api::{Adjustment, MemoryPolicy};

use crate::annotation::{Fields, Value};
use crate::problems::{Problems, Reported};
use crate::settings::Settings;

const FIELDS: [&str; 3] = ["mode", "nodes", "flags"];

/// Sets the policy if it is allowed, and tells which it is.
pub(crate) fn inject(
    value: &Value<'_>,
    settings: &Settings,
    adjustment: &mut Adjustment,
    problems: &mut Problems,
) -> Result<String, Reported> {
    let fields = value.sole().fields(&FIELDS, problems)?;
    let mode = fields.named::<MpolMode>("mode", problems);
    let nodes = read_nodes(&fields, problems);
    let flags = fields.all_named::<MpolFlag>("flags", problems);
    let (mode, nodes, flags) = (mode?, nodes?, flags?);
    if !settings.memory_policies.allow(mode) {
        let advice = settings.advice("allow_memory_policies", &format!("{mode:?}"));
        let what = format_args!("{mode:?} is not allowed on this node: {advice}");
        return Err(problems.deny(fields.place().field("mode"), what));
    }
    let policy = MemoryPolicy::new(mode).nodes(nodes);
    adjustment
        .set_memory_policy(flags.into_iter().fold(policy, MemoryPolicy::flag))
        .map_err(|error| problems.add(fields.place(), error))?;
    Ok(format!("memory policy {mode:?} {nodes}")
        .trim_end()
        .to_owned())
}

fn read_nodes<'a>(fields: &Fields<'a>, problems: &mut Problems) -> Result<&'a str, Reported> {
    let nodes = fields.text("nodes", problems)?.unwrap_or_default();
    if nodes.is_empty() || nodes.split(',').all(is_node_or_range) {
        return Ok(nodes);
    }
    let what = format_args!("expected NUMA nodes such as \"0-1,3\", not {nodes:?}");
    Err(problems.add(fields.place().field("nodes"), what))
}

/// `3` or `0-3`.
fn is_node_or_range(text: &str) -> bool {
    let node = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u16>().ok()).flatten()
    };
    match text.split_once('-') {
        Some((first, last)) => node(first).is_some_and(|first| node(last) >= Some(first)),
        None => node(text).is_some(),
    }
}
