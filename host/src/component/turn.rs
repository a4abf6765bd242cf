//! Whose turn it is to answer the call of a session: the component's thread or the watchdog.
//!
//! ```text
//!            begin(n)                finish(n)
//!   idle ─────────────▶ running(n) ─────────────▶ idle      the component's thread answers
//!    ▲                      │
//!    │                      │ take_overdue
//!    │      give_back       ▼
//!    └───────────────── taken(n)                            the watchdog answers, and serves
//!                                                           the socket until it is given back
//! ```
//!
//! Both sides move away from `running(n)` by compare-and-swap, so exactly one of them answers call
//! `n`. The state carries the call's number: numbers are never used twice on a connection, so a
//! watchdog that looked at one call cannot take the next.
//!
//! This file names its atomics through `super::atomic`, so that a model checker can put its own in
//! their place.

use super::atomic::{AtomicU64, Ordering};

const IDLE: u64 = 0;
const RUNNING: u64 = 1;
const TAKEN: u64 = 2;
const KIND: u64 = 3;

/// The call number of [`Turn::take`], which no call of a runtime has.
const NO_CALL: u32 = 0;

fn state(kind: u64, call: u32) -> u64 {
    u64::from(call) << 2 | kind
}

/// The state of one session.
#[derive(Debug)]
pub struct Turn {
    state: AtomicU64,
    deadline_ns: AtomicU64,
}

impl Default for Turn {
    fn default() -> Self {
        Self::new()
    }
}

impl Turn {
    /// Nothing is under way.
    pub fn new() -> Self {
        Self {
            state: AtomicU64::new(IDLE),
            deadline_ns: AtomicU64::new(0),
        }
    }

    /// The component's thread is about to serve call `call`, which is due at `deadline_ns`.
    pub fn begin(&self, call: u32, deadline_ns: u64) {
        // The deadline first: who sees the call sees its deadline, or a later call's.
        self.deadline_ns.store(deadline_ns, Ordering::Release);
        self.state.store(state(RUNNING, call), Ordering::Release);
    }

    /// The component's thread has served call `call`.
    ///
    /// `true`: it answers. `false`: the watchdog has answered, and serves the socket.
    #[must_use]
    pub fn finish(&self, call: u32) -> bool {
        self.state
            .compare_exchange(
                state(RUNNING, call),
                IDLE,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// The watchdog takes the call that is under way, if it is due by `now_ns`.
    ///
    /// The number of the call: the watchdog answers it.
    #[must_use]
    pub fn take_overdue(&self, now_ns: u64) -> Option<u32> {
        let seen = self.state.load(Ordering::Acquire);
        if seen & KIND != RUNNING || self.deadline_ns.load(Ordering::Acquire) > now_ns {
            return None;
        }
        let call = u32::try_from(seen >> 2).expect("a call number has 32 bits");
        self.state
            .compare_exchange(
                seen,
                state(TAKEN, call),
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .ok()
            .map(|_| call)
    }

    /// The socket is the watchdog's, without a call under way: the component is away.
    ///
    /// Only for the component's thread between calls, or for a session that it never served.
    pub fn take(&self) {
        self.state.store(state(TAKEN, NO_CALL), Ordering::Release);
    }

    /// The component's thread serves the socket again.
    pub fn give_back(&self) {
        self.state.store(IDLE, Ordering::Release);
    }

    /// The socket is the watchdog's.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.state.load(Ordering::Acquire) & KIND == TAKEN
    }
}
