//! The first steps of a child.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, close, dup2_stdin, dup2_stdout, getppid};
use thiserror::Error;

use super::report::Reporter;

/// Why a child does not begin.
#[derive(Debug, Error)]
#[error("a child process cannot be set up")]
pub struct EnterError(#[from] io::Error);

/// What a job works with.
#[derive(Debug)]
pub(super) struct Stage {
    /// The file that it is about.
    pub(super) file: File,
    /// Where it reports.
    pub(super) reporter: Reporter,
}

impl Stage {
    /// The whole file. Leaves the offset alone, which is the parent's too.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let len = usize::try_from(self.file.metadata()?.len()).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// Cuts the child off from all but its job.
pub(super) fn enter(parent: i32) -> Result<Stage, EnterError> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)?;
    if getppid() != Pid::from_raw(parent) {
        return Err(io::Error::other("the parent has gone").into());
    }
    // Started as /proc/self/exe, it would be "exe" to everybody who looks.
    prctl::set_name(c"nrih-child").map_err(io::Error::from)?;
    close_inherited()?;
    // When memory runs out, this process is to go and not the daemon. It is only a wish.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let reporter = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
    dup2_stdout(io::stderr()).map_err(io::Error::from)?;
    Ok(Stage {
        file,
        reporter: Reporter::new(reporter),
    })
}

/// Closes what components of the daemon, or whoever started it, have left open for every child.
fn close_inherited() -> io::Result<()> {
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in open {
        // One of them was the folder itself.
        let _ = close(number);
    }
    Ok(())
}
