//! Ends sessions that nothing is wrong with, at a time when that costs no request.
//!
//! Most requests go on when a plugin is lost in their midst. Two do not: the creation of a container
//! that the plugin has yet to validate, and any that the runtime fails for a lost plugin because
//! `on_failure` asks for that. So such sessions end in a lull, unless there is none for too long.

use std::time::{Duration, Instant};

use super::lull::REST;
use super::member::{Member, SessionState};
use super::{Supervisor, earlier};

/// How long a session waits for a lull to end in.
const LIMIT: Duration = Duration::from_secs(5);

/// A session that is to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parting {
    of: PartingOf,
    since: Instant,
}

/// What ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartingOf {
    /// The session, for this reason.
    Session(&'static str),
    /// The instance with it, for this reason.
    Instance(&'static str),
}

impl Member {
    /// Ends the session when that costs no request.
    pub(super) fn part(&mut self, of: PartingOf, now: Instant) {
        self.parting = Some(Parting { of, since: now });
        let is_sensitive = |member: &Self| {
            let served = member.served();
            served.is_some_and(|served| served.session.is_sensitive())
        };
        if !is_sensitive(self) {
            self.part_now();
        }
    }

    /// The session is to end, and has not been told yet.
    pub(super) fn is_parting(&self) -> bool {
        self.parting.is_some()
    }

    /// Does not wait for what is gone already.
    pub(super) fn observe_parting(&mut self) {
        if self.parting.is_some() && matches!(self.session, SessionState::Waiting { .. }) {
            self.part_now();
        }
    }

    fn part_now(&mut self) {
        let Some(Parting { of, .. }) = self.parting.take() else {
            return;
        };
        match of {
            PartingOf::Instance(why) => self.seat.stop(why),
            PartingOf::Session(why) => {
                if let Some(served) = self.served() {
                    served.session.wind_down(why);
                }
            }
        }
    }
}

impl Supervisor {
    /// Ends what may end now, and says when to look again at the latest.
    pub(super) fn part(&mut self, now: Instant) -> Option<Instant> {
        let mut next = None;
        for member in &mut self.members {
            let Some(Parting { since, .. }) = member.parting else {
                continue;
            };
            let in_request = member
                .served()
                .is_some_and(|served| served.session.is_in_request());
            let lull = match in_request {
                true => Some(now + REST),
                false => self.lull.awaited(now),
            };
            match lull {
                Some(at) if since + LIMIT > now => next = earlier(next, Some(at)),
                _ => member.part_now(),
            }
        }
        next
    }
}
