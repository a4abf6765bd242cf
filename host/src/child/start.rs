//! The parent's side: a child is started, watched, and never outlives its job.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};
use std::{env, fmt, iter};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::stream::Stream;
use super::{Job, Report};
use crate::crash;

/// The running binary.
pub const THIS_PROGRAM: &str = "/proc/self/exe";
/// How long a child may take until component code begins. All before that is our own, so only a
/// machine that is very busy takes long.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);
/// How much is kept of what a child prints: the end of it.
const MAX_OUTPUT: usize = 1024;
/// The most that a child can report: as many mistakes as are kept of a configuration, each as long as
/// it may be.
const MAX_REPORT: usize = 2 << 20;

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
/// was killed because component code took longer than `limit`; whatever it has started in its
/// process group ends with it, unless somebody else in this process waits for children.
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
    let (report, report_end) = io::pipe()?;
    let (output, output_end) = io::pipe()?;
    let mut report = Stream::new(report, MAX_REPORT)?;
    let mut output = Stream::new(output, MAX_OUTPUT)?;
    // The command is dropped at once: it holds our copies of the child's ends.
    let mut child = command(program, job)
        .stdin(file)
        .stdout(report_end)
        .stderr(output_end)
        .spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let gone = AtomicBool::new(false);
    let watched = thread::scope(|scope| {
        let watched = end_of_child(scope, pid, &gone)
            .and_then(|ended| watch(&ended, &mut report, &mut output, limit));
        // The number is the child's own as long as nobody has waited for it.
        if !gone.load(Ordering::Acquire) {
            let _ = kill(pid, Signal::SIGKILL);
            let _ = killpg(pid, Signal::SIGKILL);
        }
        watched
    });
    let end = how_it_ended(child.wait())?;
    let passed = watched?;
    report.take()?;
    output.take()?;
    Ok(Ended {
        end: passed.map_or(end, End::TimedOut),
        report: Report::parse(report.kept()),
        output: output.kept().to_owned(),
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

/// Waits for the end of the child, and takes what comes from it meanwhile, so that it need not wait
/// for that. Returns the time that has passed if it is still there.
fn watch(
    ended: &PipeReader,
    report: &mut Stream,
    output: &mut Stream,
    limit: Duration,
) -> io::Result<Option<Duration>> {
    let mut time = BEGIN_LIMIT;
    let mut since = Instant::now();
    loop {
        let left = time.saturating_sub(since.elapsed());
        // Something may come without end.
        if left.is_zero() {
            return Ok(Some(time));
        }
        let streams = [report.awaited(), output.awaited()].into_iter().flatten();
        let mut awaited: Vec<_> = iter::once(ended.as_fd())
            .chain(streams)
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        match ppoll(&mut awaited, Some(TimeSpec::from_duration(left)), None) {
            Ok(_) if awaited[0].any() == Some(true) => return Ok(None),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let had_begun = !report.kept().is_empty();
        report.take()?;
        output.take()?;
        if !had_begun && !report.kept().is_empty() {
            (time, since) = (limit, Instant::now());
        }
    }
}

/// A pipe that ends with the child. Neither that of its output nor that of its report will do:
/// they end when it closes them, or when the last of its own children does.
/// `gone`: by then somebody else has learned of its end.
fn end_of_child<'scope>(
    scope: &'scope Scope<'scope, '_>,
    pid: Pid,
    gone: &'scope AtomicBool,
) -> io::Result<PipeReader> {
    let (ended, end) = io::pipe()?;
    let wait = move || {
        crash::mark_host_thread();
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        let waited = loop {
            match waitid(Id::Pid(pid), flags) {
                Err(Errno::EINTR) => {}
                waited => break waited,
            }
        };
        gone.store(waited.is_err(), Ordering::Release);
        drop(end);
    };
    thread::Builder::new()
        .name("nrih-child".to_owned())
        .spawn_scoped(scope, wait)?;
    Ok(ended)
}

fn how_it_ended(waited: io::Result<ExitStatus>) -> io::Result<End> {
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_child_that_writes_without_end_is_out_of_time_like_any_other() {
        let (ended, _child) = io::pipe().unwrap();
        let (report, mut begun) = io::pipe().unwrap();
        begun.write_all(b">").unwrap();
        let mut report = Stream::new(report, MAX_REPORT).unwrap();
        let endless = OwnedFd::from(File::open("/dev/zero").unwrap());
        let mut output = Stream::new(endless.into(), MAX_OUTPUT).unwrap();
        let limit = Duration::from_millis(1);
        let passed = watch(&ended, &mut report, &mut output, limit).unwrap();
        assert_eq!(passed, Some(limit));
    }
}
