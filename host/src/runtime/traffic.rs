//! What is under way between the runtime and components, on all connections of the host together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One more that has begun, in the upper bits of the count. More than 2^24 are never under way.
const BEGUN: u64 = 1 << 24;
const UNDER_WAY: u64 = BEGUN - 1;

/// Counts the calls that wait for a component's answer, and the results that keep one from them.
///
/// Runtimes hold one lock over each call and over each update outside a call; old ones take it in an
/// order in which the two can wait for each other for ever.
#[derive(Debug, Default)]
pub struct Traffic {
    count: AtomicU64,
}

/// One of those. It is over when that is said, or at the latest with this value.
#[derive(Debug)]
pub struct UnderWay {
    traffic: Arc<Traffic>,
    over: AtomicBool,
}

impl Traffic {
    /// One more is under way.
    pub fn begin(self: &Arc<Self>) -> UnderWay {
        // The count stands for itself: nothing else is to be seen by who sees it.
        self.count.fetch_add(BEGUN | 1, Ordering::Relaxed);
        UnderWay {
            traffic: Arc::clone(self),
            over: AtomicBool::new(false),
        }
    }

    /// Nothing is under way. The mark of a later look is the same if nothing was in between.
    pub fn quiet(&self) -> Option<u64> {
        let count = self.count.load(Ordering::Relaxed);
        (count & UNDER_WAY == 0).then_some(count / BEGUN)
    }
}

impl UnderWay {
    /// It is over.
    pub fn end(&self) {
        if !self.over.swap(true, Ordering::Relaxed) {
            self.traffic.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_quiet_again_when_all_that_began_is_over() {
        let traffic = Arc::new(Traffic::default());
        assert!(traffic.quiet().is_some());
        let (one, other) = (traffic.begin(), traffic.begin());
        one.end();
        // Neither a second end nor the drop counts again.
        one.end();
        drop(one);
        assert_eq!(traffic.quiet(), None);
        drop(other);
        assert!(traffic.quiet().is_some());
    }

    #[test]
    fn what_was_between_two_looks_shows_in_the_mark() {
        let traffic = Arc::new(Traffic::default());
        let first = traffic.quiet();
        assert_eq!(traffic.quiet(), first);
        traffic.begin().end();
        assert_ne!(traffic.quiet(), first);
    }
}
