//! What the tasks of the fake runtime share, and how tests wait for it to change.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nri_plugin_api::api;
use tokio::net::UnixStream;
use tokio::sync::{RwLock, watch};

use super::connection::{Connection, Stage};
use super::fault::{Fault, Faults, Victim};
use super::mux::{Cut, End, Violation};
use super::raw::RawConnection;
use super::session::Session;
use super::{Profile, RegisterReply, Split};
use crate::patience::patiently;

/// What does not change while the runtime lives.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    pub(super) socket: PathBuf,
    pub(super) registration_timeout: Duration,
    pub(super) request_timeout: Duration,
    pub(super) register_reply: RegisterReply,
    /// Whether unsolicited updates wait for the operation under way, as with real runtimes.
    pub(super) serialize_updates: bool,
    /// Whether a plugin that becomes active ends an older one of the same name.
    pub(super) replaces_namesakes: bool,
}

/// An update of containers that no runtime asked for.
#[derive(Debug, Clone)]
pub struct Unsolicited {
    /// The plugin that sent it; empty before it registered.
    pub plugin: String,
    /// What it asked for.
    pub request: api::UpdateContainersRequest,
    /// When it arrived.
    pub at: Instant,
}

/// The answer to unsolicited updates.
#[derive(Debug, Clone, Default)]
pub enum UpdateAnswer {
    /// All were applied.
    #[default]
    Applied,
    /// These were not.
    Failed(Vec<api::ContainerUpdate>),
    /// An error status with this text.
    Error(String),
    /// None until the test releases what is held; then all were applied.
    Held,
}

/// Something that a plugin must not do; a test in which it happened fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Complaint {
    /// Broken framing, or messages out of place.
    Protocol {
        /// Number of the connection.
        connection: usize,
        /// What was broken.
        violation: Violation,
    },
    /// A connection was opened while the handshake of an earlier one, still open, was going on.
    Overlap {
        /// Number of the earlier connection.
        earlier: usize,
    },
    /// A chunk of Synchronize was not answered with `more` and without updates.
    Chunk {
        /// Number of the connection.
        connection: usize,
    },
    /// No further connection can be accepted; not the plugins' fault.
    Accept {
        /// Why.
        error: String,
    },
}

impl Complaint {
    fn of(connection: usize, violations: Vec<Violation>) -> impl Iterator<Item = Self> {
        let complain = move |violation| Self::Protocol {
            connection,
            violation,
        };
        violations.into_iter().map(complain)
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) pods: Vec<api::PodSandbox>,
    pub(super) containers: Vec<api::Container>,
    pub(super) split: Split,
    pub(super) cut: Cut,
    pub(super) faults: Faults,
    pub(super) connections: Vec<Connection>,
    /// Plugins that get events, in the order of calls.
    pub(super) active: Vec<Arc<Session>>,
    /// Connections that stay open and get nothing.
    pub(super) dead: Vec<Arc<Session>>,
    pub(super) raw: VecDeque<RawConnection>,
    /// Connections that wait for the end of another one's handshake.
    pub(super) waiting: VecDeque<UnixStream>,
    pub(super) updates: Vec<Unsolicited>,
    pub(super) update_answer: UpdateAnswer,
    pub(super) complaints: Vec<Complaint>,
}

#[derive(Debug)]
pub(super) struct Board {
    pub(super) settings: Settings,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    /// Counts the calls of `release`.
    pub(super) releases: watch::Sender<u64>,
    /// Held shared by calls to single plugins, alone by operations and by synchronization.
    pub(super) operations: RwLock<()>,
}

impl Board {
    pub(super) fn new(settings: Settings, state: State) -> Self {
        Self {
            settings,
            state: Mutex::new(state),
            changes: watch::Sender::new(0),
            releases: watch::Sender::new(0),
            operations: RwLock::new(()),
        }
    }

    /// Reads the state, or changes what nobody waits for.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent after each statement, so a panic in a test leaves it usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes those who wait for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changes
            .send_modify(|changes| *changes = changes.wrapping_add(1));
        result
    }

    /// Changes the record of one connection.
    pub(super) fn note(&self, number: usize, change: impl FnOnce(&mut Connection)) {
        self.change(|state| change(&mut state.connections[number - 1]));
    }

    /// Waits until `find` finds something in the state.
    ///
    /// # Errors
    ///
    /// When it takes far too long; the error tells the state.
    pub(super) async fn wait_for<T>(
        &self,
        what: &str,
        mut find: impl FnMut(&mut State) -> Option<T>,
    ) -> anyhow::Result<T> {
        let mut changes = self.changes.subscribe();
        let found = patiently(what, async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = find(&mut self.state()) {
                    return found;
                }
                changes.changed().await.expect("the sender lives in self");
            }
        });
        found.await.map_err(|error| error.context(self.describe()))
    }

    /// The fault of the connection that was just accepted.
    pub(super) fn next_fault(&self) -> Option<Fault> {
        self.state().faults.take(&Victim::NextConnection)
    }

    /// Notes the end of a connection and forgets its plugin.
    pub(super) fn ended(&self, number: usize, end: &End, violations: Vec<Violation>) {
        self.change(|state| {
            let connection = &mut state.connections[number - 1];
            if connection.end.is_none() {
                connection.end = Some(end.clone());
                connection.stage = Stage::Ended;
            }
            state.active.retain(|session| session.number != number);
            state.dead.retain(|session| session.number != number);
            state.complaints.extend(Complaint::of(number, violations));
        });
    }

    /// Closes every connection; nobody listens any more.
    pub(super) fn close_connections(&self) {
        let end = End::Closed("the runtime was killed");
        let (sessions, handshaking) = {
            let mut state = self.state();
            let mut sessions = std::mem::take(&mut state.active);
            sessions.append(&mut state.dead);
            state.raw.clear();
            state.waiting.clear();
            let open = state
                .connections
                .iter()
                .filter(|connection| connection.end.is_none());
            let numbers: Vec<_> = open.map(|connection| connection.number).collect();
            (sessions, numbers)
        };
        for session in sessions {
            session.trunk.close("the runtime was killed");
            self.ended(session.number, &end, session.trunk.take_violations());
        }
        for number in handshaking {
            self.ended(number, &end, Vec::new());
        }
    }

    /// What plugins did that they must not do.
    pub(super) fn take_complaints(&self) -> Vec<Complaint> {
        let mut state = self.state();
        let mut complaints = std::mem::take(&mut state.complaints);
        for session in state.active.iter().chain(&state.dead) {
            let violations = session.trunk.take_violations();
            complaints.extend(Complaint::of(session.number, violations));
        }
        complaints
    }

    /// One line a connection, for errors.
    fn describe(&self) -> String {
        let state = self.state();
        let mut text = format!("fake runtime with {} connections", state.connections.len());
        for connection in &state.connections {
            let _ = write!(text, "\n  {connection}");
        }
        for complaint in &state.complaints {
            let _ = write!(text, "\n  {complaint:?}");
        }
        text
    }
}
