//! One component on its way from a file to an active session, and back after every loss.

mod sessions;
mod succession;

use std::sync::Arc;
use std::time::{Duration, Instant};

use nri_plugin_api::abi::Method;

use super::backoff::Backoff;
use super::earlier;
use super::kept_out::Exclusion;
use super::means::{self, Means};
use super::parting::Parting;
use super::reset::{Deed, Reset};
use super::stuck::StuckWatch;
use crate::component::border::NotCreated;
use crate::component::context::ConfigError;
use crate::component::load::PROBE_LIMIT;
use crate::component::seat::{Absence, Condition, Seat, Served};
use crate::config::{ComponentConfig, Config, RuntimeConfig};
use crate::crash::{Crash, KeptOut};
use sessions::Past;
use succession::Succession;

/// How long the constructors of a library may take: twice the time that they have when they are tried
/// out.
const CONSTRUCTORS_LIMIT: Duration = PROBE_LIMIT.saturating_mul(2);
/// How long `create` may take.
pub(super) const CREATE_LIMIT: Duration = Duration::from_secs(5);

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
    past: Past,
    pub(super) runtime: RuntimeConfig,
    pub(super) means: Means,
    succession: Succession,
    pub(super) parting: Option<Parting>,
    create_backoff: Backoff,
    create_at: Option<Instant>,
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
        host: &Config,
        means: &Means,
        kept_out: Option<KeptOut>,
    ) -> std::io::Result<Self> {
        let policy = means::policy(&config, &host.host.fail_exempt_namespaces);
        let seat = Arc::new(means.seat(&config, policy));
        let now = Instant::now();
        let exclusion = match kept_out {
            None => {
                means.start(&seat, &config.library)?;
                None
            }
            Some(crashes) => {
                seat.keep_out();
                let exclusion = Exclusion::new(crashes, now);
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
            past: Past::new(now),
            runtime: host.runtime.clone(),
            means: means.clone(),
            succession: Succession::default(),
            parting: None,
            create_backoff: Backoff::default(),
            create_at: None,
            reported: None,
            exclusion,
            stuck: StuckWatch::default(),
            ends_host: None,
        })
    }

    /// Nothing that was before is held against the component: it has another seat.
    fn begin_anew(&mut self, now: Instant) {
        self.past.begin_anew();
        self.create_backoff = Backoff::default();
        self.create_at = None;
        self.reported = None;
        self.exclusion = None;
        self.stuck = StuckWatch::default();
        self.since = now;
        self.session = SessionState::Waiting {
            reason: "there was no connection since it was restarted by a reload".to_owned(),
            until: now,
        };
    }

    /// The name that the runtime knows.
    pub fn plugin(&self) -> &str {
        &self.seat.plugin
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
        failure_of(&self.seat, &self.config)
    }

    /// The first instance is still being made.
    pub fn is_creating(&self) -> bool {
        matches!(
            self.seat.condition(),
            Condition::Loading | Condition::Constructing | Condition::Creating
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

    /// The component handles Synchronize and what it knows may be wrong.
    pub fn is_unsynced(&self) -> bool {
        self.seat.out_of_step() && self.seat.methods() & Method::Synchronize.bit() != 0
    }

    /// Takes in what has happened, and says when to look again at the latest.
    pub fn observe(&mut self, now: Instant) -> Option<Instant> {
        let session = self.observe_session(now);
        self.observe_parting();
        let succession = self.observe_succession(now);
        if self.is_retiring() {
            return earlier(session, succession);
        }
        let creating = self.observe_instance(now);
        let quarantine = self.observe_quarantine(now);
        let stuck = self.observe_stuck(now);
        [session, succession, creating, quarantine, stuck]
            .into_iter()
            .flatten()
            .min()
    }

    /// Gives the component another chance, whatever has kept it from being called.
    pub fn reset(&mut self) -> Reset {
        let mut done = Vec::new();
        let mut problems = Vec::new();
        // Whoever is let in below may fail again before this comes to an end.
        let had_no_instance = matches!(self.seat.condition(), Condition::NotCreated(_));
        match self.let_in(Instant::now()) {
            Ok(true) => done.push(Deed::QuarantineEnded),
            Ok(false) => {}
            Err(error) => problems.push(format!("it stays out, as it gets no thread: {error}")),
        }
        if self.seat.quarantine.reset() {
            tracing::info!(component = self.plugin(), "its quarantine is ended");
            // What it missed is made up for at once.
            self.past.resynced = None;
            done.push(Deed::QuarantineEnded);
        }
        if had_no_instance && self.seat.create_again() {
            tracing::info!(component = self.plugin(), "create is tried again");
            self.create_backoff = Backoff::default();
            self.create_at = None;
            self.reported = None;
            done.push(Deed::CreateTriedAgain);
        }
        Reset {
            component: self.plugin().to_owned(),
            done,
            problems,
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
        if let Condition::Ready = condition {
            // What comes after this has nothing to do with what was before.
            self.create_backoff = Backoff::default();
            self.reported = None;
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
}

/// Why there is no instance and will not be one by itself, in a seat with this configuration.
fn failure_of(seat: &Seat, config: &ComponentConfig) -> Option<String> {
    match seat.condition() {
        Condition::NotCreated(NotCreated::Failed {
            reason,
            config: found,
        }) => {
            let mistakes: Vec<String> = found
                .iter()
                .map(|mistake| config_mistake(config, mistake))
                .collect();
            Some(match mistakes[..] {
                [] => reason,
                _ => mistakes.join("; "),
            })
        }
        condition => {
            let (what, limit) = making(&condition)?;
            let overdue = seat.since().elapsed() >= limit;
            overdue.then(|| still_in(what, limit))
        }
    }
}

/// A mistake that the component found in its configuration, with file and line.
fn config_mistake(config: &ComponentConfig, mistake: &ConfigError) -> String {
    let at = config.locate(&mistake.key);
    format!("{at}: {mistake}")
}

/// What is under way while there is no instance yet, and how long it may take.
fn making(condition: &Condition) -> Option<(&'static str, Duration)> {
    match condition {
        Condition::Constructing => Some(("the constructors of its library", CONSTRUCTORS_LIMIT)),
        Condition::Creating | Condition::Away(Absence::Creation) => Some(("create", CREATE_LIMIT)),
        _ => None,
    }
}

fn still_in(what: &str, limit: Duration) -> String {
    let seconds = limit.as_secs();
    format!("not back from {what} after {seconds} s: a restart of the host is the way out")
}

/// Least wait before `create` is called again.
const MIN_CREATE_WAIT: Duration = Duration::from_millis(100);

#[cfg(test)]
pub(super) mod tests;
