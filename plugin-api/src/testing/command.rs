//! The host's side of a component's own commands.
#![expect(
    unsafe_code,
    reason = "the border is made of raw pointers and foreign functions"
)]

use std::ffi::c_void;

use super::Value;
use super::border::copy_text;
use crate::CommandStatus;
use crate::abi::{
    COMMAND_ID, CommandCall, CommandInterface, STREAM_ERROR, STREAM_OUTPUT, Status, Text,
    struct_size,
};
use crate::export::{Exported, descriptor};

/// What a command left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// Its exit status.
    pub status: CommandStatus,
    /// What it wrote to standard output.
    pub output: String,
    /// What it wrote to standard error.
    pub errors: String,
}

/// The names of a component's commands, and their lines of help.
pub fn commands<T: Exported>() -> Vec<(String, String)> {
    unsafe extern "C" fn tell(
        ctx: *mut c_void,
        name: *const u8,
        name_len: usize,
        help: *const u8,
        help_len: usize,
    ) {
        // SAFETY: the context is the list below, the component hands over two texts.
        unsafe {
            let list = &mut *ctx.cast::<Vec<(String, String)>>();
            list.push((copy_text(name, name_len), copy_text(help, help_len)));
        }
    }
    let mut list: Vec<(String, String)> = Vec::new();
    if let Some(interface) = interface::<T>() {
        let function = interface.list.expect("the SDK fills in every function");
        // SAFETY: `tell` has the type of the header, and its context outlives the call.
        unsafe { function((&raw mut list).cast(), Some(tell)) };
    }
    list
}

/// Runs one of a component's commands: its name and its arguments.
///
/// # Panics
///
/// The component has no command with this name.
pub fn run_command<T: Exported>(config: &Value, args: &[&str]) -> CommandOutcome {
    let interface = interface::<T>().expect("the component has commands");
    let run = interface.run.expect("the SDK fills in every function");
    let config = config.to_string();
    let args: Vec<Text> = args
        .iter()
        .map(|text| Text {
            data: text.as_ptr(),
            len: text.len(),
        })
        .collect();
    let mut written = Written::default();
    let call = CommandCall {
        struct_size: struct_size::<CommandCall>(),
        reserved: 0,
        ctx: (&raw mut written).cast(),
        args: args.as_ptr(),
        args_count: args.len(),
        config: config.as_ptr(),
        config_len: config.len(),
        write: Some(write),
    };
    // SAFETY: the call and all that it points to outlive the function.
    let status = unsafe { run(&raw const call) };
    assert_ne!(status, Status::UNSUPPORTED.0, "there is no such command");
    CommandOutcome {
        status: u8::try_from(status).map_or(CommandStatus::FAILED, CommandStatus::new),
        output: written.output,
        errors: written.errors,
    }
}

fn interface<T: Exported>() -> Option<&'static CommandInterface> {
    let get_interface = descriptor::<T>()
        .get_interface
        .expect("the SDK fills in every function");
    // SAFETY: the id is a slice that outlives the call; what comes back is null or the interface
    // with this id, which is a constant.
    unsafe {
        get_interface(COMMAND_ID.as_ptr(), COMMAND_ID.len())
            .cast::<CommandInterface>()
            .as_ref()
    }
}

#[derive(Default)]
struct Written {
    output: String,
    errors: String,
}

unsafe extern "C" fn write(ctx: *mut c_void, stream: u32, data: *const u8, len: usize) -> Status {
    // SAFETY: the context is that of `run_command`, the component hands over `len` bytes.
    let (written, text) = unsafe { (&mut *ctx.cast::<Written>(), copy_text(data, len)) };
    match stream {
        STREAM_OUTPUT => written.output.push_str(&text),
        STREAM_ERROR => written.errors.push_str(&text),
        _ => return Status::UNSUPPORTED,
    }
    Status::OK
}
