//! Tries a library out in a throw-away process before it comes into this one.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use thiserror::Error;

use super::super::inspect::Inspected;
use super::private_copy::PrivateCopy;
use super::verdicts::Verdicts;
use crate::child::{self, End, Ended, Job, Refusal, Report, StartError, THIS_PROGRAM};

/// How long a library may take to be loaded in a throw-away process, once that has begun.
pub const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// Why a library was not loaded in a throw-away process.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The descriptor of the copy cannot be passed on.
    #[error("cannot be tried out")]
    Copy(#[source] io::Error),
    /// There is no process for it.
    #[error("cannot be tried out")]
    Start(#[from] StartError),
    /// The process ended before it came to the library.
    #[error("cannot be tried out: the process for it {end}{printed}")]
    NotBegun {
        /// How it ended.
        end: End,
        /// What it said to that.
        printed: Printed,
    },
    /// The process ended while the library was loaded, or did not end.
    #[error("{end} in its constructors{printed}; it was not loaded into the host")]
    Died {
        /// How it ended.
        end: End,
        /// What it said to that.
        printed: Printed,
    },
    /// The library was loaded, and is no component, or it could not be loaded.
    #[error(transparent)]
    Refused(Refusal),
}

impl ProbeError {
    /// Whether this says nothing about the library. Only the system and its administrator use
    /// `SIGKILL`: it is how the kernel ends who uses too much memory.
    pub(super) fn is_inconclusive(&self) -> bool {
        match self {
            Self::NotBegun { .. } => true,
            Self::Died { end, .. } => *end == End::Killed(libc::SIGKILL),
            Self::Refused(refusal) => refusal.shortage,
            Self::Copy(_) | Self::Start(_) => false,
        }
    }
}

/// The end of what a process printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed(Vec<u8>);

impl From<Vec<u8>> for Printed {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// In one line, whatever it is.
impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match String::from_utf8_lossy(&self.0).trim() {
            "" => Ok(()),
            text => write!(f, ", saying {text:?}"),
        }
    }
}

/// Tries libraries out. Those that did well are remembered by their content, unless they bring others
/// along that can change.
#[derive(Debug)]
pub struct Probe {
    program: PathBuf,
    verdicts: Option<Verdicts>,
}

impl Probe {
    /// Tries each library in a process of `program`, which is a binary of this host.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            verdicts: None,
        }
    }

    /// The same with the running binary.
    pub fn with_this_program() -> Self {
        Self::new(THIS_PROGRAM.into())
    }

    /// Remembers in `state_dir` which libraries did well, so that each is tried once.
    #[must_use]
    pub fn remembering(self, state_dir: &Path) -> Self {
        Self {
            verdicts: Some(Verdicts::new(state_dir)),
            ..self
        }
    }

    pub(super) fn try_out(
        &self,
        inspected: &Inspected,
        copy: &PrivateCopy,
    ) -> Result<(), ProbeError> {
        let verdicts = self.verdicts.as_ref();
        // A verdict is about one file.
        let verdicts = verdicts.filter(|_| inspected.needs_only_the_system());
        if verdicts.is_some_and(|verdicts| verdicts.is_good(inspected.digest)) {
            return Ok(());
        }
        let file = copy.try_clone().map_err(ProbeError::Copy)?;
        verdict(child::start(&self.program, Job::Probe, file, PROBE_LIMIT)?)?;
        if let Some(verdicts) = verdicts {
            verdicts.remember(inspected.digest);
        }
        Ok(())
    }
}

fn verdict(ended: Ended<Result<(), Refusal>>) -> Result<(), ProbeError> {
    let Ended {
        end,
        report,
        output,
    } = ended;
    let printed = Printed(output);
    match (report, end) {
        (Report::NotBegun, _) => Err(ProbeError::NotBegun { end, printed }),
        (Report::Done(Err(refusal)), _) => Err(ProbeError::Refused(refusal)),
        (Report::Done(Ok(())), End::Exited(0) | End::Untold) => Ok(()),
        // Something that a constructor has started ended the process after they had returned.
        (Report::Done(Ok(())) | Report::Begun, _) => Err(ProbeError::Died { end, printed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(end: End, report: Report<Result<(), Refusal>>, output: &[u8]) -> String {
        let output = output.to_vec();
        match verdict(Ended {
            end,
            report,
            output,
        }) {
            Ok(()) => "good".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_verdict_tells_what_happened() {
        let limit = Duration::from_secs(5);
        for (end, report, output, expected) in [
            (End::Exited(0), Report::Done(Ok(())), "hello", "good"),
            (End::Untold, Report::Done(Ok(())), "", "good"),
            (
                End::Killed(11),
                Report::Done(Ok(())),
                "",
                "was killed by SIGSEGV in its constructors; it was not loaded into the host",
            ),
            (
                End::Exited(3),
                Report::Begun,
                "no licence\n\u{1b}[0m\n",
                "exited with status 3 in its constructors, saying \"no licence\\n\\u{1b}[0m\"; \
                 it was not loaded into the host",
            ),
            (
                End::TimedOut(limit),
                Report::Begun,
                "",
                "did not come back within 5s in its constructors; it was not loaded into the host",
            ),
            (
                End::Killed(64),
                Report::NotBegun,
                "",
                "cannot be tried out: the process for it was killed by signal 64",
            ),
            (
                End::Exited(0),
                Report::Done(Err(refusal(false))),
                "",
                "no function f",
            ),
        ] {
            assert_eq!(text(end, report, output.as_bytes()), expected);
        }
    }

    fn refusal(shortage: bool) -> Refusal {
        Refusal {
            reason: "no function f".into(),
            shortage,
        }
    }

    #[test]
    fn what_the_system_is_short_of_says_nothing_about_the_library() {
        let killed = |signal| (End::Killed(signal), Report::Begun);
        let refused = |shortage| (End::Exited(0), Report::Done(Err(refusal(shortage))));
        for ((end, report), inconclusive) in [
            ((End::Exited(1), Report::NotBegun), true),
            (killed(libc::SIGKILL), true),
            (killed(libc::SIGSEGV), false),
            ((End::Exited(1), Report::Begun), false),
            (refused(true), true),
            (refused(false), false),
        ] {
            let output = Vec::new();
            let ended = Ended {
                end,
                report,
                output,
            };
            let error = verdict(ended).unwrap_err();
            assert_eq!(error.is_inconclusive(), inconclusive, "{error:?}");
        }
    }
}
