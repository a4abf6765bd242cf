//! The updates that one component asks for outside requests, on their way to the runtime, and what
//! came of them on the way back.
//!
//! ```text
//!            push                 send                answered, expired, session_lost
//! component ──────▶ queued ───────────────▶ sent ──────────────────┐
//!  any thread          │   the supervisor                          ▼
//!                      └── nothing in it ─────────────────────▶ results ──▶ component
//!                                                                 take_result, its own thread
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::Notify;

use super::counters::Counter;
use super::policy::cut;
use super::watchdog::Key;
use crate::lock::lock;
use crate::runtime::update::{MAX_UPDATE, Unreadable, failed_containers};

/// Requests that the runtime has not answered, at most.
pub const MAX_WAITING: usize = 64;
/// Results that the component has not been told, at most.
pub const MAX_RESULTS: usize = 2 * MAX_WAITING;
/// Bytes of requests that are not sent yet, at most.
pub const MAX_WAITING_BYTES: usize = 1 << 20;
/// Most bytes of a response that is passed on. It repeats those updates that failed.
const MAX_RESPONSE: usize = 4 * MAX_UPDATE;
/// How long the runtime may take to answer. It may hold an update back while it serves a request.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Too much waits already.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the queue is full")]
pub struct Full;

/// Why a request failed as a whole.
#[derive(Debug, Error)]
pub enum UpdateFailure {
    /// The runtime's own words.
    #[error("the runtime refused it: {0}")]
    Refused(String),
    /// The runtime's answer is not the message that it should be.
    #[error("the runtime's answer cannot be read")]
    Unreadable(#[from] Unreadable),
    /// The runtime's answer is larger than one to this request can be.
    #[error("the runtime's answer has {0} bytes")]
    TooLarge(usize),
    /// It may still be applied.
    #[error("the runtime did not answer within {} s", ANSWER_LIMIT.as_secs())]
    NoAnswer,
    /// It may have been applied or not.
    #[error("the session was lost before the runtime answered")]
    SessionLost,
}

/// What came of a request.
#[derive(Debug)]
pub struct UpdateResult {
    /// The component's name for the request.
    pub cookie: u64,
    /// The encoded `UpdateContainersResponse`.
    pub outcome: Result<Vec<u8>, UpdateFailure>,
}

/// See the module.
#[derive(Debug)]
pub struct Outbox {
    plugin: String,
    counters: Arc<Counters>,
    /// Written under the lock, and read before it is taken: each call of the component looks.
    has_results: AtomicBool,
    inner: Mutex<Inner>,
    notice: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Inner {
    queued: VecDeque<Queued>,
    queued_bytes: usize,
    sent: Option<Sent>,
    results: VecDeque<UpdateResult>,
    /// The instance does not want to know.
    keeps_none: bool,
}

#[derive(Debug)]
struct Queued {
    cookie: u64,
    request: Vec<u8>,
}

#[derive(Debug)]
struct Sent {
    /// `None`: who asked is gone, and the runtime still works on it.
    cookie: Option<u64>,
    session: Key,
    number: u32,
    at: Instant,
}

#[derive(Debug, Default)]
struct Counters {
    queued: Counter,
    sent: Counter,
    failed: Counter,
    dropped: Counter,
    refused: Counter,
}

/// What is counted of a component's updates, in requests since the host started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateCounts {
    /// Taken from the component.
    pub queued: u64,
    /// Sent to the runtime.
    pub sent: u64,
    /// Failed as a whole, or for some containers.
    pub failed: u64,
    /// Never sent: there was nothing in them, or their instance ended.
    pub dropped: u64,
    /// Not taken, as too many waited.
    pub refused: u64,
    /// Taken, and not answered by the runtime yet.
    pub waiting: usize,
}

impl Outbox {
    /// An empty one. `plugin` is the component's name in the log; `notice` is told when there is
    /// something to send, and when the runtime is done with what was sent.
    pub fn new(plugin: String, notice: Arc<Notify>) -> Self {
        Self {
            plugin,
            counters: Arc::default(),
            has_results: AtomicBool::new(false),
            inner: Mutex::default(),
            notice,
        }
    }

    /// Goes on counting where another one stopped.
    #[must_use]
    pub fn counting_on(mut self, before: &Self) -> Self {
        self.counters = Arc::clone(&before.counters);
        self
    }

    /// What is counted.
    pub fn counts(&self) -> UpdateCounts {
        UpdateCounts {
            queued: self.counters.queued.get(),
            sent: self.counters.sent.get(),
            failed: self.counters.failed.get(),
            dropped: self.counters.dropped.get(),
            refused: self.counters.refused.get(),
            waiting: self.lock().unanswered(),
        }
    }

    // ---- the component's part

    /// Takes a request in [normal form](crate::runtime::update::normal_form), from any thread of the
    /// component.
    ///
    /// # Errors
    ///
    /// When it cannot be kept until it can be sent.
    pub fn push(&self, cookie: u64, request: Option<Vec<u8>>) -> Result<(), Full> {
        let bytes = request.as_ref().map_or(0, Vec::len);
        let mut inner = self.lock();
        let most = match request {
            Some(_) => MAX_RESULTS,
            // One without changes never waits for the runtime, and must not keep out those that do.
            None => MAX_RESULTS - MAX_WAITING,
        };
        if inner.unanswered() >= MAX_WAITING
            || inner.unanswered() + inner.results.len() >= most
            || inner.queued_bytes + bytes > MAX_WAITING_BYTES
        {
            self.counters.refused.add_one();
            return Err(Full);
        }
        self.counters.queued.add_one();
        match request {
            Some(request) => {
                inner.queued_bytes += bytes;
                inner.queued.push_back(Queued { cookie, request });
                drop(inner);
                self.notice.notify_one();
            }
            None => {
                self.counters.dropped.add_one();
                let outcome = Ok(Vec::new());
                self.keep(&mut inner, UpdateResult { cookie, outcome });
            }
        }
        Ok(())
    }

    /// Whether the instance that is there wants to know what comes of its requests.
    pub fn keep_results(&self, wanted: bool) {
        let mut inner = self.lock();
        inner.keeps_none = !wanted;
        if !wanted {
            inner.results.clear();
            self.has_results.store(false, Ordering::Release);
        }
    }

    fn keep(&self, inner: &mut Inner, result: UpdateResult) {
        if !inner.keeps_none {
            inner.results.push_back(result);
            self.has_results.store(true, Ordering::Release);
        }
    }

    /// The instance is gone, and with it who wants to know.
    pub fn clear(&self) {
        let mut inner = self.lock();
        for _ in inner.queued.drain(..) {
            self.counters.dropped.add_one();
        }
        inner.queued_bytes = 0;
        inner.results.clear();
        self.has_results.store(false, Ordering::Release);
        if let Some(sent) = &mut inner.sent {
            sent.cookie = None;
        }
    }

    /// The next result to be told.
    pub fn take_result(&self) -> Option<UpdateResult> {
        if !self.has_results.load(Ordering::Acquire) {
            return None;
        }
        let mut inner = self.lock();
        let result = inner.results.pop_front();
        self.has_results
            .store(!inner.results.is_empty(), Ordering::Release);
        result
    }

    // ---- the supervisor's part

    /// There is something to send.
    pub fn has_queued(&self) -> bool {
        !self.lock().queued.is_empty()
    }

    /// The runtime works on a request, and has until then to answer it.
    pub fn answer_due(&self) -> Option<Instant> {
        self.lock().sent.as_ref().map(|sent| sent.at + ANSWER_LIMIT)
    }

    /// Takes the oldest request, which is being sent as call `number` of a session.
    pub fn send(&self, session: Key, number: u32, now: Instant) -> Option<Vec<u8>> {
        let mut inner = self.lock();
        let Queued { cookie, request } = inner.queued.pop_front()?;
        inner.queued_bytes -= request.len();
        inner.sent = Some(Sent {
            cookie: Some(cookie),
            session,
            number,
            at: now,
        });
        self.counters.sent.add_one();
        Some(request)
    }

    /// Gives up a request that is not answered in time.
    pub fn expire(&self, now: Instant) {
        let is_late = |sent: &Sent| sent.at + ANSWER_LIMIT <= now;
        self.settle(is_late, Err(UpdateFailure::NoAnswer));
    }

    /// Gives up a request that was sent over a session that has ended.
    pub fn session_lost(&self, session: Key) {
        let is_lost = |sent: &Sent| sent.session == session;
        self.settle(is_lost, Err(UpdateFailure::SessionLost));
    }

    // ---- who reads the session

    /// Takes the answer to call `number` of a session: the encoded response, or the words of an
    /// error. One that nobody waits for any more is passed over.
    pub fn answered(&self, session: Key, number: u32, answer: Result<Vec<u8>, String>) {
        let answer = answer.map_err(|text| UpdateFailure::Refused(cut(&text).to_owned()));
        let is_meant = |sent: &Sent| sent.session == session && sent.number == number;
        self.settle(is_meant, answer.and_then(Answer::read));
    }

    /// Makes a result of the request that was sent, if it is the one that is meant.
    fn settle(&self, is_meant: impl FnOnce(&Sent) -> bool, answer: Result<Answer, UpdateFailure>) {
        let mut inner = self.lock();
        let Some(sent) = inner.sent.take_if(|sent| is_meant(sent)) else {
            return;
        };
        let (outcome, trouble) = match answer {
            Ok(Answer { response, failed }) => {
                let trouble = (!failed.is_empty()).then_some(Trouble::Containers(failed));
                (Ok(response), trouble)
            }
            Err(failure) => {
                let error = crate::chain(&failure);
                (Err(failure), Some(Trouble::Request(error)))
            }
        };
        // Under the same lock: an instance that is gone meanwhile is not forgotten in between.
        if let Some(cookie) = sent.cookie {
            self.keep(&mut inner, UpdateResult { cookie, outcome });
        }
        drop(inner);
        if let Some(trouble) = trouble {
            self.note(&trouble);
        }
        self.notice.notify_one();
    }

    fn note(&self, trouble: &Trouble) {
        self.counters.failed.add_one();
        let component = self.plugin.as_str();
        match trouble {
            Trouble::Containers(ids) => {
                let containers = ids.join(" ");
                let (failed, containers) = (ids.len(), cut(&containers));
                tracing::warn!(component, failed, containers, "containers were not updated");
            }
            Trouble::Request(error) => {
                tracing::warn!(component, error, "an update of containers failed");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

/// What did not work.
enum Trouble {
    /// These containers were not updated.
    Containers(Vec<String>),
    /// The request failed as a whole.
    Request(String),
}

/// A response of the runtime that can be read.
#[derive(Debug)]
struct Answer {
    response: Vec<u8>,
    /// Ids of the containers that were not updated.
    failed: Vec<String>,
}

impl Answer {
    fn read(response: Vec<u8>) -> Result<Self, UpdateFailure> {
        if response.len() > MAX_RESPONSE {
            return Err(UpdateFailure::TooLarge(response.len()));
        }
        let failed = failed_containers(&response)?;
        Ok(Self { response, failed })
    }
}

impl Inner {
    /// Requests of the instance that are not answered.
    fn unanswered(&self) -> usize {
        let sent = self.sent.as_ref().and_then(|sent| sent.cookie);
        self.queued.len() + usize::from(sent.is_some())
    }
}

#[cfg(test)]
mod tests;
