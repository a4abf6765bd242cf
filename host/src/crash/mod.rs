//! Whom the end of the whole process is put down to.
//!
//! Components run in this process, so a fault in one of them ends it for all. What can be done is to
//! say who it was, to let the process die as it would have without us, and to leave out whoever did
//! it too often.
//!
//! | module | job |
//! |---|---|
//! | `doing` | what each thread is doing for whom, as the fault handler reads it |
//! | `handler` | the handlers of fault signals and of `exit` |
//! | `report` | what they say, in a line and in a record, without allocating |
//! | `record` | the records as they are read at the next start |
//! | `history` | the crashes of each component, kept over restarts, and who stays out for them |
//!
//! Not seen are `_exit`, SIGKILL, and a stack overflow on a thread that a component started without
//! an alternate signal stack.

mod doing;
mod handler;
mod history;
mod record;
mod report;

use std::fs::File;
use std::io;
use std::path::Path;

pub use doing::{Identity, Step, during, fingerprint, mark_host_thread};
pub use handler::{enter_host_thread, library_came, library_comes};
pub use history::{History, HistoryError, KeptOut};
pub use record::{Crash, seconds};

/// Has the end of this process put down to whoever brings it about, and logs how the one before
/// ended, if by a crash. Call it once, on the main thread, before any library is loaded.
///
/// Without a `state_dir` that can be written to, crashes are forgotten with the process.
///
/// # Errors
///
/// When the system refuses a signal handler.
pub fn begin(state_dir: &Path) -> io::Result<History> {
    let (history, record) = match History::open(state_dir) {
        Ok(opened) => {
            let (history, record) = tell(opened);
            (history, Some(record))
        }
        Err(error) => {
            let error = crate::chain(&error);
            tracing::warn!(error, "crashes cannot be remembered over a restart");
            (History::default(), None)
        }
    };
    handler::install(record)?;
    Ok(history)
}

fn tell(opened: history::Opened) -> (History, File) {
    for crash in &opened.news {
        if crash.component.is_empty() {
            let thread = crash.thread.as_str();
            tracing::error!(thread, "the host ended the last time in {crash}");
        } else {
            let component = crash.component.as_str();
            tracing::error!(component, "it ended the host the last time, in {crash}");
        }
    }
    if opened.damaged {
        tracing::warn!("some records of crashes were damaged, and are left out");
    }
    if let Some(error) = &opened.unsaved {
        tracing::warn!("{}", crate::chain(error));
    }
    (opened.history, opened.record)
}
