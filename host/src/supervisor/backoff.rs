//! How long to wait before the next attempt. Pure: time and chance come in as arguments.

use std::time::{Duration, Instant};

/// First wait that is not "at once".
const FIRST: Duration = Duration::from_millis(100);
/// Longest wait.
const LONGEST: Duration = Duration::from_secs(10);
/// A session that was active for this long has proved itself: the next loss is a first one again.
const STABLE: Duration = Duration::from_secs(10);
/// Between attempts while a runtime that has made its socket does not listen on it yet.
const EAGER: Duration = Duration::from_millis(3);
/// How long that may take.
const EAGER_FOR: Duration = Duration::from_secs(1);

/// Waits between sessions of one component: none at first, then from 100 ms doubling to 10 s, each
/// cut by up to half at random, so that many hosts do not come at the same time.
#[derive(Clone, Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after an attempt that ended. `active_for`: how long its session was active, if it
    /// ever was. `chance`: from 0 to 1.
    pub(super) fn after(&mut self, active_for: Option<Duration>, chance: f64) -> Duration {
        if active_for.is_some_and(|active| active >= STABLE) {
            self.failures = 0;
        }
        let wait = exponential(self.failures, chance);
        self.failures = self.failures.saturating_add(1);
        wait
    }
}

/// Waits while the runtime's socket cannot be connected to.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketBackoff {
    failures: u32,
    eager_since: Option<Instant>,
}

impl SocketBackoff {
    /// The wait after a connection was not made. `refused`: there is a socket, and nobody listens.
    pub(super) fn after(&mut self, refused: bool, now: Instant, chance: f64) -> Duration {
        if refused {
            let since = *self.eager_since.get_or_insert(now);
            if now.duration_since(since) < EAGER_FOR {
                return EAGER;
            }
        }
        self.failures = self.failures.saturating_add(1);
        exponential(self.failures, chance)
    }

    /// The socket is new, or was connected to.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Nothing, then [`FIRST`], doubling to [`LONGEST`]; cut by up to half.
fn exponential(failures: u32, chance: f64) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return Duration::ZERO;
    };
    let whole = FIRST
        .saturating_mul(2u32.saturating_pow(doublings))
        .min(LONGEST);
    whole.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_loss_is_mended_at_once_and_later_ones_ever_more_slowly() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..10)
            .map(|_| backoff.after(None, 0.0).as_millis())
            .collect();
        assert_eq!(
            waits,
            [0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
        );
    }

    #[test]
    fn only_a_session_that_lasted_starts_over() {
        let mut backoff = Backoff::default();
        for _ in 0..5 {
            backoff.after(Some(STABLE / 2), 0.0);
        }
        assert_eq!(
            backoff.after(Some(STABLE / 2), 0.0),
            Duration::from_millis(1600)
        );
        assert_eq!(backoff.after(Some(STABLE), 0.0), Duration::ZERO);
    }

    #[test]
    fn a_refused_connection_is_tried_eagerly_for_a_second() {
        let start = Instant::now();
        let mut backoff = SocketBackoff::default();
        assert_eq!(backoff.after(true, start, 0.5), EAGER);
        assert_eq!(backoff.after(true, start + EAGER_FOR / 2, 0.5), EAGER);
        assert!(backoff.after(true, start + EAGER_FOR, 0.5) > EAGER);
        backoff.reset();
        assert_eq!(backoff.after(true, start + EAGER_FOR * 2, 0.5), EAGER);
        assert!(SocketBackoff::default().after(false, start, 0.5) > EAGER);
    }

    proptest! {
        #[test]
        fn waits_never_leave_their_bounds(chances in proptest::collection::vec(0.0..=1.0f64, 1..80)) {
            let mut backoff = Backoff::default();
            for (attempt, chance) in chances.into_iter().enumerate() {
                let wait = backoff.after(None, chance);
                prop_assert!(wait <= LONGEST);
                prop_assert!(attempt == 0 || wait >= FIRST / 2);
            }
        }
    }
}
