//! CRI-O reads hook files itself.

use std::path::Path;

use nri_plugin_api::{Host, Runtime};

use crate::table::Table;

/// Where CRI-O looks, unless it is told otherwise.
const FOLDER: &str = "/usr/share/containers/oci/hooks.d";

/// What is to be said of the folder that CRI-O and this component both read, if there are hooks in it
/// and CRI-O is the runtime. As long as there was no session, nobody knows the runtime.
pub(crate) fn warning(table: &Table, host: &Host) -> Option<&'static str> {
    let mut folders = table.folders.iter();
    let is_read = folders.any(|folder| folder.path == Path::new(FOLDER) && folder.hooks > 0);
    // The runtime is asked only where it matters.
    let is_twice = is_read && host.runtime().is_some_and(|runtime| is_cri_o(&runtime));
    is_twice.then_some(
        "CRI-O reads hooks in /usr/share/containers/oci/hooks.d itself, so they run twice: leave the \
         folder out of hook_dirs here, or out of hooks_dir there",
    )
}

fn is_cri_o(runtime: &Runtime) -> bool {
    runtime.name.eq_ignore_ascii_case("cri-o")
}
