//! How far a session has come, and how it ended.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::runtime::connection::Lost;
use crate::runtime::ttrpc::MAX_BODY;
use crate::runtime::version::RuntimeVersion;

/// What the runtime said in Configure.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// Name and versions.
    pub runtime: RuntimeVersion,
    /// Time for one call; `None` on runtimes that do not say.
    pub request_timeout: Option<Duration>,
    /// Time for the registration; `None` on runtimes that do not say.
    pub registration_timeout: Option<Duration>,
    /// The events that were subscribed to.
    pub events: u32,
}

/// How a session ended.
#[derive(Debug, Error)]
pub enum End {
    /// The connection was lost.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The runtime does not want this plugin.
    #[error("the runtime refused the registration: {0}")]
    Refused(String),
    /// The runtime is not the one that is configured.
    #[error("wrong runtime: {found:?} instead of {expected:?} (expect_runtime)")]
    WrongRuntime {
        /// Name that is configured.
        expected: String,
        /// Name that the runtime gave itself.
        found: String,
    },
    /// The registration, Configure or Synchronize did not come in time.
    #[error("no {awaited} within {limit:?}")]
    HandshakeTimeout {
        /// What was waited for.
        awaited: &'static str,
        /// How long.
        limit: Duration,
    },
    /// Synchronize failed. Runtimes before NRI 0.12 keep such a connection and never use it.
    #[error("the runtime has given up the synchronization: {0}")]
    Unsynchronized(Unsynchronized),
    /// A request of the handshake is larger than a message may be.
    #[error("a request is larger than {MAX_BODY} bytes")]
    TooLarge,
    /// The host ended it.
    #[error("{0}")]
    Asked(&'static str),
}

/// Why the runtime gave up a synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynchronized {
    /// The answer came too late, or too late to be sure.
    Late {
        /// How long it took.
        after: Duration,
        /// How long the runtime waits.
        limit: Duration,
    },
    /// The answer was an error: the host could not read the state, or not keep so much of it.
    Refused,
}

impl fmt::Display for Unsynchronized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { after, limit } => write!(
                f,
                "the answer took {} of {} ms",
                after.as_millis(),
                limit.as_millis()
            ),
            Self::Refused => f.write_str("the host could not take the state"),
        }
    }
}

/// How far a session has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// RegisterPlugin was answered.
    pub registered: bool,
    /// Configure was answered.
    pub configured: Option<Configured>,
    /// Synchronize has begun, so the runtime has accepted the subscription.
    pub synchronizing: bool,
    /// Synchronize was answered: the session is active.
    pub synchronized: Option<Instant>,
    /// The session is over.
    pub ended: Option<Arc<End>>,
}

impl Progress {
    /// What the handshake waits for.
    pub fn awaited(&self) -> &'static str {
        match self {
            Self {
                synchronizing: true,
                ..
            } => "end of Synchronize",
            Self {
                configured: Some(_),
                ..
            } => "Synchronize",
            Self {
                registered: true, ..
            } => "Configure",
            _ => "answer to the registration",
        }
    }
}
