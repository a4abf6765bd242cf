//! One session, with the turns and the timer of its calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::component::clock;
use crate::component::turn::Turn;
use crate::component::watchdog::{Key, Watchdog};
use crate::lock::lock;
use crate::runtime::session::{Call, Session};
use crate::runtime::traffic::UnderWay;

/// One session together with what its component's thread and the watchdog share of it.
#[derive(Debug)]
pub struct Served {
    /// The session.
    pub session: Session,
    pub(super) turn: Turn,
    pub(super) timer: TimerFd,
    pub(super) in_flight: Mutex<Option<Arc<Call>>>,
    waits_since_ns: AtomicU64,
    pub(super) results_told: AtomicU32,
    pub(super) telling: Mutex<Option<UnderWay>>,
    key: Key,
    watchdog: Watchdog,
}

impl Served {
    pub(super) fn new(session: Session, watchdog: Watchdog) -> io::Result<Self> {
        Ok(Self {
            session,
            turn: Turn::new(),
            timer: TimerFd::new(
                ClockId::CLOCK_MONOTONIC,
                TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
            )?,
            in_flight: Mutex::default(),
            waits_since_ns: AtomicU64::new(0),
            results_told: AtomicU32::new(0),
            telling: Mutex::default(),
            key: watchdog.key(),
            watchdog,
        })
    }

    /// Names the session towards the watchdog.
    pub fn key(&self) -> Key {
        self.key
    }

    /// The timer of the call under way.
    pub fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// The component's thread is about to serve `call`, for which the runtime waits since then.
    pub fn begin(&self, call: &Arc<Call>, waits_since_ns: u64, deadline_ns: u64) {
        *lock(&self.in_flight) = Some(Arc::clone(call));
        self.waits_since_ns.store(waits_since_ns, Ordering::Relaxed);
        self.arm(call.number, deadline_ns);
    }

    pub(super) fn arm(&self, number: u32, deadline_ns: u64) {
        self.turn.begin(number, deadline_ns);
        let at = Expiration::OneShot(clock::time_spec(deadline_ns));
        if let Err(errno) = self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME) {
            tracing::error!(%errno, "a call cannot be timed");
        }
    }

    /// For how long the runtime waits for the call under way, or has waited for the last one; for
    /// whoever answers it.
    pub fn waited_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.waits_since_ns.load(Ordering::Relaxed))
    }

    /// The component's thread has served `call`. `true`: it answers.
    #[must_use]
    pub fn finish(&self, call: &Call) -> bool {
        let ours = self.turn.finish(call.number);
        if ours {
            // A synchronization can be large, and the next call far away.
            lock(&self.in_flight).take();
        }
        ours
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.watchdog.forget(self.key);
    }
}
