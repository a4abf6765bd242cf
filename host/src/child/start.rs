//! The parent's side: a child is started, watched, and never outlives its job.

use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};
use std::{env, fmt};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{Job, Report};

/// How much is kept of what a child prints: the end of it.
const MAX_OUTPUT: usize = 1024;
/// The most that a child can report.
const MAX_REPORT: u64 = 64 << 10;

/// Why there is no child: the system is short of something. It says nothing about the component.
#[derive(Debug, Error)]
#[error("a child process cannot be started")]
pub struct StartError(#[from] io::Error);

/// What became of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended<T> {
    /// How it ended.
    pub end: End,
    /// How far it came.
    pub report: Report<T>,
    /// The end of what it printed.
    pub output: Vec<u8>,
}

/// How a child ended, in words that follow its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended by itself, with this status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// Somebody else has learned how: a component waits for every child of the process, or has the
    /// system forget them.
    Untold,
    /// It was still there after this time.
    TimedOut(Duration),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exited with status {status}"),
            Self::Killed(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                Err(_) => write!(f, "was killed by signal {number}"),
            },
            Self::Untold => f.write_str("ended"),
            Self::TimedOut(limit) => write!(f, "did not come back within {limit:?}"),
        }
    }
}

/// Runs a job of `program`, which is this binary, on `file`. Blocks until the child has ended, or
/// was killed after `limit`; whatever it has started in its process group ends with it.
///
/// # Errors
///
/// When the system is short of processes, threads, descriptors or memory.
pub fn start<T: DeserializeOwned>(
    program: &Path,
    job: Job,
    file: OwnedFd,
    limit: Duration,
) -> Result<Ended<T>, StartError> {
    let (mut reports, report_end) = io::pipe()?;
    let (mut outputs, output_end) = io::pipe()?;
    unblock(&reports)?;
    unblock(&outputs)?;
    // The command is dropped at once: it holds our copies of the child's ends.
    let mut child = command(program, job)
        .stdin(file)
        .stdout(report_end)
        .stderr(output_end)
        .spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let mut output = Vec::new();
    let watched = thread::scope(|scope| {
        let watched = watch(scope, pid, &mut outputs, &mut output, limit);
        // Nobody has waited for the child yet, so the number is still its own.
        let _ = kill(pid, Signal::SIGKILL);
        let _ = killpg(pid, Signal::SIGKILL);
        watched
    });
    let end = end_of(child.wait())?;
    let in_time = watched?;
    keep(&mut outputs, &mut output)?;
    let mut report = Vec::new();
    match reports.by_ref().take(MAX_REPORT).read_to_end(&mut report) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
        _ => {}
    }
    Ok(Ended {
        end: if in_time { end } else { End::TimedOut(limit) },
        report: Report::parse(&report),
        output,
    })
}

fn command(program: &Path, job: Job) -> Command {
    let mut command = Command::new(program);
    command
        .arg0("nri-host")
        .arg("child")
        .arg(job.to_string())
        .arg(std::process::id().to_string())
        .env_clear()
        .envs(env::vars_os().filter(|(name, _)| steers_the_loader(name.as_encoded_bytes())))
        .process_group(0);
    command
}

/// A child looks for the libraries that a component needs where its parent would.
fn steers_the_loader(variable: &[u8]) -> bool {
    variable.starts_with(b"LD_") || variable == b"GLIBC_TUNABLES"
}

/// Waits for the end of the child, and takes what it prints so that it need not wait for that.
/// `false`: it is still there.
fn watch<'scope>(
    scope: &'scope Scope<'scope, '_>,
    pid: Pid,
    outputs: &mut PipeReader,
    output: &mut Vec<u8>,
    limit: Duration,
) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    let ended = end_of_child(scope, pid)?;
    let mut prints = true;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut waited = vec![PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
        if prints {
            waited.push(PollFd::new(outputs.as_fd(), PollFlags::POLLIN));
        }
        match ppoll(&mut waited, Some(TimeSpec::from_duration(left)), None) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        if waited[0].any() == Some(true) {
            return Ok(true);
        }
        prints = keep(outputs, output)?;
    }
}

/// A pipe that ends with the child. Neither that of its output nor that of its report will do:
/// they end when it closes them, or when the last of its own children does.
fn end_of_child<'scope>(scope: &'scope Scope<'scope, '_>, pid: Pid) -> io::Result<PipeReader> {
    let (ended, end) = io::pipe()?;
    let wait = move || {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(pid), flags) == Err(Errno::EINTR) {}
        drop(end);
    };
    thread::Builder::new()
        .name("nrih-child".to_owned())
        .spawn_scoped(scope, wait)?;
    Ok(ended)
}

/// Takes what can be read now, a full pipe at most, and keeps the end of it. `false`: there will be
/// no more.
fn keep(outputs: &mut PipeReader, output: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    for _ in 0..16 {
        let len = match outputs.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        };
        output.extend_from_slice(&buffer[..len]);
        output.drain(..output.len().saturating_sub(MAX_OUTPUT));
    }
    Ok(true)
}

fn unblock(pipe: &PipeReader) -> io::Result<()> {
    fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(())
}

fn end_of(waited: io::Result<ExitStatus>) -> io::Result<End> {
    let status = match waited {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(End::Untold),
        waited => waited?,
    };
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Killed(signal),
        (None, None) => unreachable!("wait tells of nothing else without being asked to"),
    })
}
