//! What is counted of one component.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

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
    pub calls: Counter,
    /// Decisions against a pod or container.
    pub rejections: Counter,
    /// Errors, panics and unusable replies.
    pub failures: Counter,
    /// Calls that were not answered by their deadline.
    pub late: Counter,
    /// Calls that were answered for the component while it was away.
    pub missed: Counter,
    /// Failed, late and missed calls of which the runtime was not told.
    pub ignored: Counter,
    /// Sessions that became active.
    pub sessions: Counter,
    /// Times that the instance was created again after a panic.
    pub recreated: Counter,
    /// Creations of containers that it was there for, and those that it missed.
    pub attendance: Arc<Attendance>,
}

/// The numbers of [`Counters`] at one moment.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// See [`Counters`].
    pub calls: u64,
    /// See [`Counters`].
    pub rejections: u64,
    /// See [`Counters`].
    pub failures: u64,
    /// See [`Counters`].
    pub late: u64,
    /// See [`Counters`].
    pub missed: u64,
    /// See [`Counters`].
    pub ignored: u64,
    /// See [`Counters`].
    pub sessions: u64,
    /// See [`Counters`].
    pub recreated: u64,
    /// Containers that came into being while it had no session, as far as they were still there at
    /// its next synchronization.
    pub created_while_away: u64,
}

impl Counters {
    /// All numbers now.
    pub fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.get(),
            rejections: self.rejections.get(),
            failures: self.failures.get(),
            late: self.late.get(),
            missed: self.missed.get(),
            ignored: self.ignored.get(),
            sessions: self.sessions.get(),
            recreated: self.recreated.get(),
            created_while_away: self.attendance.missed(),
        }
    }
}
