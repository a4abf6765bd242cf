//! What the component's thread, the watchdog and the supervisor share of one component.
//!
//! The seat knows whether the component is there, and which session it has. While the component is
//! away (in an overdue call, or being created again), the watchdog serves the session by
//! [`Policy`]. Changes of hands happen under the seat's lock, which calls do not take while the
//! component is there.

mod conclude;
mod results;
mod served;
mod stand_in;
mod trouble;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use nri_plugin_api::abi::Method;
use tokio::sync::Notify;

use super::border::{Blueprint, NotCreated};
use super::counters::Counters;
use super::health::LastHealth;
use super::inspect::Digest;
use super::last_errors::LastErrors;
use super::load::Library;
use super::outbox::Outbox;
use super::policy::Policy;
use super::quarantine::Quarantine;
use super::watchdog::Watchdog;
use crate::config::QuarantineConfig;
use crate::lock::lock;
use crate::runtime::session::Session;
pub use served::Served;

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

/// See the module.
#[derive(Debug)]
pub struct Seat {
    /// `INDEX-NAME`, as the runtime and the log know it.
    pub plugin: String,
    /// What the instance is made of.
    pub blueprint: Blueprint,
    /// What is counted, also of the instances before.
    pub counters: Arc<Counters>,
    /// Whether it is called at all.
    pub quarantine: Quarantine,
    /// Its updates outside requests.
    pub outbox: Arc<Outbox>,
    /// What the instance says of itself.
    pub health: Arc<LastHealth>,
    /// Its last failures.
    pub last_errors: LastErrors,
    policy: Mutex<Arc<Policy>>,
    out_of_step: AtomicBool,
    inspected: Mutex<Option<Digest>>,
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
            plugin: policy.plugin.clone(),
            blueprint,
            counters: Arc::default(),
            quarantine: Quarantine::new(quarantine),
            outbox: Arc::new(outbox),
            health: Arc::default(),
            last_errors: LastErrors::default(),
            policy: Mutex::new(Arc::new(policy)),
            out_of_step: AtomicBool::new(false),
            inner: Mutex::new(Inner {
                condition: Condition::Loading,
                since: Instant::now(),
                methods: None,
                session: None,
                create: true,
                stop: false,
                thread_ended: false,
            }),
            inspected: Mutex::default(),
            library: OnceLock::new(),
            bell: Condvar::new(),
            watchdog,
            notice,
        }
    }

    /// Goes on counting where the seat before this one stopped.
    #[must_use]
    pub fn counting_on(mut self, before: &Self) -> Self {
        let outbox = Outbox::new(self.plugin.clone(), Arc::clone(&self.notice));
        self.outbox = Arc::new(outbox.counting_on(&before.outbox));
        self.counters = Arc::clone(&before.counters);
        self
    }

    /// The instance is made from this library, which is loaded already.
    #[must_use]
    pub fn made_from(self, library: Arc<Library>) -> Self {
        self.loaded(library);
        self
    }

    /// How outcomes become answers.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&lock(&self.policy))
    }

    /// From now on they become answers like this.
    pub fn set_policy(&self, policy: Policy) {
        *lock(&self.policy) = Arc::new(policy);
    }

    /// From now on nothing is failed in these namespaces.
    pub fn set_fail_exempt_namespaces(&self, fail_exempt_namespaces: Vec<String>) {
        let mut policy = lock(&self.policy);
        *policy = Arc::new(Policy {
            fail_exempt_namespaces,
            ..Policy::clone(&policy)
        });
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

    /// The content of the file that was read last to be loaded.
    pub fn inspected(&self) -> Option<Digest> {
        *lock(&self.inspected)
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

    /// The component's thread has come to its end, or was never started.
    pub fn has_ended(&self) -> bool {
        let inner = self.lock();
        inner.thread_ended || matches!(inner.condition, Condition::Stopped | Condition::KeptOut)
    }

    /// The component missed a call, or its Synchronize failed: what it knows may be wrong.
    pub fn out_of_step(&self) -> bool {
        self.out_of_step.load(Ordering::Relaxed)
    }

    // ---- the supervisor's part

    /// Hands over a session. The one before must have ended.
    ///
    /// # Errors
    ///
    /// When the system has no timer left; the session is ended then.
    pub fn seat_session(self: &Arc<Self>, session: Session) -> io::Result<Arc<Served>> {
        let served = Arc::new(Served::new(session, self.watchdog.clone())?);
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

    /// Ends the session and the instance after the call under way; the instance, if it comes back
    /// from that.
    pub fn stop(&self, why: &'static str) {
        let mut inner = self.lock();
        inner.stop = true;
        if let Some(served) = &inner.session {
            served.session.wind_down(why);
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

    /// The file was read, and is to be loaded.
    pub fn has_inspected(&self, library: Digest) {
        *lock(&self.inspected) = Some(library);
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

#[cfg(test)]
mod tests;
