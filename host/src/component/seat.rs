//! What the component's thread, the watchdog and the supervisor share of one component.
//!
//! The seat knows whether the component is there, and which session it has. While the component is
//! away (in an overdue call, or being created again), the watchdog serves the session by
//! [`Policy`]. Changes of hands happen under the seat's lock; while the component is there, its
//! calls take no lock of the seat.

mod results;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nri_plugin_api::abi::Method;
use tokio::sync::Notify;

use super::border::{Blueprint, NotCreated};
use super::clock;
use super::counters::Counters;
use super::health::LastHealth;
use super::load::Library;
use super::outbox::Outbox;
use super::policy::{Failure, Outcome, Policy, Subject};
use super::quarantine::Quarantine;
use super::turn::Turn;
use super::watchdog::{Key, Watchdog};
use crate::config::QuarantineConfig;
use crate::lock::lock;
use crate::runtime::connection::Patience;
use crate::runtime::fields;
use crate::runtime::session::{Call, Incoming, Session};
use crate::runtime::traffic::UnderWay;
use crate::runtime::ttrpc::Answer;
use trouble::Trouble;

/// Whether a component can serve.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Its library is looked at, is tried out, or waits until others are loaded.
    Loading,
    /// The constructors of its library are running.
    Constructing,
    /// `create` is under way; for the first time, or after it said to try later.
    Creating,
    /// It waits for calls, or serves one in time.
    Ready,
    /// The host answers for it.
    Away(Absence),
    /// There is no instance.
    NotCreated(NotCreated),
    /// It crashed the host too often: its thread is not started.
    KeptOut,
    /// It was destroyed, at the host's wish.
    Stopped,
}

/// Why a component that has an instance cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It has not come back from this call, which is overdue.
    Call(Method),
    /// It has not come back from being told the result of an update.
    UpdateResult,
    /// It is being created again after a panic.
    Creation,
}

/// One session together with what its component's thread and the watchdog share of it.
#[derive(Debug)]
pub struct Served {
    /// The session.
    pub session: Session,
    turn: Turn,
    timer: TimerFd,
    in_flight: Mutex<Option<Arc<Call>>>,
    results_told: AtomicU32,
    telling: Mutex<Option<UnderWay>>,
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
    /// Whether it is called at all.
    pub quarantine: Quarantine,
    /// Its updates outside requests.
    pub outbox: Arc<Outbox>,
    /// What the instance says of itself.
    pub health: Arc<LastHealth>,
    out_of_step: AtomicBool,
    last_error: Mutex<Option<String>>,
    library: OnceLock<Arc<Library>>,
    inner: Mutex<Inner>,
    bell: Condvar,
    watchdog: Watchdog,
    notice: Arc<Notify>,
}

#[derive(Debug)]
struct Inner {
    condition: Condition,
    since: Instant,
    methods: Option<u64>,
    session: Option<Arc<Served>>,
    create: bool,
    stop: bool,
    thread_ended: bool,
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
        quarantine: QuarantineConfig,
        watchdog: Watchdog,
        notice: Arc<Notify>,
    ) -> Self {
        let outbox = Outbox::new(policy.plugin.clone(), Arc::clone(&notice));
        Self {
            policy,
            blueprint,
            counters: Counters::default(),
            quarantine: Quarantine::new(quarantine),
            outbox: Arc::new(outbox),
            health: Arc::default(),
            out_of_step: AtomicBool::new(false),
            last_error: Mutex::default(),
            inner: Mutex::new(Inner {
                condition: Condition::Loading,
                since: Instant::now(),
                methods: None,
                session: None,
                create: true,
                stop: false,
                thread_ended: false,
            }),
            library: OnceLock::new(),
            bell: Condvar::new(),
            watchdog,
            notice,
        }
    }

    /// Whether the component can serve.
    pub fn condition(&self) -> Condition {
        self.lock().condition.clone()
    }

    /// Since when its condition is what it is.
    pub fn since(&self) -> Instant {
        self.lock().since
    }

    /// The methods that the instance wants, as [`Method::bit`]s, as far as is known.
    pub fn methods(&self) -> u64 {
        let known = self.lock().methods;
        known.unwrap_or_else(|| self.library().map_or(0, |library| library.methods))
    }

    /// What was loaded, once it is.
    pub fn library(&self) -> Option<&Arc<Library>> {
        self.library.get()
    }

    /// Nothing more will come of the component's thread: it has ended, or is in an overdue call
    /// whose session has ended, or has no instance to end yet.
    pub fn has_stopped(&self) -> bool {
        let inner = self.lock();
        match inner.condition {
            // Nothing is lost when the process ends meanwhile.
            Condition::Loading
            | Condition::Constructing
            | Condition::Stopped
            | Condition::KeptOut => true,
            Condition::Away(_) => inner
                .session
                .as_ref()
                .is_none_or(|served| served.session.has_ended()),
            _ => inner.thread_ended,
        }
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
            results_told: AtomicU32::new(0),
            telling: Mutex::default(),
            key: self.watchdog.key(),
            watchdog: self.watchdog.clone(),
        });
        self.watchdog.watch(self, &served)?;
        let mut inner = self.lock();
        inner.session = Some(Arc::clone(&served));
        if !matches!(inner.condition, Condition::Ready) {
            served.turn.take();
            self.watchdog.serve(&served);
        }
        self.bell.notify_one();
        Ok(served)
    }

    /// Lets go of a session that has ended, and with it of its descriptors and its buffer as soon as
    /// the component is back from it.
    pub fn unseat_session(&self, served: &Arc<Served>) {
        let mut inner = self.lock();
        inner
            .session
            .take_if(|current| Arc::ptr_eq(current, served));
    }

    /// The component's thread is not started for now.
    pub fn keep_out(&self) {
        self.set(Condition::KeptOut);
    }

    /// Has an instance made, after there was none. `false`: nobody is there to make it any more.
    pub fn create_again(&self) -> bool {
        let mut inner = self.lock();
        if inner.thread_ended {
            return false;
        }
        inner.set(match self.library() {
            Some(_) => Condition::Creating,
            None => Condition::Loading,
        });
        inner.create = true;
        self.bell.notify_one();
        true
    }

    /// Ends the instance after the call under way, if it comes back from it.
    pub fn stop(&self) {
        let mut inner = self.lock();
        inner.stop = true;
        if let Some(served) = &inner.session {
            served.session.wind_down("the host is stopping");
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
            if let Condition::Ready = inner.condition
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

    /// The constructors of the library come next.
    pub fn constructing(&self) {
        self.set(Condition::Constructing);
    }

    /// The library is loaded, for good; `create` comes next.
    pub fn loaded(&self, library: Arc<Library>) -> &Arc<Library> {
        let library = self.library.get_or_init(|| library);
        self.set(Condition::Creating);
        library
    }

    /// There is no instance, for this reason. A session that there is stays the watchdog's.
    pub fn not_created(&self, why: NotCreated) {
        self.set(Condition::NotCreated(why));
    }

    /// The instance was destroyed for good.
    pub fn stopped(&self) {
        self.set(Condition::Stopped);
    }

    /// The component's thread has come to an end that it should not have. From now on the watchdog
    /// serves the session.
    pub fn thread_failed(&self, why: NotCreated) {
        let mut inner = self.lock();
        inner.thread_ended = true;
        inner.set(Condition::NotCreated(why));
        if let Some(served) = &inner.session {
            served.told();
        }
        // A call that is under way is answered at its deadline.
        if let Some(served) = &inner.session
            && lock(&served.in_flight).is_none()
        {
            served.turn.take();
            self.stand_in(served);
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The component will be created again: the watchdog takes its session, if it has not yet.
    pub fn leave(&self) {
        let mut inner = self.lock();
        let was_away = matches!(inner.condition, Condition::Away(_));
        inner.set(Condition::Away(Absence::Creation));
        if !was_away && let Some(served) = &inner.session {
            served.turn.take();
            self.stand_in(served);
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The component is there, and takes its session back. `methods`: those that it wants.
    pub fn arrive(&self, methods: u64) {
        let mut inner = self.lock();
        inner.methods = Some(methods);
        inner.set(Condition::Ready);
        if let Some(served) = &inner.session
            && served.turn.is_taken()
        {
            self.watchdog.unserve(served);
            served.turn.give_back();
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The thread is to end the instance.
    pub fn is_stopping(&self) -> bool {
        self.lock().stop
    }

    /// No other session has come after this one.
    pub fn is_current(&self, served: &Arc<Served>) -> bool {
        self.lock()
            .session
            .as_ref()
            .is_none_or(|current| Arc::ptr_eq(current, served))
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
        // Before the answer: with it, a session may become active.
        let was_missed = outcome.is_missed();
        let news = match (call.method, &outcome) {
            (Method::Synchronize, outcome) => {
                let failed = !matches!(outcome, Outcome::Reply(_));
                self.out_of_step.store(failed, Ordering::Relaxed);
                was_missed
            }
            _ => was_missed && !self.out_of_step.swap(true, Ordering::Relaxed),
        };
        let trouble = Trouble::of(&outcome);
        let answer = self.policy.answer(call, outcome);
        let ignored = matches!(answer, Answer::Payload(_));
        served.session.answer(call, answer, patience);
        if let Some(trouble) = trouble {
            let subject = Subject::of(call);
            self.note(call.method.name(), &subject, trouble, ignored);
        }
        if news {
            self.notice.notify_one();
        }
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
            .take()
            .filter(|call| call.number == number);
        if let Condition::Ready = inner.condition {
            let absence = match &call {
                Some(call) => Absence::Call(call.method),
                None => Absence::UpdateResult,
            };
            inner.set(Condition::Away(absence));
        }
        match call {
            Some(call) => {
                let late = Outcome::Failed(Failure::Late);
                self.conclude(served, &call, late, Patience::Never);
            }
            None => {
                served.told();
                self.result_is_late();
            }
        }
        self.stand_in(served);
        // The component may be in a call of a session that the host has ended since.
        if let Some(current) = &inner.session
            && !std::ptr::eq(&raw const **current, served)
        {
            current.turn.take();
            self.stand_in(current);
        }
        drop(inner);
        self.notice.notify_one();
    }

    /// The session's socket is readable: answers what comes, for the component that is away.
    pub fn socket_ready(&self, served: &Served) {
        let _hands = self.lock();
        self.answer_all(served);
    }

    /// From now on the watchdog serves the session, what was read before included.
    fn stand_in(&self, served: &Served) {
        self.watchdog.serve(served);
        self.answer_all(served);
    }

    fn answer_all(&self, served: &Served) {
        while served.turn.is_taken() {
            match served.session.next(Patience::Never) {
                Ok(Some(Incoming::Call(call))) => {
                    let why = match self.quarantine.is_active() {
                        true => Failure::Quarantined,
                        false => Failure::Away,
                    };
                    self.conclude(served, &call, Outcome::Failed(why), Patience::Never);
                }
                Ok(Some(Incoming::UpdateAnswer { number, answer })) => {
                    self.outbox.answered(served.key, number, answer);
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
        self.lock().set(condition);
        self.notice.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Inner {
    fn set(&mut self, condition: Condition) {
        self.condition = condition;
        self.since = Instant::now();
    }
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
        self.arm(call.number, deadline_ns);
    }

    fn arm(&self, number: u32, deadline_ns: u64) {
        self.turn.begin(number, deadline_ns);
        let at = Expiration::OneShot(clock::time_spec(deadline_ns));
        if let Err(errno) = self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME) {
            tracing::error!(%errno, "a call cannot be timed");
        }
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

mod trouble;

#[cfg(test)]
mod tests;
