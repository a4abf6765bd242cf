//! What the component's thread, the watchdog and the supervisor share of one component.
//!
//! The seat knows whether the component is there, and which session it has. While the component is
//! away (in an overdue call, or being created again), the watchdog serves the session by
//! [`Policy`]. Changes of hands happen under the seat's lock; while the component is there, its
//! calls take no lock of the seat.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nri_plugin_api::abi::Method;
use tokio::sync::Notify;

use super::border::{Blueprint, NotCreated};
use super::clock;
use super::counters::Counters;
use super::policy::{Failure, Outcome, Policy, Subject};
use super::turn::Turn;
use super::watchdog::{Key, Watchdog};
use crate::config::OnFailure;
use crate::runtime::connection::Patience;
use crate::runtime::fields;
use crate::runtime::session::{Call, Session};
use crate::runtime::ttrpc::Answer;

/// Whether a component can serve.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `create` is under way for the first time, or after it said to try later.
    Creating {
        /// Since when.
        since: Instant,
    },
    /// It waits for calls, or serves one in time.
    Ready {
        /// The methods that it wants, as [`Method::bit`]s.
        methods: u64,
    },
    /// It is in an overdue call, or is being created again after a panic.
    Away {
        /// Since when.
        since: Instant,
        /// The overdue call, if it is that.
        call: Option<Method>,
    },
    /// There is no instance.
    NotCreated(NotCreated),
    /// It was destroyed, at the host's wish.
    Stopped,
}

/// One session together with what its component's thread and the watchdog share of it.
#[derive(Debug)]
pub struct Served {
    /// The session.
    pub session: Session,
    turn: Turn,
    timer: TimerFd,
    in_flight: Mutex<Option<Arc<Call>>>,
    key: Key,
    watchdog: Watchdog,
}

/// See the module.
#[derive(Debug)]
pub struct Seat {
    /// How outcomes become answers.
    pub policy: Policy,
    /// What the instance is made of.
    pub blueprint: Blueprint,
    /// What is counted.
    pub counters: Counters,
    out_of_step: AtomicBool,
    last_error: Mutex<Option<String>>,
    inner: Mutex<Inner>,
    bell: Condvar,
    watchdog: Watchdog,
    notice: Arc<Notify>,
}

#[derive(Debug)]
struct Inner {
    condition: Condition,
    session: Option<Arc<Served>>,
    create: bool,
    stop: bool,
}

/// What the component's thread is to do next.
#[derive(Debug)]
pub enum Order {
    /// Make an instance.
    Create,
    /// Serve a session until it ends.
    Serve(Arc<Served>),
    /// End the instance and the thread.
    Stop,
}

impl Seat {
    /// A seat whose instance is still to be created.
    pub fn new(
        blueprint: Blueprint,
        policy: Policy,
        watchdog: Watchdog,
        notice: Arc<Notify>,
    ) -> Self {
        Self {
            policy,
            blueprint,
            counters: Counters::default(),
            out_of_step: AtomicBool::new(false),
            last_error: Mutex::default(),
            inner: Mutex::new(Inner {
                condition: Condition::Creating {
                    since: Instant::now(),
                },
                session: None,
                create: true,
                stop: false,
            }),
            bell: Condvar::new(),
            watchdog,
            notice,
        }
    }

    /// Whether the component can serve.
    pub fn condition(&self) -> Condition {
        self.lock().condition.clone()
    }

    /// The component missed a call, or its Synchronize failed: what it knows may be wrong.
    pub fn out_of_step(&self) -> bool {
        self.out_of_step.load(Ordering::Relaxed)
    }

    /// The last failure, for a person.
    pub fn last_error(&self) -> Option<String> {
        lock(&self.last_error).clone()
    }

    // ---- the supervisor's part

    /// Hands over a session. The one before must have ended.
    ///
    /// # Errors
    ///
    /// When the system has no timer left; the session is ended then.
    pub fn seat_session(self: &Arc<Self>, session: Session) -> io::Result<Arc<Served>> {
        let served = Arc::new(Served {
            session,
            turn: Turn::new(),
            timer: TimerFd::new(
                ClockId::CLOCK_MONOTONIC,
                TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
            )?,
            in_flight: Mutex::default(),
            key: self.watchdog.key(),
            watchdog: self.watchdog.clone(),
        });
        self.watchdog.watch(self, &served)?;
        let mut inner = self.lock();
        inner.session = Some(Arc::clone(&served));
        if matches!(inner.condition, Condition::Away { .. }) {
            served.turn.take();
            self.watchdog.serve(&served);
        }
        self.bell.notify_one();
        Ok(served)
    }

    /// Has `create` called again, after it said to try later.
    pub fn create_again(&self) {
        let mut inner = self.lock();
        inner.condition = Condition::Creating {
            since: Instant::now(),
        };
        inner.create = true;
        self.bell.notify_one();
    }

    /// Ends the instance after the call under way, if it comes back from it.
    pub fn stop(&self) {
        let mut inner = self.lock();
        inner.stop = true;
        if let Some(served) = &inner.session {
            served.session.wind_down();
        }
        self.bell.notify_one();
    }

    // ---- the component's thread's part

    /// Waits for something to do.
    pub fn next_order(&self) -> Order {
        let mut inner = self.lock();
        loop {
            if inner.stop {
                return Order::Stop;
            }
            if std::mem::take(&mut inner.create) {
                return Order::Create;
            }
            if let Condition::Ready { .. } = inner.condition
                && let Some(served) = &inner.session
                && !served.session.has_ended()
            {
                return Order::Serve(Arc::clone(served));
            }
            inner = self
                .bell
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// There is no instance, for this reason.
    pub fn not_created(&self, why: NotCreated) {
        self.set(Condition::NotCreated(why));
    }

    /// The instance was destroyed for good.
    pub fn stopped(&self) {
        self.set(Condition::Stopped);
    }

    /// The component will be away: the watchdog takes its session.
    pub fn leave(&self) {
        let mut inner = self.lock();
        if let Condition::Away { .. } = inner.condition {
            return;
        }
        inner.condition = Condition::Away {
            since: Instant::now(),
            call: None,
        };
        if let Some(served) = &inner.session {
            served.turn.take();
            self.watchdog.serve(served);
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The component is there, and takes its session back.
    pub fn arrive(&self, methods: u64) {
        let mut inner = self.lock();
        inner.condition = Condition::Ready { methods };
        if let Some(served) = &inner.session
            && served.turn.is_taken()
        {
            self.watchdog.unserve(served);
            served.turn.give_back();
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The session is the one to be served.
    pub fn is_current(&self, served: &Arc<Served>) -> bool {
        self.lock()
            .session
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, served))
    }

    /// Answers a call, whatever came of it.
    pub fn conclude(&self, served: &Served, call: &Call, outcome: Outcome, patience: Patience) {
        let outcome = match outcome {
            Outcome::Reply(reply)
                if call.method == Method::CreateContainer
                    && fields::adjusts_sysctl(&reply)
                    && served.session.dies_of_sysctl() =>
            {
                Outcome::Failed(Failure::DeadlySysctl)
            }
            outcome => outcome,
        };
        let told = match &outcome {
            Outcome::Reply(_) => {
                if call.method == Method::Synchronize {
                    self.out_of_step.store(false, Ordering::Relaxed);
                }
                None
            }
            other => Some(self.count(call, other)),
        };
        let answer = self.policy.answer(call, outcome);
        if told == Some(Told::Failure) && matches!(answer, Answer::Payload(_)) {
            self.counters.ignored.add_one();
        }
        served.session.answer(call, answer, patience);
    }

    // ---- the watchdog's part

    /// The session's timer fired: answers the call under way if it is overdue.
    pub fn timer_fired(&self, served: &Served) {
        // Level-triggered: the expiration is taken off. It is gone when the timer was set anew.
        let _ = served.timer.wait();
        let mut inner = self.lock();
        let Some(number) = served.turn.take_overdue(clock::now_ns()) else {
            return;
        };
        let call = lock(&served.in_flight)
            .clone()
            .filter(|call| call.number == number);
        inner.condition = Condition::Away {
            since: Instant::now(),
            call: call.as_ref().map(|call| call.method),
        };
        if let Some(call) = call {
            let late = Outcome::Failed(Failure::Late);
            self.conclude(served, &call, late, Patience::Never);
        }
        self.watchdog.serve(served);
        drop(inner);
        self.notice.notify_one();
    }

    /// The session's socket is readable: answers what comes, for the component that is away.
    pub fn socket_ready(&self, served: &Served) {
        let _hands = self.lock();
        while served.turn.is_taken() {
            match served.session.next_call(Patience::Never) {
                Ok(Some(call)) => {
                    let away = Outcome::Failed(Failure::Away);
                    self.conclude(served, &call, away, Patience::Never);
                }
                Ok(None) => return,
                Err(_) => {
                    self.watchdog.unserve(served);
                    return;
                }
            }
        }
    }

    fn set(&self, condition: Condition) {
        self.lock().condition = condition;
        self.notice.notify_one();
    }

    fn count(&self, call: &Call, outcome: &Outcome) -> Told {
        let plugin = self.policy.plugin.as_str();
        let method = call.method.name();
        let subject = Subject::of(call);
        let failure = match outcome {
            Outcome::Reply(_) => return Told::Nothing,
            Outcome::Rejected(reason) => {
                self.counters.rejections.add_one();
                tracing::info!(component = plugin, method, %subject, reason, "rejected");
                return Told::Rejection;
            }
            Outcome::Failed(failure) => failure,
        };
        match failure {
            Failure::Late => self.counters.late.add_one(),
            Failure::Away => self.counters.missed.add_one(),
            _ => self.counters.failures.add_one(),
        }
        let missed = matches!(failure, Failure::Late | Failure::Away | Failure::Panic(_));
        if missed || call.method == Method::Synchronize {
            self.out_of_step.store(true, Ordering::Relaxed);
            self.notice.notify_one();
        }
        let ignored = self.policy.on_failure == OnFailure::Ignore;
        tracing::warn!(component = plugin, method, %subject, error = %failure, ignored, "call failed");
        *lock(&self.last_error) = Some(format!("{method} for {subject}: {failure}"));
        Told::Failure
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Rejection,
    Failure,
}

impl Served {
    /// Names the session towards the watchdog.
    pub fn key(&self) -> Key {
        self.key
    }

    /// The timer of the call under way.
    pub fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// The component's thread is about to serve `call`.
    pub fn begin(&self, call: &Arc<Call>, deadline_ns: u64) {
        *lock(&self.in_flight) = Some(Arc::clone(call));
        self.turn.begin(call.number, deadline_ns);
        let at = Expiration::OneShot(clock::time_spec(deadline_ns));
        if let Err(errno) = self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME) {
            tracing::error!(%errno, "a call cannot be timed");
        }
    }

    /// The component's thread has served `call`. `true`: it answers.
    #[must_use]
    pub fn finish(&self, call: &Call) -> bool {
        self.turn.finish(call.number)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.watchdog.forget(self.key);
    }
}

/// What is locked stays in order even if its holder panicked: each update is a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
