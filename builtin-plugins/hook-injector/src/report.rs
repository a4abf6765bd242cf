//! Tells what was found in the folders.

use std::collections::HashSet;

use nri_plugin_api::{Health, HealthProblem, Host};

use crate::cri_o;
use crate::table::Table;

/// How many problems of one round are logged.
const MAX_LOGGED: usize = 32;

/// Tells what is in use at the start.
pub(crate) fn start(table: &Table, host: &Host) {
    changes(&Table::default(), table, host);
}

/// Tells what is another than before.
pub(crate) fn changes(before: &Table, now: &Table, host: &Host) {
    let known: HashSet<_> = before.problems.iter().collect();
    let mut fresh = now.problems.iter().filter(|p| !known.contains(p));
    for problem in fresh.by_ref().take(MAX_LOGGED) {
        tracing::warn!("{problem}");
    }
    let more = fresh.count();
    if more > 0 {
        tracing::warn!("and {more} more problems with hook files");
    }
    if before.folders != now.folders || before.problems.len() != now.problems.len() {
        tracing::info!("{}", summary(now));
    }
    host.report_health(&health(now, host));
}

fn health(table: &Table, host: &Host) -> Health {
    let mut health = Health::new(summary(table));
    for problem in &table.problems {
        let told = HealthProblem::new(problem.message()).file(&problem.path);
        let line = problem.line.and_then(|line| u32::try_from(line).ok());
        health.add(match line {
            Some(line) => told.line(line),
            None => told,
        });
    }
    if let Some(warning) = cri_o::warning(table, host) {
        health.add(HealthProblem::new(warning));
    }
    health
}

/// The table in one line.
pub(crate) fn summary(table: &Table) -> String {
    let folders = table.folders.iter();
    let folders: Vec<_> = folders
        .map(|folder| format!("{} from {}", folder.hooks, folder.path.display()))
        .collect();
    let mut summary = format!("hooks in use: {}", folders.join(", "));
    match table.problems.len() {
        0 => {}
        1 => summary.push_str("; 1 problem"),
        n => summary.push_str(&format!("; {n} problems")),
    }
    summary
}
