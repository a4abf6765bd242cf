//! All that is known of one component.

use super::table::{problems, quarantine, runtime, style};
use super::words::{latency, span};
use crate::admin::status::{ComponentStatus, Status};
use crate::cli::terminal::{Screen, plain};
use crate::component::counters::{Counts, FailureCounts};
use crate::runtime::version::event_names;

/// Columns of the labels, with the spaces around them.
const LABEL: usize = 14;

/// One component of a status.
pub(super) fn details(
    component: &ComponentStatus,
    status: &Status,
    screen: &Screen,
) -> Vec<String> {
    let mut page = Page {
        screen,
        lines: vec![title(component, screen)],
    };
    page.add("reason", component.reason.iter());
    page.add("quarantine", quarantine(component));
    page.add("required", [required(component)]);
    page.add("runtime", runtime(&status.runtime));
    page.add("library", component.library.iter());
    page.add("sha256", component.digest.iter());
    if let (Some(id), Some(version)) = (&component.id, &component.version) {
        page.add("is", [format!("{id} {version}")]);
    }
    if let Some(events) = component.events {
        let names: Vec<_> = event_names(events).collect();
        page.add("events", [names.join(", ")]);
    }
    if let Some(counts) = &component.counts {
        add_counts(&mut page, component, counts);
    }
    if let Some(updates) = component.updates {
        let (queued, sent) = (updates.queued, updates.sent);
        let (failed, dropped) = (updates.failed, updates.dropped);
        page.add(
            "updates",
            [format!(
                "{queued} queued, {sent} sent, {failed} failed, {dropped} dropped"
            )],
        );
    }
    if let Some(health) = &component.health {
        page.add("says", [&health.summary]);
        page.add("", problems(health, usize::MAX));
    }
    page.add("held back", component.held_back.iter());
    let errors = component.last_errors.iter();
    page.add(
        "last errors",
        errors.map(|error| format!("{} ago: {}", span(error.seconds_ago), error.text)),
    );
    page.lines
}

fn title(component: &ComponentStatus, screen: &Screen) -> String {
    let name = component.plugin();
    let state = match component.state {
        Some(state) => screen.paint(state.as_str(), style(state)),
        None => "unknown".into(),
    };
    let since = component
        .since_seconds
        .map_or_else(String::new, |seconds| format!(" for {}", span(seconds)));
    format!("{}: {state}{since}", plain(&name))
}

fn required(component: &ComponentStatus) -> &'static str {
    match component.required {
        true => "yes: the host is not ready while it is not active",
        false => "no",
    }
}

fn add_counts(page: &mut Page<'_>, component: &ComponentStatus, counts: &Counts) {
    let by_method = counts.calls_by_method.iter();
    let by_method: Vec<_> = by_method
        .map(|(method, n)| format!("{method} {n}"))
        .collect();
    page.add("calls", [counted(counts.calls, &by_method.join(", "))]);
    if let Some(of_calls) = component.latency.filter(|_| counts.calls > 0) {
        let [p50, p99, max] = [of_calls.p50_us, of_calls.p99_us, of_calls.max_us].map(latency);
        let text = format!("half of the calls within {p50}, 99 % within {p99}, all within {max}");
        page.add("latency", [text]);
    }
    page.add(
        "failed",
        [counted(counts.failures, &kinds(&counts.failures_by_kind))],
    );
    page.add(
        "sessions",
        [counted(
            counts.sessions,
            &format!("of {} connections", counts.connections),
        )],
    );
    for (label, count, meaning) in [
        ("late", counts.late, "not answered by their deadline"),
        ("missed", counts.missed, "answered for it while it was away"),
        (
            "unseen",
            counts.created_while_away,
            "containers created while it had no session",
        ),
        (
            "ignored",
            counts.ignored,
            "failed, late or missed, and the runtime was not told",
        ),
        (
            "rejected",
            counts.rejections,
            "decisions against a pod or container",
        ),
        ("restarts", counts.recreated, "created again after a panic"),
    ] {
        let meaning = if count > 0 { meaning } else { "" };
        page.add(label, [counted(count, meaning)]);
    }
}

fn kinds(failures: &FailureCounts) -> String {
    let kinds = [
        (failures.errors, "errors"),
        (failures.panics, "panics"),
        (failures.bad_replies, "unusable replies"),
        (failures.withheld, "kept from the runtime"),
    ];
    let kinds = kinds.into_iter().filter(|(n, _)| *n > 0);
    let kinds: Vec<_> = kinds.map(|(n, kind)| format!("{kind} {n}")).collect();
    kinds.join(", ")
}

fn counted(count: u64, of_what: &str) -> String {
    match of_what {
        "" => count.to_string(),
        _ => format!("{count} ({of_what})"),
    }
}

/// Labels with what they stand for.
struct Page<'a> {
    screen: &'a Screen,
    lines: Vec<String>,
}

impl Page<'_> {
    /// Texts beside a label; nothing, if there are none.
    fn add<T: AsRef<str>>(&mut self, label: &str, texts: impl IntoIterator<Item = T>) {
        let mut label = label;
        for text in texts {
            let first = format!("  {label:width$}", width = LABEL - 2);
            let text = plain(text.as_ref());
            let lines = self.screen.wrap(&text, &first, LABEL, usize::MAX);
            self.lines.extend(lines);
            label = "";
        }
    }
}

#[cfg(test)]
mod tests;
