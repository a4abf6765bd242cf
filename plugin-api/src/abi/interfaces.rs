//! The optional interfaces, which are found by their ids.

use std::ffi::c_void;

use super::Status;

/// Id of [`MethodsInterface`].
pub const METHODS_ID: &str = "nrih.methods/1";

/// `nrih_methods`: narrows the methods of one instance.
#[derive(Debug)]
#[repr(C)]
pub struct MethodsInterface {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Returns the methods that the instance wants.
    pub methods: Option<unsafe extern "C" fn(instance: *mut c_void) -> u64>,
}

/// Id of [`UpdateResultInterface`].
pub const UPDATE_RESULT_ID: &str = "nrih.update-result/1";

/// `nrih_update_result`: what came of requests to `update_containers` of
/// [`HostTable`](super::HostTable).
#[derive(Debug)]
#[repr(C)]
pub struct UpdateResultInterface {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Tells the result of the request with this cookie.
    pub on_result: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            cookie: u64,
            status: Status,
            data: *const u8,
            len: usize,
        ) -> Status,
    >,
}

/// Id of [`ConfigErrorInterface`].
pub const CONFIG_ERROR_ID: &str = "nrih.config-error/1";

/// `nrih_config_error`: says which key of the configuration is wrong.
#[derive(Debug)]
#[repr(C)]
pub struct ConfigErrorInterface {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Reports one mistake.
    pub report: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            key: *const u8,
            key_len: usize,
            message: *const u8,
            message_len: usize,
        ),
    >,
}

/// Id of [`CommandInterface`].
pub const COMMAND_ID: &str = "nrih.command/1";

/// The stream that is the standard output of a command.
pub const STREAM_OUTPUT: u32 = 1;
/// The stream that is the standard error of a command.
pub const STREAM_ERROR: u32 = 2;

/// `nrih_text`: a text in an array.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    /// UTF-8.
    pub data: *const u8,
    /// Length of `data` in bytes.
    pub len: usize,
}

/// `nrih_command_call`: one command to be run.
#[derive(Debug)]
#[repr(C)]
pub struct CommandCall {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Handed to `write`.
    pub ctx: *mut c_void,
    /// The command's name, and what followed it.
    pub args: *const Text,
    /// How many there are; at least one.
    pub args_count: usize,
    /// Configuration as a JSON object, UTF-8.
    pub config: *const u8,
    /// Length of `config` in bytes.
    pub config_len: usize,
    /// Writes to [`STREAM_OUTPUT`] or [`STREAM_ERROR`].
    pub write: Option<
        unsafe extern "C" fn(ctx: *mut c_void, stream: u32, data: *const u8, len: usize) -> Status,
    >,
}

/// `tell` of [`CommandInterface::list`].
pub type TellCommand = unsafe extern "C" fn(
    ctx: *mut c_void,
    name: *const u8,
    name_len: usize,
    help: *const u8,
    help_len: usize,
);

/// `nrih_command`: commands of the component's own.
#[derive(Debug)]
#[repr(C)]
pub struct CommandInterface {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Names the commands.
    pub list: Option<unsafe extern "C" fn(ctx: *mut c_void, tell: Option<TellCommand>)>,
    /// Runs one, and returns its exit status or a [`Status`].
    pub run: Option<unsafe extern "C" fn(call: *const CommandCall) -> i32>,
}

/// Id of [`HealthInterface`].
pub const HEALTH_ID: &str = "nrih.health/1";

/// `nrih_health_problem`: something that is not as it should be.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HealthProblem {
    /// What is wrong, UTF-8.
    pub message: *const u8,
    /// Length of `message` in bytes.
    pub message_len: usize,
    /// What it is about, UTF-8.
    pub file: *const u8,
    /// Length of `file` in bytes.
    pub file_len: usize,
    /// The line in this file, from 1; 0 for none.
    pub line: u32,
    /// Zero.
    pub reserved: u32,
}

/// `nrih_health_report`: all that an instance says of itself.
#[derive(Debug)]
#[repr(C)]
pub struct HealthReport {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Size of one of `problems` in bytes.
    pub problem_size: u32,
    /// One line, UTF-8.
    pub summary: *const u8,
    /// Length of `summary` in bytes.
    pub summary_len: usize,
    /// What is wrong.
    pub problems: *const HealthProblem,
    /// How many there are.
    pub problems_count: usize,
}

/// `nrih_health`: takes what an instance says of itself.
#[derive(Debug)]
#[repr(C)]
pub struct HealthInterface {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Takes a report, in place of the one before.
    pub report:
        Option<unsafe extern "C" fn(ctx: *mut c_void, report: *const HealthReport) -> Status>,
}

/// Id of [`RuntimeInterface`].
pub const RUNTIME_ID: &str = "nrih.runtime/1";

/// `nrih_runtime`: describes the runtime.
#[derive(Debug)]
#[repr(C)]
pub struct RuntimeInterface {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Writes the description of the runtime.
    pub describe:
        Option<unsafe extern "C" fn(ctx: *mut c_void, buffer: *mut u8, capacity: usize) -> usize>,
}
