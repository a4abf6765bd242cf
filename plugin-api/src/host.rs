//! What a component can ask of the host.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use protobuf::Message;

use crate::abi::{Status, create_flags};
use crate::adjust::Updates;
use crate::api;
use crate::export::HostFunctions;
use crate::health::Health;
use crate::logging::{self, Attached};
use crate::runtime::Runtime;
use crate::update_result::UpdateId;

/// The host, as one instance sees it. Can be cloned and sent to threads of the component.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    functions: HostFunctions,
    name: String,
    index: u32,
    /// The most talkative level that the host keeps.
    log_level: u32,
    /// See [`create_flags`].
    flags: u32,
    /// Cleared when the instance ends: the host wants no call after that.
    alive: AtomicBool,
    last_update: AtomicU64,
}

/// Why an update was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The host does not offer updates outside a request.
    #[error("this host takes no updates outside a request")]
    Unsupported,
    /// Too many updates wait already, for the runtime or for their result to be told.
    #[error("the host's queue of updates is full")]
    QueueFull,
    /// The host does not take this update: it is larger than 64 KiB.
    #[error("the host refuses the update; its log says why")]
    Refused,
    /// The instance has ended.
    #[error("the instance has ended")]
    Ended,
}

impl Host {
    pub(crate) fn new(
        functions: HostFunctions,
        name: String,
        index: u32,
        log_level: u32,
        flags: u32,
    ) -> Self {
        let (alive, last_update) = (AtomicBool::new(true), AtomicU64::new(0));
        Self {
            inner: Arc::new(Inner {
                functions,
                name,
                index,
                log_level,
                flags,
                alive,
                last_update,
            }),
        }
    }

    /// The name of this instance in the host's configuration.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The index of this instance, 0 to 99: plugins are called in this order.
    pub fn index(&self) -> u32 {
        self.inner.index
    }

    /// Whether the instance is only made to see whether it can be, as by `nri-host check`.
    ///
    /// It is dropped straight after [`Component::create`](crate::Component::create), in a process that
    /// is there for nothing else, and another one of the same name may be serving meanwhile: leave
    /// alone what others would notice, such as a socket that the component listens on.
    pub fn is_trial(&self) -> bool {
        self.inner.flags & create_flags::TRIAL != 0
    }

    /// Lets the calling thread log as this instance until the returned guard is dropped.
    ///
    /// The instance's own thread needs no such call. Events of other threads reach the log without
    /// it only as long as the library has one instance; else nobody knows whose they are.
    ///
    /// ```
    /// # fn start(host: nri_plugin_api::Host) -> std::thread::JoinHandle<()> {
    /// std::thread::spawn(move || {
    ///     let _attached = host.attach();
    ///     tracing::info!("watching");
    /// })
    /// # }
    /// ```
    #[must_use = "the thread is attached until the guard is dropped"]
    pub fn attach(&self) -> Attached {
        logging::attach(self.clone())
    }

    /// Asks the runtime to update containers, outside any request and from any thread.
    ///
    /// This only queues. The host sends the update when the component is active and no request is
    /// under way, one after another, and tells what came of it by
    /// [`Component::update_result`](crate::Component::update_result).
    ///
    /// # Errors
    ///
    /// The host does not take the update, see [`UpdateError`].
    pub fn update_containers(&self, updates: Updates) -> Result<UpdateId, UpdateError> {
        if !self.is_alive() {
            return Err(UpdateError::Ended);
        }
        let (update, evict) = updates.into_messages();
        let request = api::UpdateContainersRequest {
            update,
            evict,
            ..Default::default()
        };
        let bytes = request.write_to_bytes().map_err(|_| UpdateError::Refused)?;
        let cookie = self.inner.last_update.fetch_add(1, Ordering::Relaxed) + 1;
        match self.inner.functions.update_containers(cookie, &bytes) {
            Status::OK => Ok(UpdateId(cookie)),
            Status::UNSUPPORTED => Err(UpdateError::Unsupported),
            Status::TRY_LATER => Err(UpdateError::QueueFull),
            Status::DEAD => Err(UpdateError::Ended),
            _ => Err(UpdateError::Refused),
        }
    }

    /// Says how the instance is, in place of what it said before. `nri-host status` shows it until
    /// the instance ends.
    ///
    /// From any thread. A host that does not show it does not get it.
    pub fn report_health(&self, health: &Health) {
        if self.is_alive() {
            self.inner.functions.report_health(health);
        }
    }

    /// The runtime that the session is with. `None`: the host does not tell, or there was no session
    /// yet. It never changes during a request.
    ///
    /// This asks the host each time, which takes about a microsecond.
    pub fn runtime(&self) -> Option<Runtime> {
        self.is_alive().then(|| self.inner.functions.runtime())?
    }

    pub(crate) fn log_level(&self) -> u32 {
        self.inner.log_level
    }

    pub(crate) fn log(&self, level: u32, message: &str) {
        if level <= self.inner.log_level && self.is_alive() {
            self.inner.functions.log(level, message);
        }
    }

    pub(crate) fn functions(&self) -> &HostFunctions {
        &self.inner.functions
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.inner.alive.load(Ordering::Acquire)
    }

    /// No call reaches the host any more.
    pub(crate) fn end(&self) {
        self.inner.alive.store(false, Ordering::Release);
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("name", &self.inner.name)
            .field("index", &self.inner.index)
            .finish_non_exhaustive()
    }
}
