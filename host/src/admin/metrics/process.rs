//! Metrics of the process, under the names that every Prometheus client gives them.

use std::fmt;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::family::Families;
use crate::admin::answer::Sources;

/// The process at one moment, as far as the kernel tells.
#[derive(Debug)]
pub(super) struct Process {
    started: SystemTime,
    dropped_lines: usize,
    cpu: Option<Duration>,
    resident_bytes: Option<u64>,
    descriptors: Option<usize>,
}

impl Process {
    pub(super) fn look(sources: &Sources) -> Self {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let descriptors = fs::read_dir("/proc/self/fd").ok();
        Self {
            started: sources.started,
            dropped_lines: sources.dropped_lines.dropped_lines(),
            cpu: usage.map(|usage| time(usage.user_time()) + time(usage.system_time())),
            resident_bytes: fs::read_to_string("/proc/self/status")
                .ok()
                .and_then(|status| resident_bytes(&status)),
            // One of them is for looking.
            descriptors: descriptors.map(|entries| entries.count().saturating_sub(1)),
        }
    }

    pub(super) fn write(&self, families: &mut Families<'_>) -> fmt::Result {
        families.counters(
            "nri_host_log_lines_dropped",
            "Lines of the log that nobody took in time",
            [(vec![], self.dropped_lines as u64)],
        )?;
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        families.gauges(
            "process_start_time_seconds",
            "When the process started, in seconds since 1970",
            [(vec![], started.as_secs_f64())],
        )?;
        families.seconds(
            "process_cpu_seconds",
            "Time that the process has spent on processors",
            self.cpu,
        )?;
        families.gauges(
            "process_resident_memory_bytes",
            "Memory of the process that is in the machine's memory",
            self.resident_bytes.map(|bytes| (vec![], bytes as f64)),
        )?;
        families.gauges(
            "process_open_fds",
            "Descriptors that the process has open",
            self.descriptors.map(|number| (vec![], number as f64)),
        )
    }
}

fn time(value: TimeVal) -> Duration {
    let seconds = u64::try_from(value.tv_sec()).unwrap_or(0);
    let micros = u64::try_from(value.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// From `VmRSS:      1234 kB` in `/proc/self/status`.
fn resident_bytes(status: &str) -> Option<u64> {
    let rest = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_read_from_the_kernel_s_lines() {
        let status = "Name:\tnri-host\nVmHWM:\t    5000 kB\nVmRSS:\t    4321 kB\nThreads:\t7\n";
        assert_eq!(resident_bytes(status), Some(4321 * 1024));
        assert_eq!(resident_bytes("Name:\tkthread\n"), None);
        let own = fs::read_to_string("/proc/self/status").unwrap();
        assert!(resident_bytes(&own).is_some_and(|bytes| bytes > 100 << 10));
    }
}
