//! How long calls took, in buckets that grow with the time: exact to a quarter at worst, from a
//! microsecond to 16 s, in less than a kilobyte and without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counters::Counter;

/// Buckets for each doubling of the time.
const PER_DOUBLING: usize = 1 << PER_DOUBLING_LOG;
const PER_DOUBLING_LOG: u32 = 2;
/// Times of so many bits, in microseconds, have a bucket of their own; longer ones share the last.
/// No runtime waits for so long.
const BITS: u32 = 24;
const LAST: usize = PER_DOUBLING * (BITS - PER_DOUBLING_LOG + 1) as usize;

/// Adds up durations; any thread may add.
#[derive(Debug)]
pub struct Histogram {
    buckets: [Counter; LAST + 1],
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: std::array::from_fn(|_| Counter::default()),
            sum_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    /// Adds one duration, in nanoseconds.
    pub fn record(&self, ns: u64) {
        self.buckets[bucket(ns)].add_one();
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
        self.max_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// What was added so far. Durations that are being added meanwhile may be there in part.
    pub fn snapshot(&self) -> Durations {
        Durations {
            buckets: self.buckets.iter().map(Counter::get).collect(),
            sum: Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)),
            max: Duration::from_nanos(self.max_ns.load(Ordering::Relaxed)),
        }
    }
}

/// What a [`Histogram`] held at one moment.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    buckets: Vec<u64>,
    /// All durations together.
    pub sum: Duration,
    /// The longest one.
    pub max: Duration,
}

/// How long calls took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of them took at most so long, estimated.
    pub p50_us: u64,
    /// 99 of 100 took at most so long, estimated.
    pub p99_us: u64,
    /// The longest one took so long.
    pub max_us: u64,
}

impl Durations {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The durations by doublings of a microsecond: the longest time in each step, and how many
    /// durations are in it and in no step before. Longer ones than the last step are in none.
    pub fn by_doubling(&self) -> impl Iterator<Item = (Duration, u64)> {
        // The first two doublings, of at most 4 µs, have one bucket for each microsecond.
        self.buckets[..self.buckets.len().min(LAST)]
            .chunks(PER_DOUBLING)
            .zip(PER_DOUBLING_LOG..)
            .map(|(chunk, bits)| (Duration::from_micros(1 << bits), chunk.iter().sum()))
    }

    /// How many are longer than the last step.
    pub fn past_all_doublings(&self) -> u64 {
        self.buckets.get(LAST).copied().unwrap_or(0)
    }

    /// The figures for people; `None` before the first call.
    pub fn latency(&self) -> Option<Latency> {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Some(Latency {
            p50_us: us(self.percentile(50)?),
            p99_us: us(self.percentile(99)?),
            max_us: us(self.max),
        })
    }

    /// At most so long took `percent` of 100 durations: the longest time of the bucket of the last of
    /// them, as nothing is known of where in it that is.
    fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = (self.count() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(longest_in(place).map_or(self.max, |longest| longest.min(self.max)))
    }
}

/// The place of a duration's bucket.
fn bucket(ns: u64) -> usize {
    // Whole microseconds belong to the bucket that they end.
    let us = ns.saturating_sub(1) / 1000;
    let bits = us.checked_ilog2().map_or(0, |log| log + 1);
    if bits > BITS {
        return LAST;
    }
    // All but the first few bits say which doubling it is.
    let shift = bits.saturating_sub(PER_DOUBLING_LOG + 1);
    let place = u64::from(shift) * PER_DOUBLING as u64 + (us >> shift);
    usize::try_from(place).map_or(LAST, |place| place.min(LAST))
}

/// The longest duration of a bucket, unless that has no end.
fn longest_in(place: usize) -> Option<Duration> {
    if place >= LAST {
        return None;
    }
    let shift = (place / PER_DOUBLING).saturating_sub(1);
    let us = (place - shift * PER_DOUBLING + 1) << shift;
    Some(Duration::from_micros(us as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(durations: impl IntoIterator<Item = Duration>) -> Durations {
        let histogram = Histogram::default();
        for duration in durations {
            histogram.record(u64::try_from(duration.as_nanos()).unwrap());
        }
        histogram.snapshot()
    }

    proptest! {
        #[test]
        fn a_bucket_holds_what_is_at_most_a_quarter_shorter_than_its_longest(ns in 1..16_000_000_000_u64) {
            let place = bucket(ns);
            let ns = Duration::from_nanos(ns);
            let longest = longest_in(place).unwrap();
            prop_assert!(ns <= longest, "{ns:?} {longest:?}");
            prop_assert!(longest <= ns * 5 / 4 + Duration::from_micros(1), "{ns:?} {longest:?}");
            prop_assert!(place == 0 || longest_in(place - 1).unwrap() < ns);
        }
    }

    #[test]
    fn the_shortest_and_the_longest_have_a_bucket_too() {
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(1000), 0);
        assert_eq!(bucket(1001), 1);
        let most = Duration::from_micros(1 << BITS);
        let ns = u64::try_from(most.as_nanos()).unwrap();
        assert_eq!((bucket(ns), bucket(ns + 1)), (LAST - 1, LAST));
        assert_eq!(bucket(u64::MAX), LAST);
        assert_eq!(longest_in(LAST - 1), Some(most));
    }

    #[test]
    fn percentiles_are_near_the_truth_and_never_past_the_longest() {
        let ms = Duration::from_millis;
        assert_eq!(of([]).latency(), None);
        let calls = (1..=200).map(ms);
        let latency = of(calls).latency().unwrap();
        assert!((100_000..125_000).contains(&latency.p50_us), "{latency:?}");
        assert!((198_000..=200_000).contains(&latency.p99_us), "{latency:?}");
        assert_eq!(latency.max_us, 200_000);
        let stuck = of([ms(90_000)]).latency().unwrap();
        assert_eq!((stuck.p50_us, stuck.max_us), (90_000_000, 90_000_000));
    }

    #[test]
    fn doublings_add_up_to_all_but_the_longest() {
        let us = Duration::from_micros;
        let durations = of([us(1), us(16), us(17), us(32), Duration::from_secs(60)]);
        assert_eq!(durations.count(), 5);
        let steps: Vec<_> = durations.by_doubling().filter(|step| step.1 > 0).collect();
        assert_eq!(steps, [(us(4), 1), (us(16), 1), (us(32), 2)]);
        assert_eq!(durations.past_all_doublings(), 1);
        let last = durations.by_doubling().last();
        assert_eq!(last, Some((us(1 << BITS), 0)));
    }
}
