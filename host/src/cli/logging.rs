//! The host's own log, on standard error: the journal's, under systemd.

use std::io::{self, Write, stderr};

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::writer::MakeWriterExt as _;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

use super::terminal::shows_colours;
use crate::admin::log::LogLines;
use crate::{crash, thread_locals};

/// Lines that wait to be written. When nobody takes them, further ones are dropped: a stuck journal
/// must not hold up a component's thread.
const MAX_WAITING_LINES: usize = 4096;

/// Standard error. It is written to from a thread that a library starts, and that is the host's.
struct FromOwnThread;

impl Write for FromOwnThread {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        crash::mark_host_thread();
        stderr().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        stderr().flush()
    }
}

/// A log that is set up. Dropping it writes out what waits.
#[derive(Debug)]
pub(super) struct Log {
    level: reload::Handle<LevelFilter, Registry>,
    dropped_lines: ErrorCounter,
    _writer: WorkerGuard,
}

impl Log {
    /// Sets up the log of the process. `kept` gets what is logged of components.
    ///
    /// # Panics
    ///
    /// When the process has a log already.
    pub(super) fn start(level: LevelFilter, kept: LogLines) -> Self {
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(MAX_WAITING_LINES)
            .finish(FromOwnThread);
        let dropped_lines = writer.error_counter();
        let (filter, handle) = reload::Layer::new(level);
        let lines = fmt::layer()
            .with_writer(writer.with_filter(|event| event.target() != thread_locals::UNWRITTEN))
            .with_ansi(shows_colours(&stderr()));
        let registry = tracing_subscriber::registry().with(filter).with(kept);
        match std::env::var_os("JOURNAL_STREAM") {
            // The journal has its own clock.
            Some(_) => registry.with(lines.without_time()).init(),
            None => registry.with(lines).init(),
        }
        thread_locals::make();
        Self {
            level: handle,
            dropped_lines,
            _writer: guard,
        }
    }

    /// Lines that were dropped, as nobody took them in time.
    pub(super) fn dropped_lines(&self) -> ErrorCounter {
        self.dropped_lines.clone()
    }

    /// Changes what is logged.
    pub(super) fn set_level(&self, level: LevelFilter) {
        set_level(&self.level, level);
    }

    /// Does the same, wherever it is handed to.
    pub(super) fn level_setter(&self) -> Box<dyn Fn(LevelFilter) + Send> {
        let handle = self.level.clone();
        Box::new(move |level| set_level(&handle, level))
    }
}

fn set_level(handle: &reload::Handle<LevelFilter, Registry>, level: LevelFilter) {
    if let Err(error) = handle.reload(level) {
        tracing::error!(%error, "the log level cannot be changed");
    }
}
