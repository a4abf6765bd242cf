//! The functions of `nrih.command/1`.

use std::ffi::c_void;
use std::io::Write as _;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Exported;
use super::border::bytes;
use super::create::parse_config;
use super::table::read_field;
use crate::abi::{CommandCall, CommandInterface, Status, TellCommand, Text, struct_size};
use crate::{CommandStatus, Component, Error, Output};

/// The interface of a component that has commands.
pub(super) const fn interface<T: Exported>() -> CommandInterface {
    CommandInterface {
        struct_size: struct_size::<CommandInterface>(),
        reserved: 0,
        list: Some(list::<T>),
        run: Some(run::<T>),
    }
}

/// `list` of `nrih.command/1`.
///
/// # Safety
///
/// As the header says: `tell` may be called with `ctx` and strings.
unsafe extern "C" fn list<T: Exported>(ctx: *mut c_void, tell: Option<TellCommand>) {
    let Some(tell) = tell else {
        return;
    };
    for command in T::COMMANDS {
        let (name, help) = (command.name, command.help);
        // SAFETY: a function of the host with its context, and texts that live for ever.
        unsafe { tell(ctx, name.as_ptr(), name.len(), help.as_ptr(), help.len()) };
    }
}

/// What a command writes with.
type WriteFn = unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> Status;

/// The fields of `nrih_command_call`.
struct Call<'a> {
    args: Vec<String>,
    config: &'a [u8],
    ctx: *mut c_void,
    write: WriteFn,
}

impl Call<'_> {
    /// # Safety
    ///
    /// `call` is null or points to a call as the header describes it, valid for `'a`.
    unsafe fn read(call: *const CommandCall) -> Option<Self> {
        if call.is_null() {
            return None;
        }
        // SAFETY: not null, and every struct of the border begins with its size.
        let size = unsafe { (&raw const (*call).struct_size).read() };
        let args = read_field!(call, size, CommandCall, args)?;
        let args_count = read_field!(call, size, CommandCall, args_count)?;
        let config = read_field!(call, size, CommandCall, config)?;
        let config_len = read_field!(call, size, CommandCall, config_len)?;
        Some(Self {
            // SAFETY: the caller vouches for the array.
            args: unsafe { texts(args, args_count) },
            // SAFETY: as above.
            config: unsafe { bytes(config, config_len) },
            ctx: read_field!(call, size, CommandCall, ctx)?,
            write: read_field!(call, size, CommandCall, write)??,
        })
    }
}

/// # Safety
///
/// `array` is null or points to `count` texts.
unsafe fn texts(array: *const Text, count: usize) -> Vec<String> {
    if array.is_null() {
        return Vec::new();
    }
    (0..count)
        .map(|i| {
            // SAFETY: the caller vouches for `count` texts.
            let text = unsafe { array.add(i).read() };
            // SAFETY: as above.
            let text = unsafe { bytes(text.data, text.len) };
            String::from_utf8_lossy(text).into_owned()
        })
        .collect()
}

/// `run` of `nrih.command/1`.
///
/// # Safety
///
/// As the header says: `call` is valid until this function returns.
unsafe extern "C" fn run<T: Exported>(call: *const CommandCall) -> i32 {
    // SAFETY: the host keeps the call until this function returns.
    let Some(call) = (unsafe { Call::read(call) }) else {
        return Status::FAILED.0;
    };
    let mut write = |stream, data: &[u8]| {
        // SAFETY: a function of the host with its context, and a slice that outlives the call.
        unsafe { (call.write)(call.ctx, stream, data.as_ptr(), data.len()) }
    };
    let mut output = Output::new(&mut write);
    let run = AssertUnwindSafe(|| run_command::<T>(&call.args, call.config, &mut output));
    match catch_unwind(run) {
        Ok(Ended::Exit(status)) => i32::from(status.code()),
        Ok(Ended::Cut) => Status::FAILED.0,
        Ok(Ended::Unknown) => Status::UNSUPPORTED.0,
        Err(payload) => {
            // Dropping the payload could panic again.
            std::mem::forget(payload);
            Status::FAILED.0
        }
    }
}

/// How a command ended.
enum Ended {
    Exit(CommandStatus),
    /// Its output could not be written, and it has nothing else to say.
    Cut,
    /// There is none with this name.
    Unknown,
}

/// Runs the command that the arguments begin with.
fn run_command<T: Component>(args: &[String], config: &[u8], output: &mut Output<'_>) -> Ended {
    let Some((name, args)) = args.split_first() else {
        return Ended::Unknown;
    };
    let Some(command) = T::COMMANDS.iter().find(|command| command.name == name) else {
        return Ended::Unknown;
    };
    let config = match parse_config::<T::Config>(config) {
        Ok(config) => config,
        Err(error) => {
            complain(output, "the configuration is wrong: ", &error);
            return Ended::Exit(CommandStatus::BAD_CONFIG);
        }
    };
    let ended = (command.run)(&config, args, output);
    match ended {
        // What it found out counts, whether somebody reads the rest or not.
        Ok(status) if output.flush().is_ok() || status != CommandStatus::DONE => {
            Ended::Exit(status)
        }
        Err(error) if !output.has_failed() => {
            complain(output, "", &error);
            Ended::Exit(CommandStatus::FAILED)
        }
        Ok(_) | Err(_) => Ended::Cut,
    }
}

/// Says what went wrong, unless it is the output: the host has told that.
fn complain(output: &mut Output<'_>, what: &str, error: &Error) {
    if !output.has_failed() {
        output.complain(format_args!("{what}{error}"));
    }
}
