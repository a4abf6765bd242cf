//! One plugin on one connection: registered, configured, synchronized, then serving calls until the
//! connection is lost. A session is never used again.
//!
//! The host alone answers Configure, Shutdown, all but the last chunk of Synchronize, and methods
//! that the component does not handle or nobody knows. Everything else comes out of
//! [`Session::next`], in one form whichever dialect the runtime speaks.

mod handshake;
mod messages;
mod progress;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nri_plugin_api::abi::Method;
use nri_plugin_api::api;
use tokio::sync::Notify;
use ttrpc::proto::Request;

use super::attendance::Attendance;
use super::connection::{Connection, Lost, Patience};
use super::mux::{PLUGIN_STREAM, RUNTIME_STREAM};
use super::traffic::{Traffic, UnderWay};
use super::ttrpc::{Answer, Outgoing, encode};
use crate::lock::lock;
use handshake::Synchronization;
pub use progress::{Configured, End, Progress, Unsynchronized};

const PLUGIN_SERVICE: &str = "nri.pkg.api.v1alpha1.Plugin";
const RUNTIME_SERVICE: &str = "nri.pkg.api.v1alpha1.Runtime";
/// Number of our RegisterPlugin call, the first of a connection.
const REGISTER_CALL: u32 = 1;
/// Number of our first call after that. The numbers of a client's calls are odd, and rise.
const FIRST_UPDATE_CALL: u32 = 3;
/// How long other plugins may take until the runtime has a creation validated. It may also have given
/// it up, and does not say so.
const CREATION_LIMIT: Duration = Duration::from_secs(1);
/// Time that a runtime gives a call when it does not say: NRI's default.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Who registers, and for what.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Plugin name.
    pub name: String,
    /// Plugin index, 0 to 99.
    pub index: u8,
    /// The name that the runtime must give itself, if it matters.
    pub expect_runtime: Option<String>,
    /// Methods that the component handles, as [`Method::bit`]s.
    pub methods: u64,
    /// Ask the runtime to fail an operation when the plugin is late or lost.
    pub fail_request: bool,
    /// Subscribe to no event that an old runtime does not know: this one refused a mask before.
    pub oldest_events_only: bool,
}

/// How a call came in, which decides what its answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// As a method of its own.
    Dedicated,
    /// As a `StateChange` event.
    StateChange,
}

/// One call for the component.
#[derive(Debug)]
pub struct Call {
    /// Number of the call on its connection.
    pub number: u32,
    /// What is called.
    pub method: Method,
    /// How it came in.
    pub dialect: Dialect,
    /// The encoded request message of the method.
    pub payload: Vec<u8>,
    /// Time that the runtime gives for the answer, from when the call was read.
    pub time: Duration,
    /// Until it is answered.
    pub under_way: UnderWay,
}

/// What comes out of a session.
#[derive(Debug)]
pub enum Incoming {
    /// A call for the component.
    Call(Call),
    /// The answer to a call of [`Session::update_containers`].
    UpdateAnswer {
        /// Number of the call.
        number: u32,
        /// The encoded `UpdateContainersResponse`, or the text of an error.
        answer: Result<Vec<u8>, String>,
    },
}

/// One plugin on one connection.
pub struct Session {
    connection: Connection,
    registration: Registration,
    attendance: Arc<Attendance>,
    progress: Mutex<Progress>,
    winding_down: Mutex<Option<&'static str>>,
    /// When the last call was CreateContainer, of a container that the plugin validates, too.
    creating: Mutex<Option<Instant>>,
    synchronization: Mutex<Synchronization>,
    next_update_call: AtomicU32,
    traffic: Arc<Traffic>,
    notice: Arc<Notify>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("registration", &self.registration)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session on a fresh connection. `attendance` is told of containers, `traffic` of each call,
    /// `notice` of all progress.
    pub fn new(
        connection: Connection,
        registration: Registration,
        attendance: Arc<Attendance>,
        traffic: Arc<Traffic>,
        notice: Arc<Notify>,
    ) -> Self {
        Self {
            connection,
            registration,
            attendance,
            progress: Mutex::default(),
            winding_down: Mutex::default(),
            creating: Mutex::default(),
            synchronization: Mutex::default(),
            next_update_call: AtomicU32::new(FIRST_UPDATE_CALL),
            traffic,
            notice,
        }
    }

    /// The connection, to wait on.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// How far the session has come.
    pub fn progress(&self) -> Progress {
        lock(&self.progress).clone()
    }

    /// The session is over.
    pub fn has_ended(&self) -> bool {
        lock(&self.progress).ended.is_some()
    }

    /// The session has not ended, and is not to end after the call under way.
    pub fn goes_on(&self) -> bool {
        !self.has_ended() && lock(&self.winding_down).is_none()
    }

    /// The runtime fails requests when it loses the plugin in their midst.
    pub fn is_sensitive(&self) -> bool {
        self.registration.fail_request || self.validates()
    }

    /// The runtime is probably in the midst of a request of which more is to come.
    pub fn is_in_request(&self) -> bool {
        lock(&self.creating).is_some_and(|since| since.elapsed() < CREATION_LIMIT)
    }

    fn validates(&self) -> bool {
        self.registration.methods & Method::ValidateContainerAdjustment.bit() != 0
    }

    /// The runtime dies of sysctl adjustments.
    pub fn dies_of_sysctl(&self) -> bool {
        let progress = lock(&self.progress);
        progress
            .configured
            .as_ref()
            .is_some_and(|c| c.runtime.dies_of_sysctl())
    }

    /// The runtime has begun to synchronize the session, and is not done with it.
    pub fn is_synchronizing(&self) -> bool {
        let begun = lock(&self.synchronization).begun.is_some();
        begun && self.progress().synchronized.is_none()
    }

    /// Time that the runtime gives a call that does not carry one.
    pub fn request_timeout(&self) -> Duration {
        lock(&self.progress)
            .configured
            .as_ref()
            .and_then(|configured| configured.request_timeout)
            .unwrap_or(DEFAULT_REQUEST_TIMEOUT)
    }

    /// Calls RegisterPlugin. The answer shows in [`Session::progress`].
    ///
    /// The runtime may call Configure before it answers, so somebody must be reading.
    pub fn register(&self) {
        let registration = api::RegisterPluginRequest {
            plugin_name: self.registration.name.clone(),
            plugin_idx: format!("{:02}", self.registration.index),
            ..Default::default()
        };
        // A fresh socket has room for it.
        self.call_runtime(REGISTER_CALL, "RegisterPlugin", encode(&registration));
    }

    /// The number of our next call of [`Session::update_containers`].
    pub fn update_call_number(&self) -> u32 {
        self.next_update_call.fetch_add(2, Ordering::Relaxed)
    }

    /// Calls UpdateContainers with an encoded request, which is small enough for a socket whose
    /// runtime reads. The answer comes out of [`Session::next`] under the same number.
    ///
    /// While a call is under way on any connection, this can block the runtime, see [`Traffic`].
    pub fn update_containers(&self, number: u32, request: Vec<u8>) {
        self.call_runtime(number, "UpdateContainers", request);
    }

    /// Never waits: a runtime that does not read loses the session.
    fn call_runtime(&self, number: u32, method: &str, payload: Vec<u8>) {
        let request = Request {
            service: RUNTIME_SERVICE.to_owned(),
            method: method.to_owned(),
            payload,
            ..Default::default()
        };
        let message = Outgoing::request(RUNTIME_STREAM, number, &request);
        if let Err(lost) = self.connection.write(&message, Patience::Never) {
            self.end(lost.into());
        }
    }

    /// The component is kept from reading for a while: calls may wait for it in the socket.
    pub fn keep_from_reading(&self) -> UnderWay {
        self.traffic.begin()
    }

    /// Serves the connection until there is something for others. `None` without patience when
    /// there is nothing now.
    ///
    /// # Errors
    ///
    /// When the session has ended.
    pub fn next(&self, patience: Patience) -> Result<Option<Incoming>, Arc<End>> {
        self.read(patience, patience)
    }

    /// The same without waiting for a message, for a thread that may wait while it answers one.
    ///
    /// # Errors
    ///
    /// When the session has ended.
    pub fn next_if_there(&self) -> Result<Option<Incoming>, Arc<End>> {
        self.read(Patience::Never, Patience::Wait)
    }

    fn read(&self, reading: Patience, writing: Patience) -> Result<Option<Incoming>, Arc<End>> {
        loop {
            match self.connection.read(reading) {
                Ok(Some(message)) => {
                    if let Some(incoming) = self.take_in(&message, writing) {
                        return Ok(Some(incoming));
                    }
                }
                Ok(None) => return Ok(None),
                Err(Lost::Closed) => {
                    let asked = *lock(&self.winding_down);
                    let end = asked.map_or(End::Lost(Lost::Closed), End::Asked);
                    return Err(self.end(end));
                }
                Err(lost) => return Err(self.end(lost.into())),
            }
        }
    }

    /// Answers a call that came out of [`Session::next`].
    pub fn answer(&self, call: &Call, answer: Answer, patience: Patience) {
        let answer = match (call.dialect, answer) {
            (Dialect::StateChange, Answer::Payload(_)) => Answer::EMPTY,
            (_, answer) => answer,
        };
        let good = matches!(answer, Answer::Payload(_));
        self.write_answer(call.number, answer, patience);
        call.under_way.end();
        if call.method == Method::Synchronize {
            self.synchronized(good);
        }
    }

    /// Ends the session at once, for the reason given unless it has ended already. A call that is
    /// being answered is lost: see [`Session::wind_down`].
    pub fn end(&self, end: End) -> Arc<End> {
        let mut first = Arc::new(end);
        self.advance(|progress| {
            first = Arc::clone(progress.ended.get_or_insert_with(|| Arc::clone(&first)));
        });
        self.connection.close();
        first
    }

    /// Ends the session between two calls: what came before this is still answered.
    pub fn wind_down(&self, why: &'static str) {
        lock(&self.winding_down).get_or_insert(why);
        self.connection.stop_reading();
    }

    fn advance(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut lock(&self.progress));
        self.notice.notify_one();
    }

    fn write_answer(&self, number: u32, answer: Answer, patience: Patience) {
        let message = Outgoing::response(PLUGIN_STREAM, number, answer);
        if let Err(lost) = self.connection.write(&message, patience) {
            self.end(lost.into());
        }
    }
}

#[cfg(test)]
mod tests;
