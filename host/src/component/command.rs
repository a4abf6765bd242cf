//! A component's own commands: they run in this process, which is there for nothing else.
#![expect(unsafe_code, reason = "the functions of a component are called here")]

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nri_plugin_api::abi::{
    COMMAND_ID, CommandCall, CommandInterface, STREAM_ERROR, STREAM_OUTPUT, Status, TellCommand,
    Text, struct_size,
};

use super::context::bytes;
use super::health::one_line;
use super::load::Library;

/// Most commands that are listed of one component.
const MAX_COMMANDS: usize = 100;

/// A command as its component describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHelp {
    /// Its name.
    pub name: String,
    /// One line of help.
    pub help: String,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// With this exit status.
    Exit(u8),
    /// With another value than an exit status: it failed.
    Failed,
    /// It failed, and nobody reads its output any more.
    Unread,
    /// The component has no command with this name.
    Unknown,
}

/// The commands of a library that is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Commands {
    list: ListFn,
    run: RunFn,
}

type ListFn = unsafe extern "C" fn(ctx: *mut c_void, tell: Option<TellCommand>);
type RunFn = unsafe extern "C" fn(call: *const CommandCall) -> i32;

impl Commands {
    /// `None`: the component has none.
    pub fn of(library: &Library) -> Option<Self> {
        let get_interface = library.border.get_interface?;
        // SAFETY: the library stays loaded for ever; the id is readable. The header binds the
        // component to return null or the interface that was asked for, which stays for ever.
        unsafe {
            let found =
                get_interface(COMMAND_ID.as_ptr(), COMMAND_ID.len()).cast::<CommandInterface>();
            if found.is_null() || (*found).struct_size < struct_size::<CommandInterface>() {
                return None;
            }
            Some(Self {
                list: (*found).list?,
                run: (*found).run?,
            })
        }
    }

    /// The commands, in the component's order.
    pub fn list(&self) -> Vec<CommandHelp> {
        let mut list: Vec<CommandHelp> = Vec::new();
        // SAFETY: the library stays loaded for ever; `tell` has the type that the header gives it,
        // and its context outlives the call.
        unsafe { (self.list)((&raw mut list).cast(), Some(tell)) };
        list
    }

    /// Runs a command: its name, and what followed it. It writes to the standard streams of this
    /// process. Blocks until it ends.
    ///
    /// # Errors
    ///
    /// When the process has no descriptor left for its output.
    pub fn run(&self, args: &[String], config: &str) -> io::Result<CommandEnd> {
        let streams = Streams::standard()?;
        let args: Vec<Text> = args
            .iter()
            .map(|text| Text {
                data: text.as_ptr(),
                len: text.len(),
            })
            .collect();
        let call = CommandCall {
            struct_size: struct_size::<CommandCall>(),
            reserved: 0,
            ctx: (&raw const streams).cast_mut().cast(),
            args: args.as_ptr(),
            args_count: args.len(),
            config: config.as_ptr(),
            config_len: config.len(),
            write: Some(write),
        };
        // SAFETY: the library stays loaded for ever; the call and all that it points to outlive the
        // function.
        let status = unsafe { (self.run)(&raw const call) };
        Ok(match u8::try_from(status) {
            Err(_) if streams.unread.load(Ordering::Relaxed) => CommandEnd::Unread,
            Ok(status) => CommandEnd::Exit(status),
            Err(_) if status == Status::UNSUPPORTED.0 => CommandEnd::Unknown,
            Err(_) => CommandEnd::Failed,
        })
    }
}

unsafe extern "C" fn tell(
    ctx: *mut c_void,
    name: *const u8,
    name_len: usize,
    help: *const u8,
    help_len: usize,
) {
    // SAFETY: the header binds the component to pass the context that came with this function,
    // during that call, and readable strings.
    let (list, name, help) = unsafe {
        (
            ctx.cast::<Vec<CommandHelp>>().as_mut(),
            bytes(name, name_len),
            bytes(help, help_len),
        )
    };
    if let (Some(list), Some(name), Some(help)) = (list, name, help)
        && list.len() < MAX_COMMANDS
    {
        list.push(CommandHelp {
            name: one_line(name),
            help: one_line(help),
        });
    }
}

/// Where a command writes. Descriptors of our own: whoever called may hold the lock of
/// [`io::stdout`], and a command may write from other threads.
struct Streams {
    output: File,
    error: File,
    unread: AtomicBool,
}

impl Streams {
    fn standard() -> io::Result<Self> {
        Ok(Self {
            output: duplicate(&io::stdout())?,
            error: duplicate(&io::stderr())?,
            unread: AtomicBool::new(false),
        })
    }

    fn write(&self, stream: u32, data: &[u8]) -> Status {
        let mut file = match stream {
            STREAM_OUTPUT => &self.output,
            STREAM_ERROR => &self.error,
            _ => return Status::UNSUPPORTED,
        };
        let Err(error) = file.write_all(data) else {
            return Status::OK;
        };
        if stream == STREAM_OUTPUT {
            match error.kind() {
                io::ErrorKind::BrokenPipe => self.unread.store(true, Ordering::Relaxed),
                _ => {
                    let text = format!("nri-host: standard output: {error}\n");
                    // There is nobody else to tell.
                    let _ = (&self.error).write_all(text.as_bytes());
                }
            }
        }
        Status::FAILED
    }
}

fn duplicate(stream: &impl AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

unsafe extern "C" fn write(ctx: *mut c_void, stream: u32, data: *const u8, len: usize) -> Status {
    // SAFETY: the header binds the component to pass the context of the call, before `run` has
    // returned, and readable data.
    let (streams, data) = unsafe { (ctx.cast::<Streams>().as_ref(), bytes(data, len)) };
    match (streams, data) {
        (Some(streams), Some(data)) => streams.write(stream, data),
        _ => Status::FAILED,
    }
}
