//! One component on its way from a file to an active session, and back after every loss.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nri_plugin_api::abi::Method;
use tokio::sync::Notify;

use super::backoff::Backoff;
use crate::component::border::{Blueprint, NotCreated};
use crate::component::context::ConfigError;
use crate::component::instance;
use crate::component::load::Library;
use crate::component::policy::Policy;
use crate::component::seat::{Condition, Seat, Served};
use crate::component::watchdog::Watchdog;
use crate::config::{ComponentConfig, Config, OnFailure};
use crate::runtime::connection::Connection;
use crate::runtime::session::{End, Progress, Registration, Session};
use crate::runtime::version::EVENTS_BEFORE_0_10;

/// How long `create` may take.
pub(super) const CREATE_LIMIT: Duration = Duration::from_secs(5);
/// How long a handshake may take. The runtime lets one plugin in at a time, and holds back
/// Synchronize while it serves other requests.
pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(60);
/// A component that missed calls is brought in step by reconnecting, this often at most.
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
    /// What was loaded for it.
    pub library: Arc<Library>,
    /// Its session.
    pub session: SessionState,
    /// Since when it is in the state that `status` shows.
    pub since: Instant,
    backoff: Backoff,
    expect_runtime: Option<String>,
    create_backoff: Backoff,
    create_at: Option<Instant>,
    oldest_events_only: bool,
    resynced: Option<Instant>,
    reported: Option<String>,
}

impl Member {
    /// Starts the component's thread, which creates the instance.
    ///
    /// # Errors
    ///
    /// When the system has no thread left.
    pub fn start(
        config: ComponentConfig,
        library: Arc<Library>,
        host: &Config,
        watchdog: &Watchdog,
        notice: &Arc<Notify>,
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
            config: serde_json::Value::Object(config.config.clone()).to_string(),
        };
        let seat = Arc::new(Seat::new(
            blueprint,
            policy,
            watchdog.clone(),
            Arc::clone(notice),
        ));
        instance::start(Arc::clone(&seat), Arc::clone(&library))?;
        let now = Instant::now();
        Ok(Self {
            config,
            seat,
            library,
            session: SessionState::Waiting {
                reason: "create is under way".to_owned(),
                until: now,
            },
            since: now,
            backoff: Backoff::default(),
            expect_runtime: host.runtime.expect_runtime.clone(),
            create_backoff: Backoff::default(),
            create_at: None,
            oldest_events_only: false,
            resynced: None,
            reported: None,
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

    /// The component has no instance and will not get one by itself.
    pub fn failure(&self) -> Option<String> {
        match self.seat.condition() {
            Condition::NotCreated(NotCreated::Failed { reason, config }) if config.is_empty() => {
                Some(reason)
            }
            Condition::NotCreated(NotCreated::Failed { config, .. }) => Some(
                config
                    .iter()
                    .map(|mistake| self.config_mistake(mistake))
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
            Condition::Creating { since } if since.elapsed() >= CREATE_LIMIT => Some(format!(
                "create has not returned after {} s",
                CREATE_LIMIT.as_secs()
            )),
            _ => None,
        }
    }

    /// A mistake that the component found in its configuration, with file and line.
    fn config_mistake(&self, mistake: &ConfigError) -> String {
        let at = self.config.locate(&mistake.key);
        let dot = if mistake.key.is_empty() { "" } else { "." };
        format!("{at}: config{dot}{}: {}", mistake.key, mistake.message)
    }

    /// The component handles Synchronize and what it knows may be wrong.
    pub fn is_unsynced(&self) -> bool {
        self.seat.out_of_step() && self.methods() & Method::Synchronize.bit() != 0
    }

    /// Where the component stands in the order of handshakes, if it waits for one and may have it.
    /// Overdue ones come last.
    pub fn handshake_turn(&self, now: Instant) -> Option<(bool, u8, &str)> {
        let SessionState::Waiting { until, .. } = &self.session else {
            return None;
        };
        let away = match self.seat.condition() {
            Condition::Ready { .. } => false,
            Condition::Away { .. } => true,
            _ => return None,
        };
        (*until <= now).then_some((away, self.config.index, &self.config.name))
    }

    /// Takes in what has happened, and says when to look again at the latest.
    pub fn observe(&mut self, now: Instant) -> Option<Instant> {
        let creating = self.observe_instance(now);
        let session = self.observe_session(now);
        [creating, session].into_iter().flatten().min()
    }

    /// The wait is over: the runtime's socket is new.
    pub fn hurry(&mut self, now: Instant) {
        if let SessionState::Waiting { until, .. } = &mut self.session {
            *until = now;
        }
    }

    /// Begins a session on a fresh connection.
    pub fn register(&mut self, connection: Connection, notice: &Arc<Notify>, now: Instant) {
        let registration = Registration {
            name: self.config.name.clone(),
            index: self.config.index,
            expect_runtime: self.expect_runtime.clone(),
            methods: self.methods(),
            fail_request: self.config.on_failure == OnFailure::Fail,
            oldest_events_only: self.oldest_events_only,
        };
        let session = Session::new(connection, registration, Arc::clone(notice));
        self.since = now;
        match self.seat.seat_session(session) {
            Ok(served) => {
                served.session.register();
                self.session = SessionState::Handshaking(served);
            }
            Err(error) => self.wait(format!("no session could be made: {error}"), None, now),
        }
    }

    /// The methods that the instance wants, or those of its library while that is not known.
    fn methods(&self) -> u64 {
        match self.seat.condition() {
            Condition::Ready { methods } => methods,
            _ => self.library.methods,
        }
    }

    fn observe_instance(&mut self, now: Instant) -> Option<Instant> {
        match self.seat.condition() {
            Condition::Creating { since } => {
                let limit = since + CREATE_LIMIT;
                (limit > now).then_some(limit)
            }
            Condition::NotCreated(why) => self.observe_no_instance(&why, now),
            _ => None,
        }
    }

    fn observe_no_instance(&mut self, why: &NotCreated, now: Instant) -> Option<Instant> {
        if let Some(served) = self.served() {
            served
                .session
                .end(End::Asked("the component has no instance any more"));
        }
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
                    "create says: try later"
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

    fn observe_session(&mut self, now: Instant) -> Option<Instant> {
        let served = match &self.session {
            SessionState::Waiting { until, .. } => return Some(*until).filter(|at| *at > now),
            SessionState::Handshaking(served) | SessionState::Active(served) => Arc::clone(served),
        };
        let progress = served.session.progress();
        if let Some(end) = &progress.ended {
            self.lost(&progress, end, now);
            return Some(now);
        }
        match (&self.session, progress.synchronized) {
            (SessionState::Handshaking(_), Some(_)) => {
                self.seat.counters.sessions.add_one();
                self.since = now;
                tracing::info!(component = self.plugin(), "active");
                self.session = SessionState::Active(served);
                self.observe_step(now)
            }
            (SessionState::Handshaking(_), None) => {
                let limit = self.since + HANDSHAKE_LIMIT;
                if limit <= now {
                    served.session.end(End::HandshakeTimeout {
                        awaited: awaited(&progress),
                        limit: HANDSHAKE_LIMIT,
                    });
                    return Some(now);
                }
                Some(limit)
            }
            _ => self.observe_step(now),
        }
    }

    /// Reconnects a component that is out of step, when it is back and may.
    fn observe_step(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_unsynced() || !matches!(self.seat.condition(), Condition::Ready { .. }) {
            return None;
        }
        let at = self.resynced.map_or(now, |last| last + RESYNC_INTERVAL);
        if at > now {
            return Some(at);
        }
        let SessionState::Active(served) = &self.session else {
            return None;
        };
        served
            .session
            .end(End::Asked("reconnecting to bring the component in step"));
        self.resynced = Some(now);
        Some(now)
    }

    fn lost(&mut self, progress: &Progress, end: &End, now: Instant) {
        let mask_refused = progress.synchronized.is_none()
            && matches!(end, End::Lost(_))
            && progress
                .configured
                .as_ref()
                .is_some_and(|c| c.events & !EVENTS_BEFORE_0_10 != 0);
        if mask_refused {
            tracing::warn!(
                component = self.plugin(),
                "the runtime closed the connection after the subscription: next time without the \
                 events that old runtimes do not know"
            );
        }
        self.oldest_events_only |= mask_refused;
        let active_for = progress.synchronized.map(|since| now.duration_since(since));
        let reason = crate::chain(end);
        tracing::info!(
            component = self.plugin(),
            reason,
            ?active_for,
            "session ended"
        );
        self.wait(reason, active_for, now);
        if let End::Asked(_) = end {
            self.hurry(now);
        }
    }

    fn wait(&mut self, reason: String, active_for: Option<Duration>, now: Instant) {
        let wait = self.backoff.after(active_for, fastrand::f64());
        self.session = SessionState::Waiting {
            reason,
            until: now + wait,
        };
        self.since = now;
    }
}

/// Least wait before `create` is called again.
const MIN_CREATE_WAIT: Duration = Duration::from_millis(100);

fn awaited(progress: &Progress) -> &'static str {
    match progress {
        Progress {
            configured: Some(_),
            ..
        } => "Synchronize",
        Progress {
            registered: true, ..
        } => "Configure",
        _ => "answer to the registration",
    }
}
