//! What is counted of one component.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nri_plugin_api::abi::Method;
use serde::{Deserialize, Serialize};

use super::latency::{Durations, Histogram};
use crate::runtime::attendance::Attendance;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of one component since the host started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Calls that reached the component.
    pub calls: CallCounters,
    /// How long those took that were answered.
    pub durations: Histogram,
    /// Decisions against a pod or container.
    pub rejections: Counter,
    /// Errors, panics and replies that were not passed on.
    pub failures: FailureCounters,
    /// Calls that were not answered by their deadline.
    pub late: Counter,
    /// Calls that were answered for the component while it was away.
    pub missed: Counter,
    /// Failed, late and missed calls of which the runtime was not told.
    pub ignored: Counter,
    /// Connections that were made to the runtime.
    pub connections: Counter,
    /// Sessions that became active.
    pub sessions: Counter,
    /// Times that the instance was created again after a panic.
    pub recreated: Counter,
    /// Creations of containers that it was there for, and those that it missed.
    pub attendance: Arc<Attendance>,
}

/// Calls by method.
#[derive(Debug)]
pub struct CallCounters([Counter; METHOD_SLOTS]);

/// Methods are counted at the place of their number.
const METHOD_SLOTS: usize = Method::Synchronize as usize + 1;

impl Default for CallCounters {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}

impl CallCounters {
    /// One more call of this method.
    pub fn add_one(&self, method: Method) {
        self.0[method as usize].add_one();
    }

    /// How many calls there were of this method.
    pub fn of(&self, method: Method) -> u64 {
        self.0[method as usize].get()
    }

    /// How many calls there were.
    pub fn total(&self) -> u64 {
        self.0.iter().map(Counter::get).sum()
    }
}

/// Calls whose answer was not the component's, although it was back in time.
#[derive(Debug, Default)]
pub struct FailureCounters {
    /// It said that it failed.
    pub errors: Counter,
    /// It panicked.
    pub panics: Counter,
    /// Its reply was not one that can be passed on.
    pub bad_replies: Counter,
    /// Its reply was good, but would have ended this runtime.
    pub withheld: Counter,
}

/// The numbers of [`FailureCounters`] at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCounts {
    /// See [`FailureCounters`].
    pub errors: u64,
    /// See [`FailureCounters`].
    pub panics: u64,
    /// See [`FailureCounters`].
    pub bad_replies: u64,
    /// See [`FailureCounters`].
    pub withheld: u64,
}

impl FailureCounters {
    /// All numbers now.
    pub fn counts(&self) -> FailureCounts {
        FailureCounts {
            errors: self.errors.get(),
            panics: self.panics.get(),
            bad_replies: self.bad_replies.get(),
            withheld: self.withheld.get(),
        }
    }
}

impl FailureCounts {
    /// All of them together.
    pub fn total(&self) -> u64 {
        self.errors + self.panics + self.bad_replies + self.withheld
    }
}

/// The numbers of [`Counters`] at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// See [`Counters`].
    pub calls: u64,
    /// The calls by method, for those that it handles.
    pub calls_by_method: BTreeMap<String, u64>,
    /// See [`Counters`].
    pub rejections: u64,
    /// See [`Counters`].
    pub failures: u64,
    /// The failures by kind.
    pub failures_by_kind: FailureCounts,
    /// See [`Counters`].
    pub late: u64,
    /// See [`Counters`].
    pub missed: u64,
    /// See [`Counters`].
    pub ignored: u64,
    /// See [`Counters`].
    pub connections: u64,
    /// See [`Counters`].
    pub sessions: u64,
    /// See [`Counters`].
    pub recreated: u64,
    /// Containers that came into being while it had no session, as far as they were still there at
    /// its next synchronization.
    pub created_while_away: u64,
    /// See [`Counters`]; its figures are in the status.
    #[serde(skip)]
    pub durations: Durations,
}

impl Counters {
    /// All numbers now. `methods`: those that the component handles, as [`Method::bit`]s.
    pub fn counts(&self, methods: u64) -> Counts {
        let failures = self.failures.counts();
        let calls = |&method: &Method| (method.name().to_owned(), self.calls.of(method));
        Counts {
            calls: self.calls.total(),
            calls_by_method: Method::ALL
                .iter()
                .filter(|method| methods & method.bit() != 0 || self.calls.of(**method) > 0)
                .map(calls)
                .collect(),
            rejections: self.rejections.get(),
            failures: failures.total(),
            failures_by_kind: failures,
            late: self.late.get(),
            missed: self.missed.get(),
            ignored: self.ignored.get(),
            connections: self.connections.get(),
            sessions: self.sessions.get(),
            recreated: self.recreated.get(),
            created_while_away: self.attendance.missed(),
            durations: self.durations.snapshot(),
        }
    }
}
