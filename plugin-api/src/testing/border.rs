//! The host's side of the border, for one instance in a test.
#![expect(
    unsafe_code,
    reason = "the border is made of raw pointers and foreign functions"
)]

use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{CreateFailure, LogLevel, LogLine};
use crate::abi::{
    self, CONFIG_ERROR_ID, ConfigErrorInterface, CreateArgs, Descriptor, HEALTH_ID,
    HealthInterface, HealthReport, HostTable, METHODS_ID, Method, MethodsInterface, RUNTIME_ID,
    Request, RuntimeInterface, Status, UPDATE_RESULT_ID, UpdateResultInterface, struct_size,
};
use crate::runtime::Runtime;
use crate::{ConfigMistake, Health, HealthProblem};

/// The largest answer that a host takes, in bytes.
const MAX_REPLY: usize = (4 << 20) - (1 << 10);

/// The token of texts that belong to no request.
const NO_REQUEST: u64 = 0;

/// The token of the request that is under way.
const TOKEN: u64 = 7;

/// What an instance did.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) logs: Vec<LogLine>,
    /// Cookies and requests.
    pub(super) updates: Vec<(u64, Vec<u8>)>,
    pub(super) mistakes: Vec<ConfigMistake>,
    pub(super) health: Option<Health>,
    /// Tokens that can be replied to.
    waiting: Option<u64>,
    pub(super) reply: Option<(Status, Vec<u8>)>,
    /// The runtime that the host knows.
    pub(super) runtime: Option<Runtime>,
}

/// Where the functions of the table find what they need. Never freed, as the header promises.
#[derive(Debug, Default)]
struct Context {
    recorded: Mutex<Recorded>,
}

impl Context {
    /// A component's panic while the lock is held leaves nothing half done.
    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An instance, made through its descriptor.
#[derive(Debug)]
pub(super) struct Instance {
    descriptor: Descriptor,
    context: &'static Context,
    /// The instance keeps a pointer to it.
    _table: Box<HostTable>,
    instance: *mut c_void,
}

/// Who the instance is told to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub(super) name: &'a str,
    pub(super) index: u32,
    pub(super) log_level: u32,
    pub(super) flags: u32,
}

impl Instance {
    /// Calls `create`.
    pub(super) fn create(
        descriptor: Descriptor,
        identity: Identity<'_>,
        config: &str,
    ) -> Result<Self, CreateFailure> {
        let context: &'static Context = Box::leak(Box::default());
        let table = Box::new(table(context));
        let args = CreateArgs {
            struct_size: struct_size::<CreateArgs>(),
            index: identity.index,
            name: identity.name.as_ptr(),
            name_len: identity.name.len(),
            config: config.as_ptr(),
            config_len: config.len(),
            log_level: identity.log_level,
            flags: identity.flags,
        };
        let create = descriptor.create.expect("the SDK fills in every function");
        let mut instance = std::ptr::null_mut();
        context.recorded().waiting = Some(NO_REQUEST);
        // SAFETY: table, arguments and the place for the instance are valid for the call; the table
        // stays until `destroy`.
        let status = unsafe { create(&raw const *table, &raw const args, &raw mut instance) };
        if status != Status::OK {
            return Err(CreateFailure::new(
                status,
                std::mem::take(&mut *context.recorded()),
            ));
        }
        Ok(Self {
            descriptor,
            context,
            _table: table,
            instance,
        })
    }

    /// What the instance did so far.
    pub(super) fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.context.recorded()
    }

    /// Calls `handle`: its status, and what it replied before it returned.
    pub(super) fn handle(
        &mut self,
        method: u32,
        name: &str,
        payload: &[u8],
    ) -> (Status, Option<(Status, Vec<u8>)>) {
        let request = Request {
            struct_size: struct_size::<Request>(),
            method,
            token: TOKEN,
            deadline_ns: u64::MAX,
            method_name: name.as_ptr(),
            method_name_len: name.len(),
            payload: payload.as_ptr(),
            payload_len: payload.len(),
        };
        let handle = self
            .descriptor
            .handle
            .expect("the SDK fills in every function");
        self.expect(TOKEN);
        // SAFETY: the instance is alive, the request valid for the call, and `&mut self` lets no
        // other call happen.
        let status = unsafe { handle(self.instance, &raw const request) };
        (status, self.take_reply())
    }

    /// Tells the instance what came of an update: its status, and the text that it left.
    pub(super) fn tell_update_result(
        &mut self,
        cookie: u64,
        status: Status,
        data: &[u8],
    ) -> (Status, Option<(Status, Vec<u8>)>) {
        let interface = self
            .interface(UPDATE_RESULT_ID)
            .cast::<UpdateResultInterface>();
        // SAFETY: it is the interface with this id, and it lives as long as the component's code.
        let on_result = unsafe { (*interface).on_result }.expect("the SDK fills in every function");
        self.expect(NO_REQUEST);
        // SAFETY: as for `handle`; the bytes are valid for the call.
        let status = unsafe { on_result(self.instance, cookie, status, data.as_ptr(), data.len()) };
        (status, self.take_reply())
    }

    /// The methods that the instance wants.
    pub(super) fn methods(&mut self) -> u64 {
        let interface = self.interface(METHODS_ID).cast::<MethodsInterface>();
        // SAFETY: it is the interface with this id, and it lives as long as the component's code.
        let methods = unsafe { (*interface).methods }.expect("the SDK fills in every function");
        // SAFETY: the instance is alive, and `&mut self` lets no other call happen.
        unsafe { methods(self.instance) }
    }

    /// An interface that the SDK has; never null.
    fn interface(&self, id: &str) -> *const c_void {
        let get_interface = self
            .descriptor
            .get_interface
            .expect("the SDK fills in every function");
        // SAFETY: the id is a slice that outlives the call.
        let interface = unsafe { get_interface(id.as_ptr(), id.len()) };
        assert!(!interface.is_null(), "the SDK has {id}");
        interface
    }

    /// From now on a reply to this token is taken.
    fn expect(&self, token: u64) {
        let mut recorded = self.recorded();
        recorded.waiting = Some(token);
        recorded.reply = None;
    }

    fn take_reply(&self) -> Option<(Status, Vec<u8>)> {
        let mut recorded = self.recorded();
        recorded.waiting = None;
        recorded.reply.take()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let destroy = self
            .descriptor
            .destroy
            .expect("the SDK fills in every function");
        // SAFETY: the instance is alive, and nobody calls it after this.
        unsafe { destroy(self.instance) }
    }
}

fn table(context: &'static Context) -> HostTable {
    HostTable {
        struct_size: struct_size::<HostTable>(),
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        ctx: std::ptr::from_ref(context).cast_mut().cast(),
        log: Some(log),
        reply: Some(reply),
        update_containers: Some(update_containers),
        get_interface: Some(get_interface),
    }
}

/// # Safety
///
/// `ctx` comes from [`table`].
unsafe fn recorded<'a>(ctx: *mut c_void) -> MutexGuard<'a, Recorded> {
    // SAFETY: the caller vouches for it; contexts are never freed.
    unsafe { &*ctx.cast::<Context>() }.recorded()
}

/// # Safety
///
/// `data` points to `len` bytes, or `len` is 0.
unsafe fn copy(data: *const u8, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: as the caller vouches.
    unsafe { slice::from_raw_parts(data, len) }.to_vec()
}

/// # Safety
///
/// As for [`copy`].
pub(super) unsafe fn copy_text(data: *const u8, len: usize) -> String {
    // SAFETY: as the caller vouches.
    String::from_utf8_lossy(&unsafe { copy(data, len) }).into_owned()
}

unsafe extern "C" fn log(ctx: *mut c_void, level: u32, text: *const u8, len: usize) {
    // SAFETY: the component hands over its context and a text.
    let (mut recorded, message) = unsafe { (recorded(ctx), copy_text(text, len)) };
    recorded.logs.push(LogLine {
        level: LogLevel::from_number(level),
        message,
    });
}

unsafe extern "C" fn reply(
    ctx: *mut c_void,
    token: u64,
    status: Status,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the component hands over its context.
    let mut recorded = unsafe { recorded(ctx) };
    if recorded
        .waiting
        .take_if(|waiting| *waiting == token)
        .is_none()
    {
        return Status::STALE;
    }
    if len > MAX_REPLY || (data.is_null() && len > 0) {
        return Status::FAILED;
    }
    // SAFETY: the component hands over `len` bytes.
    recorded.reply = Some((status, unsafe { copy(data, len) }));
    Status::OK
}

unsafe extern "C" fn update_containers(
    ctx: *mut c_void,
    cookie: u64,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the component hands over its context and `len` bytes.
    let (mut recorded, request) = unsafe { (recorded(ctx), copy(data, len)) };
    recorded.updates.push((cookie, request));
    Status::OK
}

unsafe extern "C" fn get_interface(_: *mut c_void, id: *const u8, len: usize) -> *const c_void {
    const CONFIG_ERROR: &ConfigErrorInterface = &ConfigErrorInterface {
        struct_size: struct_size::<ConfigErrorInterface>(),
        reserved: 0,
        report: Some(report),
    };
    const HEALTH: &HealthInterface = &HealthInterface {
        struct_size: struct_size::<HealthInterface>(),
        reserved: 0,
        report: Some(report_health),
    };
    const RUNTIME: &RuntimeInterface = &RuntimeInterface {
        struct_size: struct_size::<RuntimeInterface>(),
        reserved: 0,
        describe: Some(describe),
    };
    // SAFETY: the component hands over a text.
    match unsafe { copy_text(id, len) }.as_str() {
        CONFIG_ERROR_ID => std::ptr::from_ref(CONFIG_ERROR).cast(),
        HEALTH_ID => std::ptr::from_ref(HEALTH).cast(),
        RUNTIME_ID => std::ptr::from_ref(RUNTIME).cast(),
        _ => std::ptr::null(),
    }
}

unsafe extern "C" fn report_health(ctx: *mut c_void, report: *const HealthReport) -> Status {
    // SAFETY: the SDK hands over a report of this version, and problems with it.
    let (report, problems) = unsafe {
        let report = &*report;
        let problems = slice::from_raw_parts(report.problems, report.problems_count);
        (report, problems)
    };
    let problems = problems.iter().map(|problem| {
        // SAFETY: the SDK hands over two texts.
        let (message, file) = unsafe {
            (
                copy_text(problem.message, problem.message_len),
                copy_text(problem.file, problem.file_len),
            )
        };
        HealthProblem {
            message,
            file: Some(file).filter(|file| !file.is_empty()),
            line: Some(problem.line).filter(|line| *line > 0),
        }
    });
    let health = Health {
        // SAFETY: as above.
        summary: unsafe { copy_text(report.summary, report.summary_len) },
        problems: problems.collect(),
    };
    // SAFETY: the component hands over its context.
    unsafe { recorded(ctx) }.health = Some(health);
    Status::OK
}

unsafe extern "C" fn describe(ctx: *mut c_void, buffer: *mut u8, capacity: usize) -> usize {
    // SAFETY: the component hands over its context.
    let Some(runtime) = unsafe { recorded(ctx) }.runtime.clone() else {
        return 0;
    };
    let json = serde_json::to_vec(&runtime).expect("texts can be written as JSON");
    if json.len() <= capacity {
        // SAFETY: the component hands over a buffer of this capacity.
        unsafe { buffer.copy_from_nonoverlapping(json.as_ptr(), json.len()) };
    }
    json.len()
}

unsafe extern "C" fn report(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    message: *const u8,
    message_len: usize,
) {
    // SAFETY: the component hands over its context and two texts.
    let mistake = unsafe {
        ConfigMistake {
            key: copy_text(key, key_len),
            message: copy_text(message, message_len),
        }
    };
    // SAFETY: as above.
    unsafe { recorded(ctx) }.mistakes.push(mistake);
}

/// The name of a method with this number, for requests that are made by number.
pub(super) fn method_name(number: u32) -> &'static str {
    Method::from_number(number).map_or("", Method::name)
}

/// The id and version of a descriptor.
pub(super) fn texts(descriptor: &Descriptor) -> (&'static str, &'static str) {
    let text = |text: *const c_char| {
        // SAFETY: the descriptor of the SDK points to constants that end with NUL.
        unsafe { std::ffi::CStr::from_ptr(text) }
            .to_str()
            .expect("the SDK writes UTF-8")
    };
    (text(descriptor.id), text(descriptor.version))
}
