//! One component on its way from a file to an active session, and back after every loss.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nri_plugin_api::abi::Method;
use tokio::sync::Notify;

use super::backoff::{Backoff, SessionBudget};
use super::kept_out::Exclusion;
use super::reason;
use super::reset::Deed;
use super::socket::Trouble;
use super::stuck::StuckWatch;
use crate::component::border::{Blueprint, NotCreated};
use crate::component::context::ConfigError;
use crate::component::instance::{self, Source};
use crate::component::load::PROBE_LIMIT;
use crate::component::policy::Policy;
use crate::component::seat::{Absence, Condition, Seat, Served};
use crate::component::watchdog::Watchdog;
use crate::config::{ComponentConfig, Config, OnFailure, RuntimeConfig};
use crate::crash::{Crash, KeptOut};
use crate::runtime::connection::{Connection, Lost};
use crate::runtime::session::{End, Progress, Registration, Session};
use crate::runtime::traffic::Traffic;
use crate::runtime::version::EVENTS_BEFORE_0_10;

/// How long a library may take to be loaded: twice the time of the constructors, which are tried out
/// before.
const LOAD_LIMIT: Duration = PROBE_LIMIT.saturating_mul(2);
/// How long `create` may take.
pub(super) const CREATE_LIMIT: Duration = Duration::from_secs(5);
/// A component that missed calls, or that the runtime did not synchronize, is brought in step by
/// reconnecting, this often at most.
pub(super) const RESYNC_INTERVAL: Duration = Duration::from_secs(60);

/// The state of a component's session.
#[derive(Debug)]
pub enum SessionState {
    /// There is none.
    Waiting {
        /// Why.
        reason: String,
        /// When to try next.
        until: Instant,
    },
    /// It is being registered, configured or synchronized.
    Handshaking(Arc<Served>),
    /// Synchronize was answered.
    Active(Arc<Served>),
}

/// One component.
#[derive(Debug)]
pub struct Member {
    /// Its configuration.
    pub config: ComponentConfig,
    /// Where its instance is.
    pub seat: Arc<Seat>,
    /// Its session.
    pub session: SessionState,
    /// Since when its session is in its state.
    pub since: Instant,
    backoff: Backoff,
    budget: SessionBudget,
    runtime: RuntimeConfig,
    create_backoff: Backoff,
    create_at: Option<Instant>,
    oldest_events_only: bool,
    registered: Instant,
    stood_still: bool,
    wrong_runtime: Option<Trouble>,
    socket_changed: Option<Instant>,
    resynced: Option<Instant>,
    reported: Option<String>,
    pub(super) exclusion: Option<Exclusion>,
    pub(super) stuck: StuckWatch,
    /// The host is to end because of this component, for this reason.
    pub(super) ends_host: Option<Crash>,
}

impl Member {
    /// Starts the component's thread, which creates the instance; later, if it stays out for now.
    ///
    /// # Errors
    ///
    /// When the system has no thread left.
    pub fn start(
        config: ComponentConfig,
        source: Source,
        host: &Config,
        watchdog: &Watchdog,
        notice: &Arc<Notify>,
        kept_out: Option<KeptOut>,
    ) -> std::io::Result<Self> {
        let policy = Policy {
            plugin: config.plugin_name(),
            on_failure: config.on_failure,
            fail_exempt_namespaces: host.host.fail_exempt_namespaces.clone(),
            timeout: config.timeout,
            sync_timeout: config.sync_timeout,
        };
        let blueprint = Blueprint {
            name: config.name.clone(),
            index: config.index,
            config: config.config_json(),
        };
        let seat = Arc::new(Seat::new(
            blueprint,
            policy,
            config.quarantine,
            watchdog.clone(),
            Arc::clone(notice),
        ));
        let now = Instant::now();
        let exclusion = match kept_out {
            None => {
                instance::start(Arc::clone(&seat), source)?;
                None
            }
            Some(crashes) => {
                seat.keep_out();
                let exclusion = Exclusion::new(source, crashes, now);
                let component = config.plugin_name();
                let reason = exclusion.reason();
                tracing::error!(component, reason, "stays out for a while");
                Some(exclusion)
            }
        };
        Ok(Self {
            config,
            seat,
            session: SessionState::Waiting {
                reason: "there was no connection yet".to_owned(),
                until: now,
            },
            since: now,
            backoff: Backoff::default(),
            budget: SessionBudget::default(),
            runtime: host.runtime.clone(),
            create_backoff: Backoff::default(),
            create_at: None,
            oldest_events_only: false,
            registered: now,
            stood_still: false,
            wrong_runtime: None,
            socket_changed: None,
            resynced: None,
            reported: None,
            exclusion,
            stuck: StuckWatch::default(),
            ends_host: None,
        })
    }

    /// The name that the runtime knows.
    pub fn plugin(&self) -> &str {
        &self.seat.policy.plugin
    }

    /// The session, unless there is none.
    pub fn served(&self) -> Option<&Arc<Served>> {
        match &self.session {
            SessionState::Waiting { .. } => None,
            SessionState::Handshaking(served) | SessionState::Active(served) => Some(served),
        }
    }

    /// When the session was begun, in which the runtime has shown itself to be the right one.
    pub(super) fn accepted_runtime(&self) -> Option<Instant> {
        let progress = self.served()?.session.progress();
        progress.configured.map(|_| self.registered)
    }

    /// The last session ended because of a runtime that is not the right one; told once.
    pub(super) fn take_wrong_runtime(&mut self) -> Option<Trouble> {
        self.wrong_runtime.take()
    }

    /// The component has no instance and will not get one by itself.
    pub fn failure(&self) -> Option<String> {
        match self.seat.condition() {
            Condition::NotCreated(NotCreated::Failed { reason, config }) => {
                let mistakes: Vec<String> = config
                    .iter()
                    .map(|mistake| self.config_mistake(mistake))
                    .collect();
                Some(match mistakes[..] {
                    [] => reason,
                    _ => mistakes.join("; "),
                })
            }
            condition => {
                let (what, limit) = making(&condition)?;
                let overdue = self.seat.since().elapsed() >= limit;
                overdue.then(|| format!("{what} has not returned after {} s", limit.as_secs()))
            }
        }
    }

    /// The first instance is still being made.
    pub fn is_creating(&self) -> bool {
        matches!(
            self.seat.condition(),
            Condition::Loading | Condition::Creating
        )
    }

    /// The component is there and called, its session is active, and it is in step.
    pub fn is_ready(&self) -> bool {
        matches!(self.session, SessionState::Active(_)) && self.can_serve() && !self.is_unsynced()
    }

    /// The component is there, and is called.
    fn can_serve(&self) -> bool {
        matches!(self.seat.condition(), Condition::Ready) && !self.seat.quarantine.is_active()
    }

    /// A mistake that the component found in its configuration, with file and line.
    fn config_mistake(&self, mistake: &ConfigError) -> String {
        let at = self.config.locate(&mistake.key);
        let dot = if mistake.key.is_empty() { "" } else { "." };
        format!("{at}: config{dot}{}: {}", mistake.key, mistake.message)
    }

    /// The component handles Synchronize and what it knows may be wrong.
    pub fn is_unsynced(&self) -> bool {
        self.seat.out_of_step() && self.seat.methods() & Method::Synchronize.bit() != 0
    }

    /// Where the component stands in the order of handshakes, if it waits for one and may have it.
    /// Overdue ones come last, and those whose last handshake stood still.
    pub fn handshake_turn(&self, now: Instant) -> Option<(bool, u8, &str)> {
        let SessionState::Waiting { until, .. } = &self.session else {
            return None;
        };
        let last = match self.seat.condition() {
            Condition::Ready => self.stood_still,
            Condition::Away(_) => true,
            _ => return None,
        };
        (*until <= now).then_some((last, self.config.index, &self.config.name))
    }

    /// Takes in what has happened, and says when to look again at the latest.
    pub fn observe(&mut self, now: Instant) -> Option<Instant> {
        let creating = self.observe_instance(now);
        let quarantine = self.observe_quarantine(now);
        let session = self.observe_session(now);
        let stuck = self.observe_stuck(now);
        [creating, quarantine, session, stuck]
            .into_iter()
            .flatten()
            .min()
    }

    /// The wait is over: the runtime's socket is new.
    pub fn socket_changed(&mut self, now: Instant) {
        self.socket_changed = Some(now);
        self.backoff = Backoff::default();
        self.budget.reset();
        self.stood_still = false;
        if let SessionState::Waiting { until, .. } = &mut self.session {
            *until = now;
        }
    }

    /// Gives the component another chance, whatever has kept it from being called. Returns what
    /// there was to do.
    pub fn reset(&mut self) -> Vec<Deed> {
        let mut done = Vec::new();
        if self.let_in(Instant::now()) {
            done.push(Deed::QuarantineEnded);
        }
        if self.seat.quarantine.reset() {
            tracing::info!(component = self.plugin(), "its quarantine is ended");
            // What it missed is made up for at once.
            self.resynced = None;
            done.push(Deed::QuarantineEnded);
        }
        if matches!(self.seat.condition(), Condition::NotCreated(_)) && self.seat.create_again() {
            tracing::info!(component = self.plugin(), "create is tried again");
            self.create_backoff = Backoff::default();
            self.create_at = None;
            self.reported = None;
            done.push(Deed::CreateTriedAgain);
        }
        done
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
            oldest_events_only: self.oldest_events_only,
        };
        let (traffic, notice) = (Arc::clone(traffic), Arc::clone(notice));
        let session = Session::new(connection, registration, traffic, notice);
        self.since = now;
        self.registered = now;
        match self.seat.seat_session(session) {
            Ok(served) => {
                served.session.register();
                self.session = SessionState::Handshaking(served);
                now + self.runtime.handshake_timeout
            }
            Err(error) => {
                let until = now + self.backoff.after(None, fastrand::f64());
                let reason = format!("no session could be made: {error}");
                tracing::warn!(component = self.plugin(), "{reason}");
                self.wait(reason, until, now)
            }
        }
    }

    fn observe_instance(&mut self, now: Instant) -> Option<Instant> {
        let condition = self.seat.condition();
        if let Condition::NotCreated(why) = &condition {
            return self.observe_no_instance(why, now);
        }
        if let Condition::KeptOut = condition {
            return self.observe_exclusion(now);
        }
        let (_, limit) = making(&condition)?;
        Some(self.seat.since() + limit).filter(|limit| *limit > now)
    }

    /// A session that there is stays: the watchdog answers for the component.
    fn observe_no_instance(&mut self, why: &NotCreated, now: Instant) -> Option<Instant> {
        let NotCreated::TryLater(reason) = why else {
            if let Some(reason) = self.failure()
                && self.reported.as_ref() != Some(&reason)
            {
                tracing::error!(component = self.plugin(), "there is no instance: {reason}");
                self.reported = Some(reason);
            }
            return None;
        };
        let at = match self.create_at {
            Some(at) => at,
            None => {
                // The first wait of the backoff is none: `create` has just said no.
                let wait = self
                    .create_backoff
                    .after(None, fastrand::f64())
                    .max(MIN_CREATE_WAIT);
                tracing::info!(
                    component = self.plugin(),
                    reason,
                    ?wait,
                    "there is no instance yet: trying again"
                );
                *self.create_at.insert(now + wait)
            }
        };
        if at > now {
            return Some(at);
        }
        self.create_at = None;
        self.seat.create_again();
        Some(now + CREATE_LIMIT)
    }

    fn observe_quarantine(&self, now: Instant) -> Option<Instant> {
        if self.seat.quarantine.end_if_over(now) {
            tracing::info!(component = self.plugin(), "its quarantine is over");
        }
        self.seat.quarantine.term().map(|term| term.until)
    }

    fn observe_session(&mut self, now: Instant) -> Option<Instant> {
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
        self.budget.spend(now);
        self.since = now;
        tracing::info!(component = self.plugin(), "active");
        self.session = SessionState::Active(Arc::clone(served));
    }

    /// Reconnects a component that is out of step, when it is back and may.
    fn observe_step(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_unsynced() || !self.can_serve() {
            return None;
        }
        let at = self.resync_at(now);
        if at > now {
            return Some(at);
        }
        if let SessionState::Active(served) = &self.session {
            // After the call that may be under way; its end brings us back here.
            served.session.wind_down(RESYNC);
            self.resynced = Some(now);
        }
        None
    }

    /// When the component may be brought in step by another session.
    fn resync_at(&self, now: Instant) -> Instant {
        self.resynced
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
        self.stood_still = matches!(end, End::HandshakeTimeout { .. });
        let mut until = now + self.backoff.after(active_for, fastrand::f64());
        match end {
            End::Asked(_) => until = now,
            End::Unsynchronized(_) => {
                until = until.max(self.resync_at(now));
                self.resynced = Some(until);
            }
            End::WrongRuntime { expected, found } => {
                self.wrong_runtime = Some(Trouble::WrongRuntime {
                    expected: expected.clone(),
                    found: found.clone(),
                });
            }
            _ => {}
        }
        if let Some(free) = self.budget.spent_until(now) {
            until = until.max(free);
            reason = reason::of_spent_budget(&reason, until - now);
            tracing::warn!(component = self.plugin(), "{reason}");
        }
        let socket_is_newer = self.socket_changed.is_some_and(|at| at >= self.registered);
        self.wait(reason, if socket_is_newer { now } else { until }, now);
    }

    /// A runtime whose version had to be guessed, and that closed the connection after the
    /// subscription, may not have known an event in it.
    fn note_mask(&mut self, progress: &Progress, end: &End) {
        let Some(configured) = &progress.configured else {
            return;
        };
        if progress.synchronized.is_some() {
            self.oldest_events_only = false;
        } else if matches!(end, End::Lost(Lost::Closed))
            && !progress.synchronizing
            && configured.runtime.is_guess()
            && configured.events & !EVENTS_BEFORE_0_10 != 0
        {
            self.oldest_events_only = true;
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

/// What is under way while there is no instance yet, and how long it may take.
fn making(condition: &Condition) -> Option<(&'static str, Duration)> {
    match condition {
        Condition::Loading => Some(("the loading of its library", LOAD_LIMIT)),
        Condition::Creating | Condition::Away(Absence::Creation) => Some(("create", CREATE_LIMIT)),
        _ => None,
    }
}

/// Why a session is ended that nothing is wrong with.
const RESYNC: &str = "reconnecting to bring the component in step";
/// Least wait before `create` is called again.
const MIN_CREATE_WAIT: Duration = Duration::from_millis(100);

#[cfg(test)]
pub(super) mod tests;
