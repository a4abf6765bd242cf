//! The watchdog's part: it notices that a call is overdue, and serves the session meanwhile.

use super::{Absence, Condition, Seat, Served};
use crate::component::clock;
use crate::component::policy::{Failure, Outcome};
use crate::lock::lock;
use crate::runtime::connection::Patience;
use crate::runtime::session::Incoming;

impl Seat {
    /// The session's timer fired: answers the call under way if it is overdue.
    pub fn timer_fired(&self, served: &Served) {
        // Level-triggered: the expiration is taken off. It is gone when the timer was set anew.
        let _ = served.timer.wait();
        let mut inner = self.lock();
        let Some(number) = served.turn.take_overdue(clock::now_ns()) else {
            return;
        };
        let call = lock(&served.in_flight)
            .take()
            .filter(|call| call.number == number);
        if let Condition::Ready = inner.condition {
            let absence = match &call {
                Some(call) => Absence::Call(call.method),
                None => Absence::UpdateResult,
            };
            inner.set(Condition::Away(absence));
        }
        match call {
            Some(call) => {
                self.counters.durations.record(served.waited_ns());
                let late = Outcome::Failed(Failure::Late);
                self.conclude(served, &call, late, Patience::Never);
            }
            None => {
                served.told();
                self.result_is_late();
            }
        }
        self.stand_in(served);
        // The component may be in a call of a session that the host has ended since.
        if let Some(current) = &inner.session
            && !std::ptr::eq(&raw const **current, served)
        {
            current.turn.take();
            self.stand_in(current);
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The session's socket is readable: answers what comes, for the component that is away.
    pub fn socket_ready(&self, served: &Served) {
        let _hands = self.lock();
        self.answer_all(served);
    }

    /// From now on the watchdog serves the session, what was read before included.
    pub(super) fn stand_in(&self, served: &Served) {
        self.watchdog.serve(served);
        self.answer_all(served);
    }

    fn answer_all(&self, served: &Served) {
        while served.turn.is_taken() {
            match served.session.next(Patience::Never) {
                Ok(Some(Incoming::Call(call))) => {
                    let why = match self.quarantine.is_active() {
                        true => Failure::Quarantined,
                        false => Failure::Away,
                    };
                    self.conclude(served, &call, Outcome::Failed(why), Patience::Never);
                }
                Ok(Some(Incoming::UpdateAnswer { number, answer })) => {
                    self.outbox.answered(served.key(), number, answer);
                }
                Ok(None) => return,
                Err(_) => {
                    self.watchdog.unserve(served);
                    return;
                }
            }
        }
    }
}
