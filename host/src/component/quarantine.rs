//! A component that fails again and again is left alone for a time. Pure: time comes in as an
//! argument.
//!
//! The first quarantine lasts ten minutes, each further one twice as long as the last, up to a day.
//! After a day without one the next is a first one again.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::config::QuarantineConfig;
use crate::lock::lock;

/// How long the first quarantine lasts.
const FIRST: Duration = Duration::from_secs(10 * 60);
/// How long any lasts at most; and after so long without one, the next is a first one again.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a quarantine lasts that comes after `before` others.
pub fn length(before: u32) -> Duration {
    FIRST
        .saturating_mul(2u32.saturating_pow(before))
        .min(LONGEST)
}

/// Whether one component is in quarantine, and what would bring it there.
#[derive(Debug)]
pub struct Quarantine {
    rule: Mutex<QuarantineConfig>,
    /// Whether `history` has a term, for those who have no time for the lock.
    active: AtomicBool,
    history: Mutex<History>,
}

/// One quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// When it began.
    pub since: Instant,
    /// When it is over.
    pub until: Instant,
}

#[derive(Debug, Default)]
struct History {
    /// The failures within the window, oldest first; fewer than bring about a quarantine.
    failures: VecDeque<Instant>,
    /// Quarantines so far of which the next is longer.
    terms: u32,
    /// The one under way.
    term: Option<Term>,
    /// When the last one ended.
    ended: Option<Instant>,
}

impl Quarantine {
    /// A component that has not failed yet.
    pub fn new(rule: QuarantineConfig) -> Self {
        Self {
            rule: Mutex::new(rule),
            active: AtomicBool::new(false),
            history: Mutex::default(),
        }
    }

    /// What brings the component into quarantine.
    pub fn rule(&self) -> QuarantineConfig {
        *lock(&self.rule)
    }

    /// From now on something else does.
    pub fn set_rule(&self, rule: QuarantineConfig) {
        *lock(&self.rule) = rule;
    }

    /// The component is not to be called.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// The quarantine under way.
    pub fn term(&self) -> Option<Term> {
        lock(&self.history).term
    }

    /// The component failed in a call. `Some`: a quarantine begins with it.
    pub fn failed(&self, now: Instant) -> Option<Term> {
        let rule = self.rule();
        let mut history = lock(&self.history);
        // A call from before the quarantine may end within it.
        if rule.failures == 0 || history.term.is_some() {
            return None;
        }
        let too_old = |at: &Instant| now.duration_since(*at) > rule.window;
        while history.failures.pop_front_if(|at| too_old(at)).is_some() {}
        if history.failures.len() + 1 < rule.failures as usize {
            history.failures.push_back(now);
            return None;
        }
        let term = history.begin(now);
        self.active.store(true, Ordering::Relaxed);
        Some(term)
    }

    /// Ends a quarantine that is over by `now`. `true`: it has ended one.
    pub fn end_if_over(&self, now: Instant) -> bool {
        let mut history = lock(&self.history);
        let over = history.term.take_if(|term| term.until <= now).is_some();
        if over {
            history.ended = Some(now);
            self.active.store(false, Ordering::Relaxed);
        }
        over
    }

    /// Forgets all failures and quarantines. `true`: it has ended one.
    pub fn reset(&self) -> bool {
        let mut history = lock(&self.history);
        let was_active = history.term.is_some();
        *history = History::default();
        self.active.store(false, Ordering::Relaxed);
        was_active
    }
}

impl History {
    fn begin(&mut self, now: Instant) -> Term {
        self.failures.clear();
        let forgiven = |ended: Instant| now.duration_since(ended) >= LONGEST;
        if self.ended.is_some_and(forgiven) {
            self.terms = 0;
        }
        let term = Term {
            since: now,
            until: now + length(self.terms),
        };
        self.terms = self.terms.saturating_add(1);
        self.term = Some(term);
        term
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(600);

    fn quarantine(failures: u32) -> Quarantine {
        Quarantine::new(QuarantineConfig {
            failures,
            window: WINDOW,
        })
    }

    #[test]
    fn the_last_of_so_many_failures_within_the_window_begins_it() {
        let start = Instant::now();
        let quarantine = quarantine(3);
        assert_eq!(quarantine.failed(start), None);
        assert_eq!(quarantine.failed(start + WINDOW / 2), None);
        assert!(!quarantine.is_active());
        let term = quarantine.failed(start + WINDOW);
        let expected = Term {
            since: start + WINDOW,
            until: start + WINDOW + FIRST,
        };
        assert_eq!((term, quarantine.term()), (Some(expected), Some(expected)));
        assert!(quarantine.is_active());
    }

    #[test]
    fn failures_that_are_too_far_apart_never_do() {
        let mut now = Instant::now();
        let quarantine = quarantine(2);
        for _ in 0..100 {
            assert_eq!(quarantine.failed(now), None);
            now += WINDOW + Duration::from_nanos(1);
        }
    }

    #[test]
    fn zero_failures_switch_it_off() {
        let now = Instant::now();
        let quarantine = quarantine(0);
        assert!((0..1000).all(|_| quarantine.failed(now).is_none()));
        assert_eq!(quarantine.history.lock().unwrap().failures.len(), 0);
    }

    #[test]
    fn each_is_twice_as_long_as_the_last_up_to_a_day_until_a_day_without_one() {
        let mut now = Instant::now();
        let quarantine = quarantine(1);
        let mut minutes = Vec::new();
        for _ in 0..10 {
            let term = quarantine.failed(now).expect("one failure is enough");
            minutes.push((term.until - term.since).as_secs() / 60);
            assert!(!quarantine.end_if_over(term.until - Duration::from_nanos(1)));
            assert!(quarantine.end_if_over(term.until));
            now = term.until + LONGEST - Duration::from_nanos(1);
        }
        assert_eq!(minutes, [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440]);
        now += Duration::from_nanos(1);
        let term = quarantine.failed(now).expect("one failure is enough");
        assert_eq!(term.until - term.since, FIRST);
    }

    #[test]
    fn a_reset_forgets_failures_and_quarantines() {
        let now = Instant::now();
        let quarantine = quarantine(2);
        quarantine.failed(now);
        assert!(!quarantine.reset());
        assert_eq!(quarantine.failed(now), None);
        assert!(quarantine.failed(now).is_some());
        assert!(quarantine.reset());
        assert!(!quarantine.is_active() && quarantine.term().is_none());
        quarantine.failed(now);
        let term = quarantine.failed(now).expect("two failures are enough");
        assert_eq!(term.until - term.since, FIRST);
    }

    #[test]
    fn failures_of_calls_that_end_within_it_change_nothing() {
        let now = Instant::now();
        let quarantine = quarantine(1);
        let term = quarantine.failed(now);
        assert_eq!(quarantine.failed(now + Duration::from_secs(1)), None);
        assert_eq!(quarantine.term(), term);
    }

    proptest! {
        /// Against the plain statement of the rule, with every failure kept for ever.
        #[test]
        fn it_begins_exactly_when_the_rule_says_and_keeps_no_more_than_it_needs(
            failures in 1u32..8,
            steps in proptest::collection::vec((0u64..700, any::<bool>()), 1..200),
        ) {
            let quarantine = quarantine(failures);
            let mut now = Instant::now();
            // Since the last quarantine or reset.
            let mut seen: Vec<Instant> = Vec::new();
            for (seconds, fails) in steps {
                now += Duration::from_secs(seconds);
                if quarantine.end_if_over(now) {
                    seen.clear();
                }
                if !fails {
                    continue;
                }
                let was_active = quarantine.is_active();
                let term = quarantine.failed(now);
                if !was_active {
                    seen.push(now);
                    let recent = seen.iter().filter(|at| now - **at <= WINDOW).count();
                    prop_assert_eq!(term.is_some(), recent >= failures as usize);
                }
                prop_assert_eq!(was_active || term.is_some(), quarantine.is_active());
                let kept = lock(&quarantine.history).failures.len();
                prop_assert!(kept < failures as usize);
            }
        }

        #[test]
        fn no_quarantine_is_shorter_than_the_last_or_out_of_bounds(before in 0u32..u32::MAX) {
            prop_assert!(length(before) <= length(before + 1));
            prop_assert!((FIRST..=LONGEST).contains(&length(before)));
        }
    }
}
