//! The host's functions as a component sees them: one table for each instance.
//!
//! A context is never freed, so a thread that a component forgot can call it for ever; it learns
//! that its instance is dead. Each panic costs one, of some hundred bytes: quarantine keeps them few.
//! Every function checks what it is given, takes short locks only, and never calls back.
#![expect(
    unsafe_code,
    reason = "these functions are called by components with raw pointers"
)]

mod config_error;
mod functions;
mod health;
mod log;
mod runtime;

use std::sync::{Arc, Mutex, Weak};

use nri_plugin_api::abi::{ABI_MAJOR, ABI_MINOR, HostTable, Status, log_level};

use super::health::LastHealth;
use super::outbox::{Full, Outbox};
use super::seat::Served;
use crate::lock::lock;
use crate::runtime::ttrpc::MAX_BODY;
use crate::runtime::update::normal_form;
pub use config_error::ConfigError;
pub(super) use functions::bytes;
use log::LogBudget;

/// Largest reply in bytes: what fits a message together with its envelope.
pub const MAX_REPLY: usize = MAX_BODY - 1024;
/// The token of texts that belong to no request, but to `create` or `on_result`.
const NO_REQUEST: u64 = 0;

/// What an instance replied to one request.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: Status,
    /// The message, or the text of an error.
    pub data: Vec<u8>,
}

/// What came of waiting for a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Replied {
    /// There is none.
    No,
    /// There is one.
    Yes(Reply),
    /// There was one that cannot be used.
    Bad(&'static str),
}

/// The host's side of one instance.
#[derive(Debug)]
pub struct Context {
    table: HostTable,
    name: String,
    state: Mutex<State>,
    log: Mutex<LogBudget>,
    outbox: Arc<Outbox>,
    health: Arc<LastHealth>,
    served: Mutex<Weak<Served>>,
}

// SAFETY: the only pointer in it, `table.ctx`, leads to the context itself, which is never freed
// and whose changing parts are behind mutexes.
unsafe impl Sync for Context {}

#[derive(Debug)]
struct State {
    last_token: u64,
    waiting: Option<u64>,
    replied: Replied,
    creating: bool,
    config_errors: Vec<ConfigError>,
    dead: bool,
}

impl State {
    fn expect(&mut self, token: u64) {
        self.waiting = Some(token);
        self.replied = Replied::No;
    }
}

impl Context {
    /// A context that lives as long as the process. `name` is what its log lines go under, `outbox`
    /// takes its updates, `health` what it says of itself.
    pub fn leak(name: &str, outbox: Arc<Outbox>, health: Arc<LastHealth>) -> &'static Self {
        let context = Box::into_raw(Box::new(Self {
            table: HostTable {
                struct_size: u32::try_from(size_of::<HostTable>()).expect("48 bytes"),
                abi_major: ABI_MAJOR,
                abi_minor: ABI_MINOR,
                ctx: std::ptr::null_mut(),
                log: Some(functions::log),
                reply: Some(functions::reply),
                update_containers: Some(functions::update_containers),
                get_interface: Some(functions::get_interface),
            },
            name: name.to_owned(),
            state: Mutex::new(State {
                last_token: NO_REQUEST,
                waiting: None,
                replied: Replied::No,
                creating: false,
                config_errors: Vec::new(),
                dead: false,
            }),
            log: Mutex::new(LogBudget::new()),
            outbox,
            health,
            served: Mutex::default(),
        }));
        // SAFETY: just allocated, never freed, and nobody else knows it yet; from here on it is only
        // shared.
        unsafe {
            (*context).table.ctx = context.cast();
            &*context
        }
    }

    /// What is handed to `create`.
    pub fn table(&'static self) -> *const HostTable {
        &raw const self.table
    }

    /// From now on a reply to the returned token is taken. No token is ever given twice.
    pub fn expect(&self) -> u64 {
        let mut state = lock(&self.state);
        state.last_token += 1;
        let token = state.last_token;
        state.expect(token);
        token
    }

    /// What was replied. Later replies are stale.
    pub fn take_reply(&self) -> Replied {
        let mut state = lock(&self.state);
        state.waiting = None;
        std::mem::replace(&mut state.replied, Replied::No)
    }

    /// `create` is about to be called: the text of an error and mistakes in the configuration are
    /// taken. A context whose `create` failed before can be used again.
    pub fn expect_create(&self) {
        let mut state = lock(&self.state);
        state.dead = false;
        state.creating = true;
        state.config_errors = Vec::new();
        state.expect(NO_REQUEST);
    }

    /// From now on the instance serves this session.
    pub fn serves(&self, served: &Arc<Served>) {
        *lock(&self.served) = Arc::downgrade(served);
    }

    /// `on_result` is about to be called: the text of an error is taken.
    pub fn expect_text(&self) {
        lock(&self.state).expect(NO_REQUEST);
    }

    /// The instance was destroyed. What it asked for and was not sent is dropped, and what it said of
    /// itself is forgotten.
    pub fn bury(&self) {
        let mut state = lock(&self.state);
        state.dead = true;
        self.outbox.clear();
        self.health.clear();
    }

    fn take(&self, token: u64, status: Status, data: Option<&[u8]>) -> Status {
        let mut state = lock(&self.state);
        if state.dead {
            return Status::DEAD;
        }
        if state.waiting != Some(token) {
            return Status::STALE;
        }
        // Taken or refused, there is one reply to a request.
        state.waiting = None;
        let bad = match data {
            None => "null with a length",
            Some(data) if data.len() > MAX_REPLY => "more than 4 MiB less 1 KiB",
            Some(data) => {
                state.replied = Replied::Yes(Reply {
                    status,
                    data: data.to_vec(),
                });
                return Status::OK;
            }
        };
        state.replied = Replied::Bad(bad);
        Status::FAILED
    }

    fn take_update(&self, cookie: u64, request: Option<&[u8]>) -> Status {
        let Some(request) = request else {
            return Status::FAILED;
        };
        let request = match normal_form(request) {
            Ok(request) => request,
            Err(unfit) => {
                let unfit = crate::chain(&unfit);
                self.take_log(log_level::WARN, &format!("update refused: {unfit}"));
                return Status::FAILED;
            }
        };
        // Held while it is queued: an instance that is buried leaves nothing behind.
        let state = lock(&self.state);
        if state.dead {
            return Status::DEAD;
        }
        match self.outbox.push(cookie, request) {
            Ok(()) => Status::OK,
            Err(Full) => Status::TRY_LATER,
        }
    }
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::abi::{CONFIG_ERROR_ID, ConfigErrorInterface};

    use super::*;

    pub(super) fn context() -> &'static Context {
        let outbox = Outbox::new("10-test".into(), Arc::default());
        Context::leak("test", Arc::new(outbox), Arc::default())
    }

    fn send(context: &'static Context, token: u64, data: *const u8, len: usize) -> Status {
        let table = context.table();
        // SAFETY: the table lives for ever; `data` is null or leads to `len` bytes in each test.
        unsafe { ((*table).reply.unwrap())((*table).ctx, token, Status::OK, data, len) }
    }

    #[test]
    fn exactly_one_reply_is_taken_for_a_request() {
        let context = context();
        let token = context.expect();
        assert_eq!(send(context, token + 1, b"x".as_ptr(), 1), Status::STALE);
        assert_eq!(send(context, token, b"one".as_ptr(), 3), Status::OK);
        assert_eq!(send(context, token, b"two".as_ptr(), 3), Status::STALE);
        let taken = context.take_reply();
        let data = b"one".to_vec();
        assert_eq!(
            taken,
            Replied::Yes(Reply {
                status: Status::OK,
                data
            })
        );
        assert_eq!(send(context, token, b"late".as_ptr(), 4), Status::STALE);
        assert_ne!(context.expect(), token);
    }

    #[test]
    fn bad_bytes_are_refused_and_known_as_such() {
        let context = context();
        let token = context.expect();
        assert_eq!(send(context, token, std::ptr::null(), 5), Status::FAILED);
        assert!(matches!(context.take_reply(), Replied::Bad(_)));
        let token = context.expect();
        let large = vec![0; MAX_REPLY + 1];
        assert_eq!(
            send(context, token, large.as_ptr(), large.len()),
            Status::FAILED
        );
        assert!(matches!(context.take_reply(), Replied::Bad(_)));
        let token = context.expect();
        assert_eq!(send(context, token, std::ptr::null(), 0), Status::OK);
    }

    #[test]
    fn a_buried_context_answers_that_it_is_dead_until_the_next_create() {
        let context = context();
        let token = context.expect();
        context.bury();
        assert_eq!(send(context, token, b"x".as_ptr(), 1), Status::DEAD);
        context.expect_create();
        assert_eq!(send(context, 0, b"x".as_ptr(), 1), Status::OK);
    }

    #[test]
    fn updates_are_queued_unless_they_cannot_be_read_or_the_instance_is_gone() {
        let context = context();
        let table = context.table();
        let update = |data: *const u8, len| {
            // SAFETY: the table lives for ever; `data` is null or leads to `len` bytes.
            unsafe { ((*table).update_containers.unwrap())((*table).ctx, 7, data, len) }
        };
        // evict { container_id: "c" }
        let eviction = [0x12, 3, 0x0a, 1, b'c'];
        assert_eq!(update(eviction.as_ptr(), eviction.len()), Status::OK);
        assert!(context.outbox.has_queued());
        assert_eq!(
            update(eviction.as_ptr(), eviction.len() - 1),
            Status::FAILED
        );
        assert_eq!(update(std::ptr::null(), 5), Status::FAILED);
        let no_container = [0x12, 0];
        assert_eq!(update(no_container.as_ptr(), 2), Status::FAILED);
        assert_eq!(context.outbox.counts().queued, 1);
        context.bury();
        assert_eq!(update(eviction.as_ptr(), eviction.len()), Status::DEAD);
        assert!(!context.outbox.has_queued());
    }

    #[test]
    fn unknown_interfaces_are_null_and_mistakes_in_the_configuration_are_kept() {
        let context = context();
        context.expect_create();
        let table = context.table();
        let find = |id: &str| {
            // SAFETY: the table lives for ever, the id is readable.
            unsafe { ((*table).get_interface.unwrap())((*table).ctx, id.as_ptr(), id.len()) }
        };
        assert!(find("nrih.selftest-unknown/1").is_null());
        let found = find(CONFIG_ERROR_ID).cast::<ConfigErrorInterface>();
        // SAFETY: the interface lives for ever, the strings are readable.
        unsafe {
            ((*found).report.unwrap())((*table).ctx, b"a.b".as_ptr(), 3, b"no".as_ptr(), 2);
        }
        assert_eq!(
            context.take_config_errors(),
            [ConfigError {
                key: "a.b".into(),
                message: "no".into()
            }]
        );
    }
}
