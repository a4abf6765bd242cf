//! Keeps the catalog up to date, on a thread of its own.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use nri_node_files::Watcher;
use nri_plugin_api::Host;

use crate::catalog::Catalog;
use crate::health::Reporter;
use crate::index::Index;

/// Reads the folders at once, and again when something changed in them; and each minute, since a
/// change behind a symbolic link is not seen.
///
/// # Errors
///
/// The system has no descriptor or thread left.
pub(crate) fn start(
    catalog: Arc<Catalog>,
    reporter: Arc<Reporter>,
    host: Host,
) -> io::Result<Watcher> {
    let folders = catalog.folders().paths.clone();
    Watcher::start("cdi-watch", host, folders, move || {
        let (old, new) = catalog.scan();
        report(&old, &new);
        reporter.report();
    })
}

/// Logs what is new among the problems.
fn report(old: &Index, new: &Index) {
    /// More of them are only counted.
    const MAX_LOGGED: usize = 20;
    let before: HashSet<_> = old.problems().iter().collect();
    let fresh = new
        .problems()
        .iter()
        .filter(|problem| !before.contains(*problem));
    for problem in fresh.clone().take(MAX_LOGGED) {
        tracing::warn!("{problem}");
    }
    let more = fresh.count().saturating_sub(MAX_LOGGED);
    if more > 0 {
        tracing::warn!("and {more} more problems with CDI files");
    }
    let (devices, files) = (new.device_count(), new.file_count());
    if (devices, files) != (old.device_count(), old.file_count()) {
        tracing::info!(devices, files, "CDI files were read");
    }
}
