//! Commands of a component's own.

use std::fmt;
use std::io::{self, Write};

use crate::abi::{STREAM_ERROR, STREAM_OUTPUT, Status};
use crate::{Component, Error};

/// How much output is collected before it is written, in bytes.
const MAX_BUFFERED: usize = 8 << 10;

/// A command that an admin can run: `nri-host component NAME COMMAND ARGS...`, where `NAME` is the
/// component's in the host's configuration. See [`Component::COMMANDS`].
///
/// ```
/// use std::io::Write as _;
///
/// use nri_plugin_api::{Command, CommandStatus, Component, Error, Host, Output};
///
/// # #[derive(serde::Deserialize)]
/// # struct Settings { devices: Vec<String> }
/// # struct Gpu;
/// #[nri_plugin_api::component(id = "com.example.gpu")]
/// impl Component for Gpu {
///     type Config = Settings;
///     const COMMANDS: &'static [Command<Self>] = &[Command::new("list", "the devices", list)];
///
///     fn create(_config: Settings, _host: Host) -> Result<Self, Error> {
///         Ok(Self)
///     }
/// }
///
/// fn list(
///     config: &Settings,
///     args: &[String],
///     output: &mut Output<'_>,
/// ) -> Result<CommandStatus, Error> {
///     if !args.is_empty() {
///         output.complain("list takes no arguments");
///         return Ok(CommandStatus::USAGE);
///     }
///     for device in &config.devices {
///         writeln!(output, "{device}")?;
///     }
///     Ok(CommandStatus::DONE)
/// }
///
/// # use nri_plugin_api::testing::{json, run_command};
/// let listed = run_command::<Gpu>(&json!({ "devices": ["a", "b"] }), &["list"]);
/// assert_eq!((listed.output.as_str(), listed.status), ("a\nb\n", CommandStatus::DONE));
/// ```
pub struct Command<T: Component> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) run: CommandFn<T>,
}

/// What a command does with the component's configuration and the arguments that followed its name.
///
/// It runs in a process for this one command, apart from the daemon and without an instance. It may
/// take its time, and read standard input. Log events go nowhere.
///
/// An error is written to standard error, and the exit status is [`CommandStatus::FAILED`], unless
/// it is that nobody reads the output any more, as in a pipe to `head`: that is none. The same
/// status without a word is the outcome of a panic, which the standard library reports.
pub type CommandFn<T> = fn(
    config: &<T as Component>::Config,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error>;

impl<T: Component> Command<T> {
    /// A command with one line of help, which begins with its arguments if it takes some: `"NAME:
    /// what is applied for a device"`.
    pub const fn new(name: &'static str, help: &'static str, run: CommandFn<T>) -> Self {
        Self { name, help, run }
    }
}

impl<T: Component> fmt::Debug for Command<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("name", &self.name)
            .field("help", &self.help)
            .finish_non_exhaustive()
    }
}

/// The exit status of a command, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandStatus(u8);

impl CommandStatus {
    /// All went well.
    pub const DONE: Self = Self(0);
    /// Something failed, or is not as it should be.
    pub const FAILED: Self = Self(1);
    /// The arguments are wrong.
    pub const USAGE: Self = Self(64);
    /// A file that the command was given is not what it should be.
    pub const BAD_FILE: Self = Self(65);
    /// The configuration is wrong.
    pub const BAD_CONFIG: Self = Self(78);

    /// Any status; the constants are those that commands of the host have as well.
    pub const fn new(code: u8) -> Self {
        Self(code)
    }

    /// Its number.
    pub const fn code(self) -> u8 {
        self.0
    }
}

/// Where a command writes: to standard output as a [`Write`], to standard error by
/// [`complain`](Output::complain). Standard output is buffered, and flushed when the command ends.
pub struct Output<'a> {
    write: &'a mut dyn FnMut(u32, &[u8]) -> Status,
    buffer: Vec<u8>,
    failed: bool,
}

impl<'a> Output<'a> {
    /// `write` takes the number of a stream and what goes there.
    pub(crate) fn new(write: &'a mut dyn FnMut(u32, &[u8]) -> Status) -> Self {
        Self {
            write,
            buffer: Vec::new(),
            failed: false,
        }
    }

    /// Writes a line to standard error, after all that was written before.
    pub fn complain(&mut self, message: impl fmt::Display) {
        // What is lost here was told when the command wrote it, or will be when it ends.
        let _ = self.flush();
        (self.write)(STREAM_ERROR, format!("{message}\n").as_bytes());
    }

    /// Whether something could not be written. The host has said so.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }
}

impl Write for Output<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(data);
        if self.buffer.len() >= MAX_BUFFERED {
            self.flush()?;
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        if buffer.is_empty() {
            return Ok(());
        }
        match (self.write)(STREAM_OUTPUT, &buffer) {
            Status::OK => Ok(()),
            _ => {
                self.failed = true;
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("buffered", &self.buffer.len())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
