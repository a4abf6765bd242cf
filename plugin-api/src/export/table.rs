//! The host's functions, as safe ones.

use std::ffi::c_void;
use std::mem::offset_of;

use crate::abi::{
    CONFIG_ERROR_ID, ConfigErrorInterface, HEALTH_ID, HealthInterface, HealthProblem, HealthReport,
    HostTable, RUNTIME_ID, RuntimeInterface, Status, struct_size,
};
use crate::health::Health;
use crate::runtime::Runtime;

/// Reads a field of a struct of the other side, if it ends within the size that its maker wrote.
///
/// The result is an `Option`: `None` is a field that the other side does not have.
macro_rules! read_field {
    ($pointer:expr, $struct_size:expr, $kind:ty, $field:ident) => {{
        let pointer: *const $kind = $pointer;
        let end = offset_of!($kind, $field)
            + $crate::export::table::size_of_field(|s: &$kind| &raw const s.$field);
        if end <= $struct_size as usize {
            // SAFETY: the caller vouches for `pointer` and for the size that it was read from; the
            // field ends within that size.
            Some(unsafe { (&raw const (*pointer).$field).read() })
        } else {
            None
        }
    }};
}
pub(crate) use read_field;

/// The size of the field that a projection leads to.
pub(crate) const fn size_of_field<S, F>(_: fn(&S) -> *const F) -> usize {
    size_of::<F>()
}

/// The functions of the host for one instance, copied from its table.
///
/// The table itself is not looked at again. The context is never freed, and the host's code is
/// never unloaded, so a call that comes too late is still a call of a living function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFunctions {
    ctx: *mut c_void,
    log: LogFn,
    reply: ReplyFn,
    update_containers: Option<UpdateFn>,
    get_interface: Option<InterfaceFn>,
}

type LogFn = unsafe extern "C" fn(*mut c_void, u32, *const u8, usize);
type ReplyFn = unsafe extern "C" fn(*mut c_void, u64, Status, *const u8, usize) -> Status;
type UpdateFn = unsafe extern "C" fn(*mut c_void, u64, *const u8, usize) -> Status;
type InterfaceFn = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> *const c_void;

// SAFETY: every function of the table may be called from any thread with its context (header,
// nrih_host, "thread").
unsafe impl Send for HostFunctions {}
// SAFETY: as above; the functions synchronize among themselves.
unsafe impl Sync for HostFunctions {}

impl HostFunctions {
    /// Copies the table. `None`: it lacks what every host has.
    ///
    /// # Safety
    ///
    /// `table` is null or points to a table as the header describes it, whose functions stay
    /// callable for the life of the process.
    pub(super) unsafe fn read(table: *const HostTable) -> Option<Self> {
        if table.is_null() {
            return None;
        }
        // SAFETY: not null, and every table begins with its size.
        let size = unsafe { (&raw const (*table).struct_size).read() };
        Some(Self {
            ctx: read_field!(table, size, HostTable, ctx)?,
            log: read_field!(table, size, HostTable, log)??,
            reply: read_field!(table, size, HostTable, reply)??,
            update_containers: read_field!(table, size, HostTable, update_containers).flatten(),
            get_interface: read_field!(table, size, HostTable, get_interface).flatten(),
        })
    }

    /// Writes a line to the host's log.
    pub(crate) fn log(&self, level: u32, message: &str) {
        // SAFETY: a function of the host with its context, and a slice that outlives the call.
        unsafe { (self.log)(self.ctx, level, message.as_ptr(), message.len()) };
    }

    /// Answers a request; token 0 is `create`.
    pub(super) fn reply(&self, token: u64, status: Status, data: &[u8]) -> Status {
        // SAFETY: as for `log`; the host copies the data before it returns.
        unsafe { (self.reply)(self.ctx, token, status, data.as_ptr(), data.len()) }
    }

    /// Queues an encoded `UpdateContainersRequest`.
    pub(crate) fn update_containers(&self, cookie: u64, data: &[u8]) -> Status {
        let Some(update_containers) = self.update_containers else {
            return Status::UNSUPPORTED;
        };
        // SAFETY: as for `reply`.
        unsafe { update_containers(self.ctx, cookie, data.as_ptr(), data.len()) }
    }

    /// Reports a mistake in the configuration, if the host wants to know. Inside `create` only.
    pub(super) fn report_config_error(&self, key: &str, message: &str) {
        let Some(report) = self.config_error_function() else {
            return;
        };
        // SAFETY: as for `log`.
        unsafe {
            report(
                self.ctx,
                key.as_ptr(),
                key.len(),
                message.as_ptr(),
                message.len(),
            );
        }
    }

    /// Reports what the instance says of itself, if the host wants to know.
    pub(crate) fn report_health(&self, health: &Health) {
        let Some(report) = self.health_function() else {
            return;
        };
        let problems: Vec<HealthProblem> = health
            .problems
            .iter()
            .map(|problem| {
                let file = problem.file.as_deref().unwrap_or_default();
                HealthProblem {
                    message: problem.message.as_ptr(),
                    message_len: problem.message.len(),
                    file: file.as_ptr(),
                    file_len: file.len(),
                    line: problem.line.unwrap_or(0),
                    reserved: 0,
                }
            })
            .collect();
        let health = HealthReport {
            struct_size: struct_size::<HealthReport>(),
            problem_size: struct_size::<HealthProblem>(),
            summary: health.summary.as_ptr(),
            summary_len: health.summary.len(),
            problems: problems.as_ptr(),
            problems_count: problems.len(),
        };
        // SAFETY: as for `log`; what the report points to outlives the call.
        unsafe { report(self.ctx, &raw const health) };
    }

    /// The runtime, if the host tells and knows it.
    pub(crate) fn runtime(&self) -> Option<Runtime> {
        /// Far more than a host writes: it cuts what runtimes say of themselves.
        const CAPACITY: usize = 8 << 10;
        let describe = self.runtime_function()?;
        let mut buffer = vec![0; CAPACITY];
        // SAFETY: a function of the host with its context, and a buffer of that size.
        let len = unsafe { describe(self.ctx, buffer.as_mut_ptr(), buffer.len()) };
        serde_json::from_slice(buffer.get(..len)?).ok()
    }

    fn config_error_function(&self) -> Option<ConfigErrorFn> {
        let (interface, size) = self.interface::<ConfigErrorInterface>(CONFIG_ERROR_ID)?;
        read_field!(interface, size, ConfigErrorInterface, report)?
    }

    fn health_function(&self) -> Option<HealthFn> {
        let (interface, size) = self.interface::<HealthInterface>(HEALTH_ID)?;
        read_field!(interface, size, HealthInterface, report)?
    }

    fn runtime_function(&self) -> Option<DescribeFn> {
        let (interface, size) = self.interface::<RuntimeInterface>(RUNTIME_ID)?;
        read_field!(interface, size, RuntimeInterface, describe)?
    }

    /// The struct with this id, and its size. `I` is the layout that the header gives it.
    fn interface<I>(&self, id: &str) -> Option<(*const I, u32)> {
        let get_interface = self.get_interface?;
        // SAFETY: as for `log`.
        let interface = unsafe { get_interface(self.ctx, id.as_ptr(), id.len()) };
        if interface.is_null() {
            return None;
        }
        // SAFETY: not null, and every interface begins with its size.
        let size = unsafe { interface.cast::<u32>().read() };
        Some((interface.cast(), size))
    }
}

type DescribeFn = unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> usize;
type ConfigErrorFn = unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize);
type HealthFn = unsafe extern "C" fn(*mut c_void, *const HealthReport) -> Status;
