//! Keeps the table of hooks up to date, on a thread of its own.

use std::io;
use std::sync::Arc;

use nri_node_files::Watcher;
use nri_plugin_api::Host;

use crate::loader::Loader;
use crate::report;
use crate::table::Current;

/// Reads hook files again whenever they change; and each minute, since neither programs nor what
/// links lead to are watched.
///
/// # Errors
///
/// The system has no descriptor or thread left.
pub(crate) fn start(mut loader: Loader, current: Arc<Current>, host: Host) -> io::Result<Watcher> {
    let folders = loader.folders_here().collect();
    Watcher::start("hook-files", host.clone(), folders, move || {
        let before = current.get();
        let now = current.set(loader.load());
        report::changes(&before, &now, &host);
    })
}
