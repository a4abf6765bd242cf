//! The way to the runtime: whether its socket can be connected to, and when to try again.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::backoff::SocketBackoff;
use super::socket::{Trouble, connect_to};
use super::watch::SocketWatch;

/// How often a trouble is logged while it lasts.
const TROUBLE_INTERVAL: Duration = Duration::from_secs(60);
/// A runtime that has just made its socket refuses for a moment: that is no news.
const REFUSAL_GRACE: Duration = Duration::from_secs(1);
/// Longest wait for a socket whose folder cannot be watched.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct Gate {
    socket: PathBuf,
    watch: Option<SocketWatch>,
    backoff: SocketBackoff,
    obstacle: Option<Obstacle>,
}

/// A trouble that lasts.
#[derive(Debug)]
struct Obstacle {
    trouble: Trouble,
    since: Instant,
    logged: Option<Instant>,
    retry: Instant,
}

impl Gate {
    /// The way to the runtime that listens at `socket`.
    pub(super) fn new(socket: PathBuf) -> Self {
        let watch = SocketWatch::new(&socket)
            .inspect_err(|error| {
                tracing::warn!(%error, "the socket's folder cannot be watched: polling instead");
            })
            .ok();
        Self {
            socket,
            watch,
            backoff: SocketBackoff::default(),
            obstacle: None,
        }
    }

    /// Path of the socket.
    pub(super) fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// What is in the way.
    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.obstacle.as_ref().map(|obstacle| &obstacle.trouble)
    }

    /// When to try again, if that is not now.
    pub(super) fn closed_until(&self, now: Instant) -> Option<Instant> {
        let retry = self.obstacle.as_ref()?.retry;
        (retry > now).then_some(retry)
    }

    /// Connects without waiting.
    ///
    /// # Errors
    ///
    /// When to try again.
    pub(super) fn connect(&mut self, now: Instant) -> Result<UnixStream, Instant> {
        let stream = connect_to(&self.socket).map_err(|trouble| self.block(trouble, now))?;
        // Who listens shows only later.
        if !matches!(self.trouble(), Some(Trouble::WrongRuntime { .. })) {
            self.clear(now);
        }
        Ok(stream)
    }

    /// The right runtime has answered, in a session that was begun at `registered`.
    pub(super) fn recognize(&mut self, registered: Instant, now: Instant) {
        let wrong_before = self.obstacle.as_ref().is_some_and(|obstacle| {
            matches!(obstacle.trouble, Trouble::WrongRuntime { .. }) && obstacle.since < registered
        });
        if wrong_before {
            self.clear(now);
        }
    }

    fn clear(&mut self, now: Instant) {
        self.backoff.reset();
        if let Some(obstacle) = self.obstacle.take() {
            let after = now.duration_since(obstacle.since);
            tracing::info!(socket = %self.socket.display(), ?after, "connected");
        }
    }

    /// Something is in the way; says when to try again.
    pub(super) fn block(&mut self, trouble: Trouble, now: Instant) -> Instant {
        let passes = matches!(trouble, Trouble::Refused | Trouble::Busy);
        let mut wait = self.backoff.after(passes, now, fastrand::f64());
        if !self.is_watching() {
            wait = wait.min(POLL_INTERVAL);
        }
        let retry = now + wait;
        let known = self
            .obstacle
            .take()
            .filter(|known| known.trouble == trouble);
        let mut obstacle = known.unwrap_or(Obstacle {
            trouble,
            since: now,
            logged: None,
            retry,
        });
        let due = match obstacle.logged {
            Some(logged) => now.duration_since(logged) >= TROUBLE_INTERVAL,
            None => !passes || now.duration_since(obstacle.since) > REFUSAL_GRACE,
        };
        if due {
            let socket = self.socket.display();
            tracing::warn!(%socket, "waiting for the runtime: {}", obstacle.trouble);
            obstacle.logged = Some(now);
        }
        obstacle.retry = retry;
        self.obstacle = Some(obstacle);
        retry
    }

    /// Waits until the socket may be a new one; without a watch, for ever. Cancel-safe.
    pub(super) async fn changed(&mut self) {
        let lost = match &mut self.watch {
            Some(watch) => watch.changed().await.err(),
            None => std::future::pending().await,
        };
        if let Some(error) = lost {
            tracing::warn!(%error, "the socket's folder cannot be watched: polling instead");
            self.watch = None;
        }
        self.backoff.reset();
        if let Some(obstacle) = &mut self.obstacle {
            obstacle.retry = Instant::now();
        }
    }

    /// The folder is watched, perhaps again: what the kernel had no more of may be there now.
    fn is_watching(&mut self) -> bool {
        if self.watch.is_none() {
            self.watch = SocketWatch::new(&self.socket).ok();
            if self.watch.is_some() {
                tracing::info!("the socket's folder is watched again");
            }
        }
        self.watch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gate before a socket that is not there, watched or not.
    fn gate(dir: &tempfile::TempDir) -> Gate {
        Gate {
            socket: dir.path().join("nri.sock"),
            watch: None,
            backoff: SocketBackoff::default(),
            obstacle: None,
        }
    }

    #[tokio::test]
    async fn what_is_in_the_way_is_logged_once_a_period() {
        let dir = tempfile::tempdir().unwrap();
        let start = Instant::now();
        let mut gate = gate(&dir);
        let logged = |gate: &Gate| gate.obstacle.as_ref().unwrap().logged;
        for seconds in [0, 1, 30, 59] {
            gate.connect(start + Duration::from_secs(seconds))
                .unwrap_err();
            assert_eq!(logged(&gate), Some(start), "after {seconds} s");
        }
        let later = start + TROUBLE_INTERVAL;
        gate.connect(later).unwrap_err();
        assert_eq!(logged(&gate), Some(later));
    }

    #[tokio::test]
    async fn a_refusal_is_news_only_when_it_lasts() {
        let dir = tempfile::tempdir().unwrap();
        let start = Instant::now();
        let mut gate = gate(&dir);
        gate.block(Trouble::Refused, start);
        assert_eq!(gate.obstacle.as_ref().unwrap().logged, None);
        gate.block(Trouble::Refused, start + REFUSAL_GRACE * 2);
        assert!(gate.obstacle.as_ref().unwrap().logged.is_some());
    }

    #[tokio::test]
    async fn a_connection_does_not_clear_the_wrong_runtime_out_of_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let mut gate = gate(&dir);
        let _listening = std::os::unix::net::UnixListener::bind(gate.socket()).unwrap();
        let wrong = Trouble::WrongRuntime {
            expected: "containerd".into(),
            found: "cri-o".into(),
        };
        let waits: Vec<_> = (0..3)
            .map(|_| {
                gate.connect(now).unwrap();
                gate.block(wrong.clone(), now) - now
            })
            .collect();
        assert!(waits.is_sorted(), "{waits:?}");
        assert_eq!(gate.trouble(), Some(&wrong));
        gate.recognize(now, now);
        assert_eq!(
            gate.trouble(),
            Some(&wrong),
            "an earlier session says nothing"
        );
        let later = now + Duration::from_secs(1);
        gate.recognize(later, later);
        assert_eq!(gate.trouble(), None);
    }
}
