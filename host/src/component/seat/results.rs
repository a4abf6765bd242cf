//! Telling a component what came of its updates: timed like a call, since requests wait meanwhile.

use std::sync::atomic::Ordering;

use super::trouble::Trouble;
use super::{Seat, Served};
use crate::component::outbox::UpdateResult;
use crate::component::policy::{Failure, Outcome};
use crate::lock::lock;

/// What a component does when it is told a result, in place of a method.
const METHOD: &str = "update_result";

impl Served {
    /// The component's thread is about to tell a result. The number is for
    /// [`Served::finish_result`].
    pub fn begin_result(&self, deadline_ns: u64) -> u32 {
        // Even, as no call of a runtime is: a watchdog that looks at one cannot take the other.
        let number = self.results_told.fetch_add(2, Ordering::Relaxed) + 2;
        *lock(&self.telling) = Some(self.session.keep_from_reading());
        self.arm(number, deadline_ns);
        number
    }

    /// The component is back. `true`: in time.
    #[must_use]
    pub fn finish_result(&self, number: u32) -> bool {
        let ours = self.turn.finish(number);
        if ours {
            self.told();
        }
        ours
    }

    /// Nobody is kept from reading any more.
    pub(super) fn told(&self) {
        lock(&self.telling).take();
    }
}

impl Seat {
    /// The next result, unless the component is left alone.
    pub fn result_to_tell(&self) -> Option<UpdateResult> {
        match self.quarantine.is_active() {
            true => None,
            false => self.outbox.take_result(),
        }
    }

    /// The component panicked over a result. If it was not `in_time`, that is noted already.
    pub fn result_failed(&self, failure: Failure, in_time: bool) {
        // What it knew is gone with it.
        self.out_of_step.store(true, Ordering::Relaxed);
        if in_time {
            self.note_result(failure);
        }
        self.notice.notify_one();
    }

    /// The component has not come back from a result in time.
    pub(super) fn result_is_late(&self) {
        self.note_result(Failure::Late);
    }

    fn note_result(&self, failure: Failure) {
        if let Some(trouble) = Trouble::of(&Outcome::Failed(failure)) {
            self.note(METHOD, &"an update", trouble, false);
        }
    }
}
