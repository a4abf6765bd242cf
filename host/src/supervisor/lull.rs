//! Times in which nothing is under way between the runtime and any component.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::runtime::traffic::Traffic;

/// How long no call must have been under way. A request of the runtime is a call of one plugin after
/// the other, and between two of them none is.
pub(super) const REST: Duration = Duration::from_millis(20);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lull {
    /// What is under way.
    pub(super) traffic: Arc<Traffic>,
    rest: Option<Rest>,
}

/// A time without calls.
#[derive(Clone, Copy, Debug)]
struct Rest {
    mark: u64,
    since: Instant,
}

impl Lull {
    /// When to look again for a lull; `None`: this is one.
    pub(super) fn awaited(&mut self, now: Instant) -> Option<Instant> {
        let since = self.traffic.quiet().map(|mark| {
            let begins = Rest { mark, since: now };
            let goes_on = self.rest.filter(|rest| rest.mark == mark);
            self.rest.insert(goes_on.unwrap_or(begins)).since
        });
        let until = since.unwrap_or(now) + REST;
        (since.is_none() || until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_between_two_looks_begins_the_rest_anew() {
        let mut lull = Lull::default();
        let start = Instant::now();
        let call = lull.traffic.begin();
        assert_eq!(lull.awaited(start), Some(start + REST));
        call.end();
        let quiet = start + REST;
        assert_eq!(lull.awaited(quiet), Some(quiet + REST));
        // The next plugin of the same request.
        lull.traffic.begin().end();
        let quiet = quiet + REST;
        assert_eq!(lull.awaited(quiet), Some(quiet + REST));
        assert_eq!(lull.awaited(quiet + REST), None);
        assert_eq!(lull.awaited(quiet + 2 * REST), None);
    }
}
