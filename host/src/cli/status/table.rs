//! The state of everything: one line a component, and below it what there is to say.

use std::borrow::Cow;
use std::time::Duration;

use anstyle::Style;
use humantime::format_duration;
use unicode_width::UnicodeWidthStr;

use super::words::{count, latency, span};
use crate::admin::status::{ComponentStatus, RuntimeStatus, State, Status};
use crate::cli::terminal::{BAD, DOUBTFUL, GOOD, Screen, UNIMPORTANT, cut, pad, plain};
use crate::component::health::{Health, HealthProblem};

/// Problems of a component that the table shows; all that are known are in its details.
const MAX_PROBLEMS: usize = 3;
/// Lines of a terminal that one of the things to say below a component gets.
const MAX_LINES: usize = 3;
/// Columns before what is said below a component, and before what is left of it on a further line.
const INDENT: &str = "    ";
const FURTHER_INDENT: usize = 6;
/// Columns that a name gets at least.
const MIN_NAME: usize = 9;

/// A column behind the name.
struct Column {
    heading: &'static str,
    width: usize,
    is_number: bool,
}

const fn column(heading: &'static str, width: usize, is_number: bool) -> Column {
    Column {
        heading,
        width,
        is_number,
    }
}

/// The most important first: what a narrow terminal has no room for is left out from the end.
const COLUMNS: [Column; 9] = [
    column("STATE", 11, false),
    column("SINCE", 6, true),
    column("CALLS", 5, true),
    column("FAILED", 6, true),
    column("LATE", 4, true),
    column("REJ", 4, true),
    column("RST", 4, true),
    column("P50", 5, true),
    column("P99", 5, true),
];

/// Columns before the name: the index, and a space on each side.
const INDEX: usize = 4;
const PLAIN: Style = Style::new();

/// The whole table, with the host and the runtime above it.
pub(super) fn table(status: &Status, screen: &Screen) -> Vec<String> {
    let mut lines = head(status, screen);
    lines.push(String::new());
    let width = name_width(&status.components, screen);
    lines.push(heading(width, screen));
    for component in &status.components {
        lines.push(row(component, width, screen));
        lines.extend(remarks(component, screen));
    }
    lines
}

fn head(status: &Status, screen: &Screen) -> Vec<String> {
    let readiness = match status.ready {
        true => screen.paint("ready", GOOD),
        false => screen.paint("not ready", BAD),
    };
    let (version, pid) = (&status.version, status.pid);
    let mut lines = vec![format!("nri-host {version} (pid {pid}), {readiness}")];
    let said = runtime(&status.runtime);
    lines.extend(
        said.iter()
            .flat_map(|said| screen.wrap(said, "runtime: ", 2, MAX_LINES)),
    );
    lines
}

/// What is known of the runtime, and what is in the way to it.
pub(super) fn runtime(runtime: &RuntimeStatus) -> Vec<String> {
    let socket = plain(&runtime.socket);
    let trouble = runtime.trouble.iter();
    let mut said: Vec<String> = trouble
        .map(|trouble| format!("{socket}: {}", plain(trouble)))
        .collect();
    match &runtime.name {
        Some(name) => {
            let version = runtime.version.as_deref().unwrap_or("of unknown version");
            let nri = runtime.nri_version.as_deref().unwrap_or("unknown");
            let known = format!("{name} {version} (NRI {nri})");
            let time = runtime.request_timeout_ms.map(|ms| {
                let time = format_duration(Duration::from_millis(ms));
                format!("; waits {time} for an answer")
            });
            let time = time.unwrap_or_default();
            said.push(format!("{} at {socket}{time}", plain(&known)));
        }
        None if said.is_empty() => said.push(format!("{socket}: not connected")),
        None => {}
    }
    said
}

/// The longest name, or as much as leaves the other columns their room.
fn name_width(components: &[ComponentStatus], screen: &Screen) -> usize {
    let longest = components.iter().map(|c| shown_name(c).width()).max();
    let others: usize = COLUMNS.iter().map(|column| 1 + column.width).sum();
    let most = screen.width.map_or(usize::MAX, |width| {
        width.saturating_sub(INDEX + others).max(MIN_NAME)
    });
    longest.unwrap_or(0).clamp(MIN_NAME, most)
}

fn shown_name(component: &ComponentStatus) -> Cow<'_, str> {
    component
        .name
        .as_deref()
        .map_or(Cow::Borrowed("(no name)"), plain)
}

fn heading(name_width: usize, screen: &Screen) -> String {
    let start = format!("IDX {}", pad("COMPONENT", name_width, false));
    let cells = COLUMNS.map(|column| (column.heading.to_owned(), PLAIN));
    line(start, cells, screen)
}

fn row(component: &ComponentStatus, name_width: usize, screen: &Screen) -> String {
    let index = component
        .index
        .map_or_else(|| "--".to_owned(), |index| format!("{index:02}"));
    let name = cut(&shown_name(component), name_width);
    let counts = component.counts.clone().unwrap_or_default();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let if_any = |count: u64| if count > 0 { DOUBTFUL } else { PLAIN };
    let latencies = component.latency.filter(|_| counts.calls > 0);
    let cells = [
        component
            .state
            .map_or(("unknown".to_owned(), PLAIN), |state| {
                (state.as_str().to_owned(), style(state))
            }),
        (or_dash(component.since_seconds.map(span)), PLAIN),
        (count(counts.calls, 5), PLAIN),
        (count(counts.failures, 6), if_any(counts.failures)),
        (count(counts.late, 4), if_any(counts.late)),
        (count(counts.rejections, 4), PLAIN),
        (count(counts.recreated, 4), if_any(counts.recreated)),
        (or_dash(latencies.map(|l| latency(l.p50_us))), PLAIN),
        (or_dash(latencies.map(|l| latency(l.p99_us))), PLAIN),
    ];
    let start = format!(" {index} {}", pad(&name, name_width, false));
    line(start, cells, screen)
}

/// What begins a line, and as many cells behind it as fit.
fn line(start: String, cells: [(String, Style); COLUMNS.len()], screen: &Screen) -> String {
    let mut width = start.width();
    let mut line = start;
    for ((text, style), column) in cells.into_iter().zip(&COLUMNS) {
        width += 1 + column.width;
        if screen.width.is_some_and(|available| width > available) {
            break;
        }
        line.push(' ');
        line += &screen.paint(&pad(&text, column.width, column.is_number), style);
    }
    line
}

/// The colour of a state.
pub(super) fn style(state: State) -> Style {
    match state {
        State::Active => GOOD,
        State::Waiting | State::Handshaking | State::Unsynced => DOUBTFUL,
        State::Overdue | State::Quarantined | State::Failed => BAD,
        State::Disabled => UNIMPORTANT,
    }
}

/// What there is to say of a component besides its row.
fn remarks(component: &ComponentStatus, screen: &Screen) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(component.reason.clone());
    remarks.extend(quarantine(component));
    if let Some(reason) = &component.held_back {
        remarks.push(format!("runs as before the reload: {reason}"));
    }
    if let Some(error) = component.last_errors.first() {
        let ago = span(error.seconds_ago);
        remarks.push(format!("last error, {ago} ago: {}", error.text));
    }
    if let Some(health) = &component.health {
        remarks.push(format!("says: {}", health.summary));
        remarks.extend(problems(health, MAX_PROBLEMS));
    }
    remarks
        .iter()
        .flat_map(|remark| screen.wrap(&plain(remark), INDENT, FURTHER_INDENT, MAX_LINES))
        .collect()
}

/// How long it is left alone for, and how to end that.
pub(super) fn quarantine(component: &ComponentStatus) -> Option<String> {
    let left = span(component.quarantine_left_seconds?);
    let name = component.name.as_deref().unwrap_or_default();
    Some(format!(
        "not called for {left} more: `nri-host reset {name}` ends it"
    ))
}

/// One text for each problem, at most `max`, and one for how many more there are.
pub(super) fn problems(health: &Health, max: usize) -> Vec<String> {
    let shown = health.problems.iter().take(max);
    let text = |problem: &HealthProblem| {
        let HealthProblem {
            message,
            file,
            line,
        } = problem;
        match (file, line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {message}"),
            (Some(file), None) => format!("{file}: {message}"),
            (None, _) => message.clone(),
        }
    };
    let mut texts: Vec<String> = shown.map(text).collect();
    let more = health.problems_total.saturating_sub(texts.len());
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    texts
}

#[cfg(test)]
mod tests;
