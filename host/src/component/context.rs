//! The host's functions as a component sees them: one table for each instance.
//!
//! A context is never freed, so a thread that a component forgot can call it for ever; it learns
//! that its instance is dead. Each panic costs one, of some hundred bytes: quarantine keeps them few.
//! Every function checks what it is given, takes short locks only, and never calls back.
#![expect(
    unsafe_code,
    reason = "these functions are called by components with raw pointers"
)]

mod health;
mod runtime;

use std::ffi::c_void;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use nri_plugin_api::abi::{
    ABI_MAJOR, ABI_MINOR, CONFIG_ERROR_ID, ConfigErrorInterface, HEALTH_ID, HostTable, RUNTIME_ID,
    Status, log_level,
};

use super::health::LastHealth;
use super::outbox::{Full, Outbox};
use super::policy::cut;
use super::seat::Served;
use crate::lock::lock;
use crate::runtime::ttrpc::MAX_BODY;
use crate::runtime::update::normal_form;

/// Largest reply in bytes: what fits a message together with its envelope.
pub const MAX_REPLY: usize = MAX_BODY - 1024;
/// Longest log line of a component in bytes; the rest of it is cut off.
const MAX_LOG_LINE: usize = 8 << 10;
/// Log lines that a component may write within [`LOG_WINDOW`].
const MAX_LOG_LINES: u32 = 200;
/// See [`MAX_LOG_LINES`].
const LOG_WINDOW: Duration = Duration::from_secs(1);
/// Most mistakes that are kept of one `create`.
const MAX_CONFIG_ERRORS: usize = 100;
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

/// One mistake in `[component.config]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Path of the key.
    pub key: String,
    /// What is wrong.
    pub message: String,
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

#[derive(Debug)]
struct LogBudget {
    since: Instant,
    lines: u32,
    dropped: u64,
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
                log: Some(log),
                reply: Some(reply),
                update_containers: Some(update_containers),
                get_interface: Some(get_interface),
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
            log: Mutex::new(LogBudget {
                since: Instant::now(),
                lines: 0,
                dropped: 0,
            }),
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

    /// The mistakes in the configuration that `create` reported, which has returned.
    pub fn take_config_errors(&self) -> Vec<ConfigError> {
        let mut state = lock(&self.state);
        state.creating = false;
        std::mem::take(&mut state.config_errors)
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

    fn take_log(&self, level: u32, line: &str) {
        {
            let mut budget = lock(&self.log);
            if budget.since.elapsed() >= LOG_WINDOW {
                let dropped = std::mem::take(&mut budget.dropped);
                budget.since = Instant::now();
                budget.lines = 0;
                if dropped > 0 {
                    tracing::warn!(component = self.name, dropped, "log lines were left out");
                }
            }
            budget.lines += 1;
            if budget.lines > MAX_LOG_LINES {
                budget.dropped += 1;
                return;
            }
        }
        let component = self.name.as_str();
        let line = &line[..line.floor_char_boundary(MAX_LOG_LINE)];
        match level {
            log_level::ERROR => tracing::error!(target: "component", component, "{line}"),
            log_level::WARN => tracing::warn!(target: "component", component, "{line}"),
            log_level::DEBUG => tracing::debug!(target: "component", component, "{line}"),
            log_level::TRACE => tracing::trace!(target: "component", component, "{line}"),
            // Levels that are not known are treated as the generic one.
            _ => tracing::info!(target: "component", component, "{line}"),
        }
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
}

impl Context {
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

/// The context behind `ctx`, as a component passed it.
///
/// # Safety
///
/// `ctx` is null or was given out by [`Context::leak`].
unsafe fn context<'a>(ctx: *mut c_void) -> Option<&'a Context> {
    // SAFETY: contexts are never freed and are only ever shared, see `Context::leak`; null is
    // turned into None.
    unsafe { ctx.cast::<Context>().as_ref() }
}

/// The bytes that a component passed; `None` for null with a length, or a length that no object
/// has.
///
/// # Safety
///
/// A non-null `data` leads to `len` readable bytes that do not change while `'a` lasts.
pub(super) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Option<&'a [u8]> {
    if len == 0 {
        return Some(&[]);
    }
    if data.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: not null, a possible length, and readable by the caller's promise.
    Some(unsafe { std::slice::from_raw_parts(data, len) })
}

unsafe extern "C" fn log(ctx: *mut c_void, level: u32, message: *const u8, len: usize) {
    // SAFETY: the header binds the component to pass the ctx of its table and a readable message.
    let (context, message) = unsafe { (context(ctx), bytes(message, len)) };
    if let (Some(context), Some(message)) = (context, message) {
        context.take_log(level, &String::from_utf8_lossy(message));
    }
}

unsafe extern "C" fn reply(
    ctx: *mut c_void,
    token: u64,
    status: Status,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the header binds the component to pass the ctx of its table and readable data.
    let (context, data) = unsafe { (context(ctx), bytes(data, len)) };
    context.map_or(Status::FAILED, |context| context.take(token, status, data))
}

unsafe extern "C" fn update_containers(
    ctx: *mut c_void,
    cookie: u64,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the header binds the component to pass the ctx of its table and readable data.
    let (context, data) = unsafe { (context(ctx), bytes(data, len)) };
    context.map_or(Status::FAILED, |context| context.take_update(cookie, data))
}

unsafe extern "C" fn get_interface(_ctx: *mut c_void, id: *const u8, len: usize) -> *const c_void {
    // SAFETY: the header binds the component to pass a readable id.
    match unsafe { bytes(id, len) } {
        Some(id) if id == CONFIG_ERROR_ID.as_bytes() => (&raw const CONFIG_ERROR).cast(),
        Some(id) if id == HEALTH_ID.as_bytes() => (&raw const health::HEALTH).cast(),
        Some(id) if id == RUNTIME_ID.as_bytes() => (&raw const runtime::INTERFACE).cast(),
        _ => std::ptr::null(),
    }
}

static CONFIG_ERROR: ConfigErrorInterface = ConfigErrorInterface {
    struct_size: 16,
    reserved: 0,
    report: Some(report_config_error),
};

unsafe extern "C" fn report_config_error(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    message: *const u8,
    message_len: usize,
) {
    // SAFETY: the header binds the component to pass the ctx of its table and readable strings.
    let (context, key, message) = unsafe {
        (
            context(ctx),
            bytes(key, key_len),
            bytes(message, message_len),
        )
    };
    if let (Some(context), Some(key), Some(message)) = (context, key, message) {
        let mut state = lock(&context.state);
        if state.creating && state.config_errors.len() < MAX_CONFIG_ERRORS {
            state.config_errors.push(ConfigError {
                key: cut(&String::from_utf8_lossy(key)).to_owned(),
                message: cut(&String::from_utf8_lossy(message)).to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
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
