//! Metrics of components. Their labels are bounded by the configuration.

use std::collections::BTreeMap;
use std::fmt;

use super::family::{Families, Labels, truth};
use crate::admin::status::{ComponentStatus, State, Status};
use crate::component::counters::Counts;
use crate::component::outbox::UpdateCounts;

type Of<T> = fn(&T) -> u64;

/// Numbers of [`Counts`] that stand for themselves.
const COUNTERS: [(&str, &str, Of<Counts>); 8] = [
    (
        "nri_host_component_rejections",
        "Decisions of the component against a pod or container",
        |counts| counts.rejections,
    ),
    (
        "nri_host_component_missed_calls",
        "Calls that the host answered for the component while it was away or in quarantine",
        |counts| counts.missed,
    ),
    (
        "nri_host_component_ignored_failures",
        "Failed, late and missed calls of which the runtime was not told",
        |counts| counts.ignored,
    ),
    (
        "nri_host_component_connections",
        "Connections that were made to the runtime for the component",
        |counts| counts.connections,
    ),
    (
        "nri_host_component_sessions",
        "Connections that came through to an active session",
        |counts| counts.sessions,
    ),
    (
        "nri_host_component_reconnects",
        "Active sessions after the first one",
        |counts| counts.sessions.saturating_sub(1),
    ),
    (
        "nri_host_component_recreations",
        "Times that the component was created again after a panic",
        |counts| counts.recreated,
    ),
    (
        "nri_host_component_containers_created_while_away",
        "Containers that came into being while the component had no session",
        |counts| counts.created_while_away,
    ),
];

/// Kinds of failure: the value of the label `kind`.
const FAILURES: [(&str, Of<Counts>); 5] = [
    ("error", |counts| counts.failures_by_kind.errors),
    ("panic", |counts| counts.failures_by_kind.panics),
    ("bad_reply", |counts| counts.failures_by_kind.bad_replies),
    ("withheld", |counts| counts.failures_by_kind.withheld),
    ("late", |counts| counts.late),
];

/// Numbers of [`UpdateCounts`] that only grow.
const UPDATES: [(&str, &str, Of<UpdateCounts>); 5] = [
    (
        "nri_host_component_update_requests",
        "Requests to update containers that were taken from the component",
        |counts| counts.queued,
    ),
    (
        "nri_host_component_update_requests_refused",
        "Requests to update containers that were not taken, as too many waited",
        |counts| counts.refused,
    ),
    (
        "nri_host_component_update_requests_sent",
        "Requests to update containers that went to the runtime",
        |counts| counts.sent,
    ),
    (
        "nri_host_component_update_requests_failed",
        "Requests to update containers that failed, at least in part",
        |counts| counts.failed,
    ),
    (
        "nri_host_component_update_requests_dropped",
        "Requests to update containers that were taken and never sent",
        |counts| counts.dropped,
    ),
];

pub(super) fn write(status: &Status, families: &mut Families<'_>) -> fmt::Result {
    let components = Components::new(status);
    components.write_states(families)?;
    components.write_calls(families)?;
    for (name, help, of) in COUNTERS {
        families.counters(name, help, components.counted(of))?;
    }
    components.write_updates(families)
}

/// The components by the name that the runtime knows. The configuration may name one twice: the one
/// that is run is meant then.
struct Components<'a>(BTreeMap<String, &'a ComponentStatus>);

impl<'a> Components<'a> {
    fn new(status: &'a Status) -> Self {
        let mut components = BTreeMap::new();
        for component in &status.components {
            if component.name.is_none() {
                continue;
            }
            let is_run = component.counts.is_some();
            let known = components.entry(component.plugin()).or_insert(component);
            if is_run {
                *known = component;
            }
        }
        Self(components)
    }

    fn each<'s, T>(
        &'s self,
        value: impl Fn(&'a ComponentStatus) -> Option<T>,
    ) -> impl Iterator<Item = (Labels<'s>, T)> {
        self.0.iter().filter_map(move |(name, component)| {
            Some((vec![("component", name.as_str())], value(component)?))
        })
    }

    fn counted(&self, of: Of<Counts>) -> impl Iterator<Item = (Labels<'_>, u64)> {
        self.each(move |component| component.counts.as_ref().map(of))
    }

    fn write_states(&self, families: &mut Families<'_>) -> fmt::Result {
        let info = self.each(|component| {
            let id = component.id.as_deref()?;
            Some((id, component.version.as_deref().unwrap_or_default()))
        });
        families.words(
            "nri_host_component_info",
            "What the library of the component says it is, once it is loaded",
            info.map(|(mut labels, (id, version))| {
                labels.extend([("id", id), ("version", version)]);
                labels
            }),
        )?;
        let states = self.each(|component| component.state);
        families.gauges(
            "nri_host_component_state",
            "1 for the state that the component is in",
            states.flat_map(|(labels, current)| {
                State::ALL.map(|state| {
                    let mut labels = labels.clone();
                    labels.push(("state", state.as_str()));
                    (labels, truth(state == current))
                })
            }),
        )?;
        families.gauges(
            "nri_host_component_required",
            "Whether the host is not ready without the component",
            self.each(|component| Some(truth(component.required))),
        )?;
        families.gauges(
            "nri_host_component_quarantine_left_seconds",
            "For how long the component will not be called any more; 0 outside a quarantine",
            self.each(|component| Some(component.quarantine_left_seconds.unwrap_or(0) as f64)),
        )?;
        families.gauges(
            "nri_host_component_problems",
            "Problems that the component reports of itself",
            self.each(|component| Some(component.health.as_ref()?.problems_total as f64)),
        )
    }

    fn write_calls(&self, families: &mut Families<'_>) -> fmt::Result {
        let by_method = self.each(|component| Some(&component.counts.as_ref()?.calls_by_method));
        families.counters(
            "nri_host_component_calls",
            "Calls that reached the component, by method",
            by_method.flat_map(|(labels, calls)| {
                calls.iter().map(move |(method, calls)| {
                    let mut labels = labels.clone();
                    labels.push(("method", method.as_str()));
                    (labels, *calls)
                })
            }),
        )?;
        families.durations(
            "nri_host_component_call_duration_seconds",
            "Time from when the host had read a call until it had an answer of the component, or its time was up",
            self.each(|component| Some(&component.counts.as_ref()?.durations)),
        )?;
        let failed = FAILURES.into_iter().flat_map(|(kind, of)| {
            self.counted(of).map(move |(mut labels, failures)| {
                labels.push(("kind", kind));
                (labels, failures)
            })
        });
        families.counters(
            "nri_host_component_failures",
            "Calls to which there was no good answer of the component, by kind",
            failed,
        )
    }

    fn write_updates(&self, families: &mut Families<'_>) -> fmt::Result {
        for (name, help, of) in UPDATES {
            let counts = self.each(|component| component.updates.as_ref().map(of));
            families.counters(name, help, counts)?;
        }
        families.gauges(
            "nri_host_component_update_requests_waiting",
            "Requests to update containers that the runtime has not answered yet",
            self.each(|component| Some(component.updates.as_ref()?.waiting as f64)),
        )
    }
}
