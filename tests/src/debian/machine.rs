//! One run of the small Debian.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::net::UnixDatagram;

use super::control_groups::ControlGroups;
use super::root;
use crate::host::Finished;
use crate::patience::{PATIENCE, patiently_for};

/// Upper bound for a boot, or a script: installing a package takes seconds.
const LIMIT: Duration = PATIENCE.saturating_mul(10);

/// Where the folder that is shared with the machine is in there.
pub const SHARED: &str = "/shared";

/// A Debian that has booted: what is written in there is gone with it.
#[derive(Debug)]
pub struct Machine {
    container: Child,
    /// Its first process, as soon as it is known.
    leader: Option<Pid>,
    shared: TempDir,
    /// Last, as they can be removed when nobody is left in them.
    _groups: ControlGroups,
}

impl Machine {
    /// Boots one and waits until its systemd has started everything.
    ///
    /// # Errors
    ///
    /// When there is none, or it does not come so far; with what it said.
    pub async fn boot() -> Result<Self> {
        let root = root()?;
        let shared = tempfile::tempdir().context("cannot make a folder to share")?;
        // Not among what is shared: its own folder has the log and the notify socket.
        let own = tempfile::tempdir().context("cannot make a folder for the machine")?;
        let notify = own.path().join("notify");
        let notified = UnixDatagram::bind(&notify).context("cannot bind the notify socket")?;
        let log = own.path().join("log");
        let groups = ControlGroups::new(&name())?;
        let container = start(&groups, &root, shared.path(), &notify, &log)?;
        let mut machine = Self {
            container,
            leader: None,
            shared,
            _groups: groups,
        };
        patiently_for(LIMIT, "the boot of a machine", machine.booted(&notified))
            .await
            .flatten()
            .with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        Ok(machine)
    }

    /// The folder that is [`SHARED`] in the machine.
    #[must_use]
    pub fn shared(&self) -> &Path {
        self.shared.path()
    }

    /// Waits until the machine says that it has booted.
    async fn booted(&mut self, notified: &UnixDatagram) -> Result<()> {
        loop {
            let mut buffer = [0; 4096];
            let length = notified.recv(&mut buffer).await?;
            for line in String::from_utf8_lossy(&buffer[..length]).lines() {
                if let Some(pid) = line.strip_prefix("X_NSPAWN_LEADER_PID=") {
                    self.leader = Some(Pid::from_raw(pid.parse()?));
                }
                if line == "READY=1" {
                    return Ok(());
                }
            }
        }
    }

    /// Runs a script of the shell in there, which ends at the first command that fails.
    ///
    /// # Errors
    ///
    /// When it cannot be started, or does not end in time.
    pub async fn run(&self, script: &str) -> Result<Finished> {
        let leader = self.leader.context("the machine has not booted")?;
        let output = tokio::process::Command::new("nsenter")
            .args(["--target", &leader.to_string(), "--all"])
            .args(["/bin/sh", "-euc", script])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = patiently_for(LIMIT, &format!("the end of {script:?}"), output)
            .await?
            .context("cannot run nsenter")?;
        Ok(Finished {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a script that must succeed, and returns what it printed.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], or when it fails; with what it said.
    pub async fn must(&self, script: &str) -> Result<String> {
        let finished = self.run(script).await?;
        ensure!(finished.code == Some(0), "{script:?}: {finished:#?}");
        Ok(finished.stdout)
    }
}

/// A name that no other machine has.
fn name() -> String {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("nri-host-{}-{number}", std::process::id())
}

fn start(
    groups: &ControlGroups,
    root: &Path,
    shared: &Path,
    notify: &Path,
    log: &Path,
) -> Result<Child> {
    let log = File::create(log).context("cannot make the machine's log")?;
    groups
        .command("systemd-nspawn")
        .args([
            "--quiet",
            "--boot",
            "--volatile=overlay",
            "--private-network",
        ])
        // There need be no systemd outside that knows of it.
        .args(["--register=no", "--keep-unit", "--notify-ready=yes"])
        .args(["--console=read-only", "--machine", &name()])
        .arg("--directory")
        .arg(root)
        .arg(format!("--bind={}:{SHARED}", shared.display()))
        .env("NOTIFY_SOCKET", notify)
        .stdin(Stdio::null())
        .stderr(log.try_clone()?)
        .stdout(log)
        .spawn()
        .context("cannot run systemd-nspawn")
}

impl Drop for Machine {
    fn drop(&mut self) {
        // All in there ends with the first process; systemd-nspawn cleans up and ends then.
        let killed = self.leader.map(|leader| kill(leader, Signal::SIGKILL));
        if !matches!(killed, Some(Ok(()))) {
            let _ = self.container.kill();
        }
        let _ = self.container.wait();
    }
}
