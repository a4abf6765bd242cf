//! What the service manager is told (sd_notify): ready, a status line, alive, stopping.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The service manager that started the host, if one did.
#[derive(Debug)]
pub struct ServiceManager {
    ready: bool,
    status: String,
    ping_every: Option<Duration>,
    next_ping: Instant,
}

impl ServiceManager {
    /// From `NOTIFY_SOCKET` and `WATCHDOG_USEC`.
    pub fn from_environment() -> Self {
        Self {
            ready: false,
            status: String::new(),
            // Half the limit, as sd_watchdog_enabled(3) advises.
            ping_every: sd_notify::watchdog_enabled().map(|limit| limit / 2),
            next_ping: Instant::now(),
        }
    }

    /// Tells what has changed. Ready is told once.
    pub fn tell(&mut self, ready: bool, status: &str) {
        if self.status != status {
            status.clone_into(&mut self.status);
            send(&[NotifyState::Status(status)]);
        }
        if ready && !self.ready {
            self.ready = true;
            send(&[NotifyState::Ready]);
        }
    }

    /// Says that the host is alive, if that is due. When it will be due next.
    pub fn next_ping(&mut self, now: Instant) -> Option<Instant> {
        let every = self.ping_every?;
        if self.next_ping <= now {
            self.next_ping = now + every;
            send(&[NotifyState::Watchdog]);
        }
        Some(self.next_ping)
    }

    /// The host is about to end.
    pub fn stopping(&self) {
        send(&[NotifyState::Stopping]);
    }
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager cannot be told");
    }
}
