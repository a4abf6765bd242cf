//! Components that stay out because they ended the whole host too often: by crashes, or by calls
//! that never returned.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use super::RETRY;
use super::backoff::Backoff;
use super::member::{CREATE_LIMIT, Member};
use super::stuck::{Look, STUCK_LIMIT, is_stuck};
use crate::component::inspect::{Digest, inspect};
use crate::config::{ComponentConfig, OnStuck, QuarantineConfig};
use crate::crash::{Crash, History, KeptOut, fingerprint, seconds};

/// Within this time, restarts of the host for a component that is stuck count together. It may have
/// run for long before each.
const RESTARTS_WINDOW: Duration = Duration::from_secs(24 * 3600);

/// What a component that stays out waits for.
#[derive(Debug)]
pub(super) struct Exclusion {
    crashes: KeptOut,
    until: Instant,
    backoff: Backoff,
}

impl Exclusion {
    pub(super) fn new(crashes: KeptOut, now: Instant) -> Self {
        let until = now + crashes.time;
        Self {
            crashes,
            until,
            backoff: Backoff::default(),
        }
    }

    /// For a person.
    pub(super) fn reason(&self) -> String {
        let KeptOut { crashes, last, .. } = &self.crashes;
        let times = match crashes {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        format!("it ended the whole host {times}, last in {last}")
    }
}

/// Whether a component that is configured like this stays out now, and why.
pub(super) fn kept_out(history: &History, config: &ComponentConfig) -> Option<KeptOut> {
    if !history.knows(&config.plugin_name()) {
        return None;
    }
    let digest = inspect(&config.library).ok()?.digest;
    kept_out_with(history, config, &digest)
}

/// The same for a library that was looked at already.
pub(super) fn kept_out_with(
    history: &History,
    config: &ComponentConfig,
    library: &Digest,
) -> Option<KeptOut> {
    let component = config.plugin_name();
    let print = fingerprint(library, &config.config_json());
    history.kept_out(&component, &print, counted(config), SystemTime::now())
}

/// As `quarantine` of the component says, but wide enough for restarts of the host.
fn counted(config: &ComponentConfig) -> QuarantineConfig {
    let QuarantineConfig { failures, window } = config.quarantine;
    let window = match config.on_stuck {
        OnStuck::Leave => window,
        OnStuck::RestartHost => window.max(RESTARTS_WINDOW),
    };
    QuarantineConfig { failures, window }
}

/// That of the file as it is now; `None` if it cannot be loaded anyway.
fn current_fingerprint(config: &ComponentConfig) -> Option<String> {
    let inspected = inspect(&config.library).ok()?;
    Some(fingerprint(&inspected.digest, &config.config_json()))
}

impl Member {
    /// Why the component stays out, and until when, if it does.
    pub fn kept_out(&self) -> Option<(String, Instant)> {
        let exclusion = self.exclusion.as_ref()?;
        Some((exclusion.reason(), exclusion.until))
    }

    /// Lets a component in that stays out. `false`: it does not.
    ///
    /// # Errors
    ///
    /// When the system has no thread for it. That is tried again by itself.
    pub fn let_in(&mut self, now: Instant) -> io::Result<bool> {
        let Some(mut exclusion) = self.exclusion.take() else {
            return Ok(false);
        };
        self.seat.create_again();
        let started = self.means.start(&self.seat, &self.config.library);
        match &started {
            Ok(()) => tracing::warn!(component = self.plugin(), "let in again"),
            Err(error) => {
                tracing::error!(component = self.plugin(), %error, "no thread can be started");
                self.seat.keep_out();
                let wait = exclusion.backoff.after(None, fastrand::f64());
                exclusion.until = now + wait.max(RETRY);
                self.exclusion = Some(exclusion);
            }
        }
        started.map(|()| true)
    }

    pub(super) fn observe_exclusion(&mut self, now: Instant) -> Option<Instant> {
        let until = self.exclusion.as_ref()?.until;
        if until > now {
            return Some(until);
        }
        match self.let_in(now) {
            Ok(_) => Some(now + CREATE_LIMIT),
            Err(_) => self.exclusion.as_ref().map(|exclusion| exclusion.until),
        }
    }

    /// Says once that the component is stuck, and wants the host to restart if that is configured.
    pub(super) fn observe_stuck(&mut self, now: Instant) -> Option<Instant> {
        let (condition, since) = (self.seat.condition(), self.seat.since());
        let step = match self.stuck.look(&condition, since, now) {
            Look::NothingNew => return None,
            Look::Away(until) => return Some(until),
            Look::Stuck(step) => step,
        };
        let component = self.plugin();
        let last_error = self.seat.last_errors.newest();
        match self.config.on_stuck {
            OnStuck::Leave => {
                tracing::warn!(
                    component,
                    step,
                    last_error,
                    "is stuck; the host answers for it"
                );
            }
            OnStuck::RestartHost => {
                tracing::error!(
                    component,
                    step,
                    last_error,
                    "is stuck; the host is to be started anew"
                );
                self.ends_host = Some(self.stuck_in(step));
            }
        }
        None
    }

    /// The component is stuck, and the host is to be started anew for that.
    pub(super) fn wants_restart(&self, now: Instant) -> bool {
        self.config.on_stuck == OnStuck::RestartHost
            && is_stuck(&self.seat.condition(), self.seat.since(), now)
    }

    fn stuck_in(&self, step: &str) -> Crash {
        let fingerprint = match self.seat.library() {
            Some(library) => Some(self.seat.blueprint.identity(&library.digest).fingerprint),
            None => current_fingerprint(&self.config),
        };
        Crash {
            time: seconds(SystemTime::now()),
            component: self.plugin().to_owned(),
            fingerprint: fingerprint.unwrap_or_default(),
            step: step.to_owned(),
            cause: format!("not back after {} s", STUCK_LIMIT.as_secs()),
            ..Crash::default()
        }
    }
}

#[cfg(test)]
mod tests;
