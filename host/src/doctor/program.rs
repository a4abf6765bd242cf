//! Asking a program of the node something.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, geteuid};
use thiserror::Error;

/// A program that says what it is does so at once; one on a node under pressure takes longer.
const LIMIT: Duration = Duration::from_secs(5);
/// How much of its answer is read, in bytes.
const MAX_ANSWER: usize = 16 << 10;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a program was not asked, or gave no answer.
#[derive(Debug, Error)]
pub(super) enum AskError {
    /// Another user could have put anything there.
    #[error("it is not run, as others than root could have changed it")]
    NotTrusted,
    /// The system does not run it.
    #[error("it cannot be run")]
    Run(#[from] io::Error),
    /// It goes on and on.
    #[error("it did not answer within {0:?}")]
    TimedOut(Duration),
}

/// Runs an open program, under the name that it expects to have, and returns what it prints. Its
/// environment is empty.
///
/// # Errors
///
/// When it may not be run, or does not end.
pub(super) fn ask(program: File, name: &str, arguments: &[&str]) -> Result<String, AskError> {
    ask_within(LIMIT, program, name, arguments)
}

fn ask_within(
    limit: Duration,
    program: File,
    name: &str,
    arguments: &[&str],
) -> Result<String, AskError> {
    let metadata = program.metadata()?;
    let owned = [0, geteuid().as_raw()].contains(&metadata.uid());
    if !metadata.is_file() || !owned || metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(AskError::NotTrusted);
    }
    // What was looked at is what is run, whatever lies at its path by now.
    let mut child = Command::new("/proc/self/fd/0")
        .arg0(name)
        .args(arguments)
        .env_clear()
        .current_dir("/")
        .stdin(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let answer = answer(&mut child, limit);
    // Whether it is done or not: nothing of it stays.
    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
    child.wait()?;
    answer
}

fn answer(child: &mut Child, limit: Duration) -> Result<String, AskError> {
    let Some(mut output) = child.stdout.take() else {
        return Ok(String::new());
    };
    let deadline = Instant::now() + limit;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while bytes.len() < MAX_ANSWER {
        let left = deadline.saturating_duration_since(Instant::now());
        // At least a millisecond, so that the last one is waited for and not spun away.
        let left = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(output.as_fd(), PollFlags::POLLIN)], left) {
            Err(Errno::EINTR) => continue,
            Ok(0) => return Err(AskError::TimedOut(limit)),
            ready => ready.map_err(io::Error::from)?,
        };
        match output.read(&mut piece)? {
            0 => break,
            count => bytes.extend_from_slice(&piece[..count]),
        }
        if Instant::now() > deadline {
            return Err(AskError::TimedOut(limit));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn script(text: &str, mode: u32) -> File {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        File::open(&path).unwrap()
    }

    #[test]
    fn a_program_is_asked_with_arguments_and_nothing_else() {
        let answer = ask(
            script("echo $1 $HOME; ls /proc/$$/fd | wc -l", 0o755),
            "name",
            &["-v"],
        );
        assert!(answer.unwrap().starts_with("-v\n"));
    }

    #[test]
    fn what_others_can_change_is_not_run() {
        let answer = ask(script("echo run", 0o777), "name", &[]);
        assert!(matches!(answer, Err(AskError::NotTrusted)));
    }

    #[test]
    fn a_program_that_talks_for_ever_is_ended() {
        let answer = ask(script("while :; do echo more; done", 0o755), "name", &[]).unwrap();
        assert!(answer.len() >= MAX_ANSWER && answer.len() < 2 * MAX_ANSWER);
    }

    #[test]
    fn a_program_that_says_nothing_is_ended() {
        let silent = script("sleep 600 & sleep 600", 0o755);
        let answer = ask_within(Duration::from_millis(50), silent, "name", &[]);
        assert!(matches!(answer, Err(AskError::TimedOut(_))), "{answer:?}");
    }
}
