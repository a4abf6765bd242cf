//! The sessions of one component: when the next one begins, and what becomes of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Member, SessionState};
use crate::component::seat::{Condition, Served};
use crate::config::OnFailure;
use crate::runtime::connection::{Connection, Lost};
use crate::runtime::session::{End, Progress, Registration, Session};
use crate::runtime::traffic::Traffic;
use crate::runtime::version::EVENTS_BEFORE_0_10;
use crate::supervisor::backoff::{Backoff, SessionBudget};
use crate::supervisor::parting::PartingOf;
use crate::supervisor::reason;
use crate::supervisor::socket::Trouble;

/// A component that missed calls, or that the runtime did not synchronize, is brought in step by
/// reconnecting, this often at most.
const RESYNC_INTERVAL: Duration = Duration::from_secs(60);
/// Why a session is ended that nothing is wrong with.
const RESYNC: &str = "reconnecting to bring the component in step";

/// What the sessions so far mean for the next one.
#[derive(Debug)]
pub(super) struct Past {
    backoff: Backoff,
    budget: SessionBudget,
    /// When the last session was begun.
    registered: Instant,
    /// The last handshake took too long.
    stood_still: bool,
    /// The runtime has refused newer events.
    oldest_events_only: bool,
    /// The last session ended because of the wrong runtime, which nobody has asked for yet.
    wrong_runtime: Option<Trouble>,
    /// When the runtime's socket was last seen to be new.
    socket_changed: Option<Instant>,
    /// When the component was last brought in step by another session, or will be.
    pub(super) resynced: Option<Instant>,
}

impl Past {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            backoff: Backoff::default(),
            budget: SessionBudget::default(),
            registered: now,
            stood_still: false,
            oldest_events_only: false,
            wrong_runtime: None,
            socket_changed: None,
            resynced: None,
        }
    }
}

impl Past {
    /// What comes now has another cause than what was before.
    pub(super) fn begin_anew(&mut self) {
        self.backoff = Backoff::default();
        self.budget = SessionBudget::default();
        self.stood_still = false;
    }
}

impl Member {
    /// Where the component stands in the order of handshakes, if it waits for one and may have it.
    /// Overdue ones come last, and those whose last handshake stood still.
    pub fn handshake_turn(&self, now: Instant) -> Option<(bool, u8, &str)> {
        let SessionState::Waiting { until, .. } = &self.session else {
            return None;
        };
        if self.is_retiring() {
            return None;
        }
        let last = match self.seat.condition() {
            Condition::Ready => self.past.stood_still,
            Condition::Away(_) => true,
            _ => return None,
        };
        (*until <= now).then_some((last, self.config.index, &self.config.name))
    }

    /// Begins a session on a fresh connection, and says when to look at it at the latest.
    pub fn register(
        &mut self,
        connection: Connection,
        traffic: &Arc<Traffic>,
        notice: &Arc<Notify>,
        now: Instant,
    ) -> Instant {
        let registration = Registration {
            name: self.config.name.clone(),
            index: self.config.index,
            expect_runtime: self.runtime.expect_runtime.clone(),
            methods: self.seat.methods(),
            fail_request: self.config.on_failure == OnFailure::Fail,
            oldest_events_only: self.past.oldest_events_only,
        };
        let session = Session::new(
            connection,
            registration,
            Arc::clone(&self.seat.counters.attendance),
            Arc::clone(traffic),
            Arc::clone(notice),
        );
        self.seat.counters.connections.add_one();
        self.since = now;
        self.past.registered = now;
        match self.seat.seat_session(session) {
            Ok(served) => {
                served.session.register();
                self.session = SessionState::Handshaking(served);
                now + self.runtime.handshake_timeout
            }
            Err(error) => {
                let until = now + self.past.backoff.after(None, fastrand::f64());
                let reason = format!("no session could be made: {error}");
                tracing::warn!(component = self.plugin(), "{reason}");
                self.wait(reason, until, now)
            }
        }
    }

    /// When the session was begun, in which the runtime has shown itself to be the right one.
    pub(in crate::supervisor) fn accepted_runtime(&self) -> Option<Instant> {
        let progress = self.served()?.session.progress();
        progress.configured.map(|_| self.past.registered)
    }

    /// The last session ended because of a runtime that is not the right one; told once.
    pub(in crate::supervisor) fn take_wrong_runtime(&mut self) -> Option<Trouble> {
        self.past.wrong_runtime.take()
    }

    /// The wait is over: the runtime's socket is new.
    pub fn socket_changed(&mut self, now: Instant) {
        self.past.socket_changed = Some(now);
        self.past.backoff = Backoff::default();
        self.past.budget = SessionBudget::default();
        self.past.stood_still = false;
        if let SessionState::Waiting { until, .. } = &mut self.session {
            *until = now;
        }
    }

    /// Takes in what has become of the session, and says when to look again at the latest.
    pub(super) fn observe_session(&mut self, now: Instant) -> Option<Instant> {
        let served = match &self.session {
            SessionState::Waiting { until, .. } => return Some(*until).filter(|at| *at > now),
            SessionState::Handshaking(served) | SessionState::Active(served) => Arc::clone(served),
        };
        let progress = served.session.progress();
        // A session can become active and be lost between two looks at it.
        if progress.synchronized.is_some() && matches!(self.session, SessionState::Handshaking(_)) {
            self.became_active(&served, now);
        }
        if let Some(end) = &progress.ended {
            self.seat.outbox.session_lost(served.key());
            self.seat.unseat_session(&served);
            self.lost(&progress, end, now);
            return Some(now);
        }
        if let SessionState::Active(_) = self.session {
            return self.observe_step(now);
        }
        let limit = self.runtime.handshake_timeout;
        let until = self.since + limit;
        if until <= now {
            let awaited = progress.awaited();
            served.session.end(End::HandshakeTimeout { awaited, limit });
            return Some(now);
        }
        Some(until)
    }

    fn became_active(&mut self, served: &Arc<Served>, now: Instant) {
        self.seat.counters.sessions.add_one();
        self.past.budget.spend(now);
        self.since = now;
        tracing::info!(component = self.plugin(), "active");
        self.session = SessionState::Active(Arc::clone(served));
    }

    /// Reconnects a component that is out of step, when it is back and may.
    fn observe_step(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_unsynced() || !self.can_serve() || self.is_parting() {
            return None;
        }
        let at = self.resync_at(now);
        if at > now {
            return Some(at);
        }
        if let SessionState::Active(served) = &self.session
            && served.session.goes_on()
        {
            // After the call that may be under way; its end brings us back here.
            self.past.resynced = Some(now);
            self.part(PartingOf::Session(RESYNC), now);
        }
        None
    }

    /// When the component may be brought in step by another session.
    fn resync_at(&self, now: Instant) -> Instant {
        self.past
            .resynced
            .map_or(now, |last| now.max(last + RESYNC_INTERVAL))
    }

    fn lost(&mut self, progress: &Progress, end: &End, now: Instant) {
        self.note_mask(progress, end);
        let active_for = progress.synchronized.map(|since| now.duration_since(since));
        let mut reason = reason::of_end(end, progress);
        tracing::info!(
            component = self.plugin(),
            reason,
            ?active_for,
            "session ended"
        );
        self.past.stood_still = matches!(end, End::HandshakeTimeout { .. });
        let mut until = now + self.past.backoff.after(active_for, fastrand::f64());
        match end {
            End::Asked(_) => until = now,
            End::Unsynchronized(_) => {
                until = until.max(self.resync_at(now));
                self.past.resynced = Some(until);
            }
            End::WrongRuntime { expected, found } => {
                self.past.wrong_runtime = Some(Trouble::WrongRuntime {
                    expected: expected.clone(),
                    found: found.clone(),
                });
            }
            _ => {}
        }
        if let Some(free) = self.past.budget.spent_until(now) {
            until = until.max(free);
            reason = reason::of_spent_budget(&reason, until - now);
            tracing::warn!(component = self.plugin(), "{reason}");
        }
        let socket_is_newer = self
            .past
            .socket_changed
            .is_some_and(|at| at >= self.past.registered);
        self.wait(reason, if socket_is_newer { now } else { until }, now);
    }

    /// A runtime whose version had to be guessed, and that closed the connection after the
    /// subscription, may not have known an event in it.
    fn note_mask(&mut self, progress: &Progress, end: &End) {
        let Some(configured) = &progress.configured else {
            return;
        };
        if progress.synchronized.is_some() {
            self.past.oldest_events_only = false;
        } else if matches!(end, End::Lost(Lost::Closed))
            && !progress.synchronizing
            && configured.runtime.is_guess()
            && configured.events & !EVENTS_BEFORE_0_10 != 0
        {
            self.past.oldest_events_only = true;
            tracing::warn!(
                component = self.plugin(),
                events = format!("{:#06x}", configured.events),
                runtime = configured.runtime.version,
                "the runtime closed the connection after the subscription: next time without the \
                 events that old runtimes do not know"
            );
        }
    }

    fn wait(&mut self, reason: String, until: Instant, now: Instant) -> Instant {
        self.session = SessionState::Waiting { reason, until };
        self.since = now;
        until
    }
}
