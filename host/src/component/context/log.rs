//! The log lines of a component, as many and as long as it may write.

use std::time::{Duration, Instant};

use nri_plugin_api::abi::log_level;

use super::Context;
use crate::lock::lock;

/// Longest log line of a component in bytes; the rest of it is cut off.
const MAX_LOG_LINE: usize = 8 << 10;
/// Log lines that a component may write within [`LOG_WINDOW`].
const MAX_LOG_LINES: u32 = 200;
/// See [`MAX_LOG_LINES`].
const LOG_WINDOW: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct LogBudget {
    since: Instant,
    lines: u32,
    dropped: u64,
}

impl LogBudget {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            lines: 0,
            dropped: 0,
        }
    }
}

impl Context {
    pub(super) fn take_log(&self, level: u32, line: &str) {
        {
            let mut budget = lock(&self.log);
            if budget.since.elapsed() >= LOG_WINDOW {
                let dropped = std::mem::take(&mut budget.dropped);
                budget.since = Instant::now();
                budget.lines = 0;
                if dropped > 0 {
                    tracing::warn!(component = self.name, dropped, "log lines were left out");
                }
            }
            budget.lines += 1;
            if budget.lines > MAX_LOG_LINES {
                budget.dropped += 1;
                return;
            }
        }
        let component = self.name.as_str();
        let line = &line[..line.floor_char_boundary(MAX_LOG_LINE)];
        match level {
            log_level::ERROR => tracing::error!(target: "component", component, "{line}"),
            log_level::WARN => tracing::warn!(target: "component", component, "{line}"),
            log_level::DEBUG => tracing::debug!(target: "component", component, "{line}"),
            log_level::TRACE => tracing::trace!(target: "component", component, "{line}"),
            // Levels that are not known are treated as the generic one.
            _ => tracing::info!(target: "component", component, "{line}"),
        }
    }
}
