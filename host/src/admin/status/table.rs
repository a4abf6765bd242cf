//! The state for people: one line a component, and below it what there is to say.

use std::fmt;

use super::{ComponentStatus, State, Status};
use crate::component::health::{Health, HealthProblem};
use crate::component::last_errors::LastError;

/// Problems of a component that the table shows; all that are known are in the JSON.
const MAX_SHOWN_PROBLEMS: usize = 10;

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runtime = &self.runtime;
        write!(f, "nri-host {} (pid {}), ", self.version, self.pid)?;
        writeln!(f, "{}", if self.ready { "ready" } else { "not ready" })?;
        if let Some(trouble) = &runtime.trouble {
            writeln!(f, "runtime: {}: {trouble}", runtime.socket)?;
        }
        match &runtime.name {
            Some(name) => {
                let version = runtime.version.as_deref().unwrap_or("of unknown version");
                let nri = runtime.nri_version.as_deref().unwrap_or("unknown");
                writeln!(
                    f,
                    "runtime: {name} {version} (NRI {nri}) at {}",
                    runtime.socket
                )?;
            }
            None if runtime.trouble.is_some() => {}
            None => writeln!(f, "runtime: {}: not connected", runtime.socket)?,
        }
        writeln!(f)?;
        let width = self
            .components
            .iter()
            .map(|c| c.shown_name().len())
            .max()
            .unwrap_or(0)
            .max(9);
        writeln!(
            f,
            "IDX {:width$}  {:11} {:>8} {:>7} {:>7} {:>6}  SINCE",
            "COMPONENT", "STATE", "CALLS", "FAILED", "REJECT", "LATE"
        )?;
        for component in &self.components {
            component.write_row(f, width)?;
        }
        Ok(())
    }
}

impl ComponentStatus {
    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("(no name)")
    }

    fn write_row(&self, f: &mut impl fmt::Write, width: usize) -> fmt::Result {
        let index = self
            .index
            .map_or_else(|| "--".to_owned(), |index| format!("{index:02}"));
        let state = self.state.map_or("unknown", State::as_str);
        let counts = self.counts.clone().unwrap_or_default();
        let since = self.since_seconds.map_or_else(|| "-".to_owned(), span);
        writeln!(
            f,
            " {index} {:width$}  {state:11} {:>8} {:>7} {:>7} {:>6}  {since}",
            self.shown_name(),
            counts.calls,
            counts.failures,
            counts.rejections,
            counts.late,
        )?;
        if let Some(reason) = &self.reason {
            writeln!(f, "    {reason}")?;
        }
        if let Some(left) = self.quarantine_left_seconds {
            let (left, name) = (span(left), self.shown_name());
            writeln!(
                f,
                "    not called for {left} more: `nri-host reset {name}` ends it"
            )?;
        }
        if let Some(LastError { seconds_ago, text }) = self.last_errors.first() {
            writeln!(f, "    last error, {} ago: {text}", span(*seconds_ago))?;
        }
        self.health
            .as_ref()
            .map_or(Ok(()), |health| write_health(f, health))
    }
}

fn write_health(f: &mut impl fmt::Write, health: &Health) -> fmt::Result {
    writeln!(f, "    says: {}", health.summary)?;
    let shown = health.problems.iter().take(MAX_SHOWN_PROBLEMS);
    for HealthProblem {
        message,
        file,
        line,
    } in shown.clone()
    {
        match (file, line) {
            (Some(file), Some(line)) => writeln!(f, "    {file}:{line}: {message}")?,
            (Some(file), None) => writeln!(f, "    {file}: {message}")?,
            (None, _) => writeln!(f, "    {message}")?,
        }
    }
    match health.problems_total.saturating_sub(shown.count()) {
        0 => Ok(()),
        more => writeln!(f, "    and {more} more"),
    }
}

/// `5s`, `3m12s`, `2h05m`, `4d03h`.
fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if days > 0 => format!("{days}d{:02}h", hours % 24),
        () if hours > 0 => format!("{hours}h{:02}m", minutes % 60),
        () if minutes > 0 => format!("{minutes}m{:02}s", seconds % 60),
        () => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::RuntimeStatus;
    use super::*;

    #[test]
    fn the_table_names_each_component_and_why_it_is_not_active() {
        let status = Status {
            version: "1.2.3".into(),
            pid: 7,
            ready: false,
            runtime: RuntimeStatus {
                socket: "/run/nri.sock".into(),
                trouble: Some("nobody listens".into()),
                ..RuntimeStatus::default()
            },
            components: vec![ComponentStatus {
                name: Some("gpu".into()),
                index: Some(5),
                state: Some(State::Failed),
                reason: Some("gpu.toml:3: index: is missing".into()),
                ..ComponentStatus::default()
            }],
        };
        let table = status.to_string();
        assert!(
            table.contains("nri-host 1.2.3 (pid 7), not ready"),
            "{table}"
        );
        assert!(table.contains("/run/nri.sock: nobody listens"), "{table}");
        assert!(table.contains(" 05 gpu        failed "), "{table}");
        assert!(table.contains("gpu.toml:3: index: is missing"), "{table}");
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    }

    #[test]
    fn a_quarantine_is_shown_with_its_end_and_what_ends_it() {
        let component = ComponentStatus {
            name: Some("gpu".into()),
            index: Some(5),
            state: Some(State::Quarantined),
            since_seconds: Some(8),
            last_errors: vec![LastError {
                seconds_ago: 7,
                text: "CreateContainer for the node: no".into(),
            }],
            quarantine_left_seconds: Some(592),
            ..ComponentStatus::default()
        };
        let mut row = String::new();
        component.write_row(&mut row, 9).unwrap();
        assert_eq!(
            row,
            " 05 gpu        quarantined        0       0       0      0  8s\n    \
             not called for 9m52s more: `nri-host reset gpu` ends it\n    \
             last error, 7s ago: CreateContainer for the node: no\n"
        );
    }

    #[test]
    fn what_a_component_says_of_itself_is_shown_with_file_and_line() {
        let problem = |file: &str, line| HealthProblem {
            message: "no such stage".into(),
            file: Some(file.into()).filter(|file: &String| !file.is_empty()),
            line,
        };
        let component = ComponentStatus {
            name: Some("hooks".into()),
            index: Some(5),
            state: Some(State::Active),
            since_seconds: Some(8),
            health: Some(Health {
                summary: "11 hooks".into(),
                problems: [("/a.json", Some(7)), ("/b.json", None), ("", None)]
                    .into_iter()
                    .map(|(file, line)| problem(file, line))
                    .cycle()
                    .take(12)
                    .collect(),
                problems_total: 120,
            }),
            ..ComponentStatus::default()
        };
        let mut row = String::new();
        component.write_row(&mut row, 9).unwrap();
        let lines: Vec<&str> = row.lines().skip(1).collect();
        assert_eq!(
            lines[..4],
            [
                "    says: 11 hooks",
                "    /a.json:7: no such stage",
                "    /b.json: no such stage",
                "    no such stage",
            ]
        );
        assert_eq!((lines.len(), lines[11]), (12, "    and 110 more"));
    }

    #[test]
    fn times_are_short_at_every_size() {
        let shown: Vec<String> = [5, 192, 7500, 356_400].into_iter().map(span).collect();
        assert_eq!(shown, ["5s", "3m12s", "2h05m", "4d03h"]);
    }
}
