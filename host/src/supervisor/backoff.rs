//! How long to wait before the next attempt. Pure: time and chance come in as arguments.

use std::collections::VecDeque;
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

/// So many sessions of one component may become active within [`BUDGET_WINDOW`].
pub(super) const SESSION_BUDGET: usize = 6;
/// See [`SESSION_BUDGET`].
const BUDGET_WINDOW: Duration = Duration::from_secs(60);

/// Bounds how often a component takes part anew on one socket.
///
/// [`Backoff`] bounds attempts that fail. Sessions that become active and are lost at once have
/// another cause: a runtime that lets a new plugin replace an older one of the same name, and two
/// hosts with the same names, say, which must not take the place from each other for ever.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionBudget {
    active: VecDeque<Instant>,
}

impl SessionBudget {
    /// A session has become active.
    pub(super) fn spend(&mut self, now: Instant) {
        if self.active.len() == SESSION_BUDGET {
            self.active.pop_front();
        }
        self.active.push_back(now);
    }

    /// When the next session may be tried, if it may not be now.
    pub(super) fn spent_until(&self, now: Instant) -> Option<Instant> {
        let oldest = *self.active.front()?;
        let free = oldest + BUDGET_WINDOW;
        (self.active.len() == SESSION_BUDGET && free > now).then_some(free)
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

    #[test]
    fn a_budget_is_spent_by_so_many_sessions_and_free_when_the_first_is_old() {
        let now = Instant::now();
        let mut budget = SessionBudget::default();
        for _ in 0..SESSION_BUDGET {
            assert_eq!(budget.spent_until(now), None);
            budget.spend(now);
        }
        assert_eq!(budget.spent_until(now), Some(now + BUDGET_WINDOW));
        assert_eq!(budget.spent_until(now + BUDGET_WINDOW), None);
    }

    proptest! {
        #[test]
        fn no_minute_has_more_sessions_than_the_budget(
            lengths in proptest::collection::vec(0..30_000u64, 1..60),
        ) {
            let mut now = Instant::now();
            let mut budget = SessionBudget::default();
            let mut active = Vec::new();
            for length in lengths {
                now = budget.spent_until(now).unwrap_or(now);
                budget.spend(now);
                active.push(now);
                now += Duration::from_millis(length);
            }
            for window in active.windows(SESSION_BUDGET + 1) {
                prop_assert!(window[SESSION_BUDGET] - window[0] >= BUDGET_WINDOW);
            }
        }

        #[test]
        fn a_runtime_that_closes_at_once_is_tried_less_than_20_times_in_its_first_minute(
            chances in proptest::collection::vec(0.0..=1.0f64, 20),
        ) {
            let mut backoff = Backoff::default();
            let waits = chances.into_iter().map(|chance| backoff.after(None, chance));
            prop_assert!(waits.sum::<Duration>() > Duration::from_secs(60));
        }

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
