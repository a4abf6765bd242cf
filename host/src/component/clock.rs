//! The clock of deadlines: `CLOCK_MONOTONIC` in nanoseconds, as components and timers see it.

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Now.
///
/// # Panics
///
/// When the kernel has no monotonic clock.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    nanos(Duration::from(now))
}

/// A point in time `after` from now.
pub fn in_ns(after: Duration) -> u64 {
    later_ns(now_ns(), after)
}

/// A point in time `after` another.
pub fn later_ns(than_ns: u64, after: Duration) -> u64 {
    than_ns.saturating_add(nanos(after))
}

/// A point in time `before` another.
pub fn earlier_ns(than_ns: u64, before: Duration) -> u64 {
    than_ns.saturating_sub(nanos(before))
}

/// A point in time as a timer takes it.
pub fn time_spec(at_ns: u64) -> TimeSpec {
    TimeSpec::from_duration(Duration::from_nanos(at_ns))
}

/// 64 bits of nanoseconds last for 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
