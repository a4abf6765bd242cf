//! Which calls of the runtime are under way, on all connections of the host together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts the calls that wait for a component's answer.
///
/// Runtimes hold one lock over each call and over each update outside a call; old ones take it in an
/// order in which the two can wait for each other for ever.
#[derive(Debug)]
pub struct Traffic {
    under_way: AtomicUsize,
    quiet_is_wanted: AtomicBool,
    notice: Arc<Notify>,
}

impl Traffic {
    /// No call is under way. `notice` is told when that is so again, for who asked.
    pub fn new(notice: Arc<Notify>) -> Self {
        Self {
            under_way: AtomicUsize::new(0),
            quiet_is_wanted: AtomicBool::new(false),
            notice,
        }
    }

    /// No call is under way. Otherwise the notice comes with the last answer.
    pub fn is_quiet(&self) -> bool {
        // In one order with `ended`: one of the two sees what the other has written.
        self.quiet_is_wanted.store(true, Ordering::SeqCst);
        let quiet = self.under_way.load(Ordering::SeqCst) == 0;
        if quiet {
            self.quiet_is_wanted.store(false, Ordering::SeqCst);
        }
        quiet
    }

    /// A call was read.
    pub(super) fn began(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
    }

    /// A call was answered.
    pub(super) fn ended(&self) {
        let others = self.under_way.fetch_sub(1, Ordering::SeqCst) - 1;
        if others == 0
            && self.quiet_is_wanted.load(Ordering::SeqCst)
            && self.quiet_is_wanted.swap(false, Ordering::SeqCst)
        {
            self.notice.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_found_calls_under_way_is_told_when_the_last_is_answered() {
        let notice = Arc::new(Notify::new());
        let traffic = Traffic::new(Arc::clone(&notice));
        assert!(traffic.is_quiet());
        traffic.began();
        traffic.began();
        assert!(!traffic.is_quiet());
        traffic.ended();
        assert!(!traffic.is_quiet());
        traffic.ended();
        // It would wait for ever without the notice.
        notice.notified().await;
        assert!(traffic.is_quiet());
    }
}
