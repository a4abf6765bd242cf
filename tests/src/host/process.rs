//! The running host.

use std::fmt::Display;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::command::{self, Finished};
use super::config::Builder;
use super::resources::{Resources, resources};
use super::status::{ComponentStatus, State, Status};
use crate::patience::{PATIENCE, patiently};

/// Time between two looks at something that tells no change.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Name of the threads that wait for a child of the host.
const CHILD_THREAD: &str = "nrih-child";

/// Lines of the log that errors show.
const LOG_TAIL: usize = 40;

/// A host. Dropping it kills it, and prints the end of its log unless it is [`Builder::quiet`].
#[derive(Debug)]
pub struct Host {
    child: Child,
    pid: u32,
    config: PathBuf,
    quiet: bool,
    // After the child, which writes into it.
    folder: TempDir,
}

impl Drop for Host {
    #[expect(
        clippy::print_stderr,
        reason = "the harness shows it with a failed test"
    )]
    fn drop(&mut self) {
        if !self.quiet {
            eprintln!("{}", self.log_tail());
        }
    }
}

impl Host {
    /// A host to be described.
    ///
    /// # Panics
    ///
    /// When no temporary folder can be made.
    pub fn builder() -> Builder {
        Builder::new().expect("a temporary folder can be made")
    }

    pub(super) fn start(
        folder: TempDir,
        config: PathBuf,
        mut command: Command,
        quiet: bool,
    ) -> Result<Self> {
        let log = File::create(folder.path().join("log")).context("cannot make the log")?;
        command.arg("run").arg("--config").arg(&config);
        command.stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("cannot run nri-host")?;
        let pid = child
            .id()
            .context("a child that was not waited for has an id")?;
        Ok(Self {
            child,
            pid,
            config,
            quiet,
            folder,
        })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The folder in which everything of this host lies.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Path of the admin socket.
    pub fn admin_socket(&self) -> PathBuf {
        self.folder().join("run/nri-host.sock")
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the log contains a text.
    ///
    /// # Errors
    ///
    /// When it does not for far too long.
    pub async fn logged(&self, text: &str) -> Result<()> {
        self.logged_times(text, 1).await
    }

    /// Waits until the log contains a text so many times.
    ///
    /// # Errors
    ///
    /// When it does not for far too long.
    pub async fn logged_times(&self, text: &str, times: usize) -> Result<()> {
        self.poll(&format!("{text:?} in the log, {times} times"), async || {
            Ok((self.log().matches(text).count() >= times).then_some(()))
        })
        .await
    }

    /// Runs another command with this host's configuration, such as `status`.
    ///
    /// # Errors
    ///
    /// When it cannot be run or does not end.
    pub async fn run(&self, arguments: &[&str]) -> Result<Finished> {
        command::run(&self.config, arguments, &[], &[]).await
    }

    /// Another command with this host's configuration, started by `launcher` if that is not empty.
    ///
    /// # Errors
    ///
    /// When it cannot be built.
    pub fn command(&self, launcher: &[&str], arguments: &[&str]) -> Result<Command> {
        let launcher: Vec<String> = launcher.iter().map(|&word| word.to_owned()).collect();
        let mut command = command::nri_host(&[], &launcher)?;
        command.args(arguments).arg("--config").arg(&self.config);
        Ok(command)
    }

    /// What `nri-host status --json` says.
    ///
    /// # Errors
    ///
    /// When the command fails.
    pub async fn status(&self) -> Result<Status> {
        let finished = self.run(&["status", "--json"]).await?;
        ensure!(finished.code == Some(0), "status failed: {finished:?}");
        serde_json::from_str(&finished.stdout)
            .with_context(|| format!("cannot read the status: {}", finished.stdout))
    }

    /// What the admin socket says, without a process in between.
    ///
    /// # Errors
    ///
    /// When the socket cannot be reached or answers anything but a status.
    pub async fn status_from_socket(&self) -> Result<Status> {
        let answer = self.ask("GET", "/status", "").await?;
        ensure!(answer.status == 200, "admin socket: {answer:?}");
        let body = answer.body;
        serde_json::from_str(&body).with_context(|| format!("cannot read the status: {body}"))
    }

    /// Waits until the status is as wanted, and returns it.
    ///
    /// # Errors
    ///
    /// When it is not for far too long; the error tells what it is instead.
    pub async fn wait_status(
        &self,
        what: impl Display,
        condition: impl Fn(&Status) -> bool,
    ) -> Result<Status> {
        let look = async || match self.status_from_socket().await {
            Ok(status) if condition(&status) => Ok(Some(status)),
            Ok(_) => Ok(None),
            // It may not serve yet.
            Err(error) => Err(error),
        };
        self.poll(&what.to_string(), look).await
    }

    /// Waits until a component is in a state, and returns what is said of it.
    ///
    /// # Errors
    ///
    /// As [`Self::wait_status`].
    pub async fn wait_state(&self, name: &str, state: State) -> Result<ComponentStatus> {
        let is = |component: &ComponentStatus| component.state == state;
        self.wait_component(name, &format!("{state:?}"), is).await
    }

    /// Waits until what is said of a component is as wanted.
    ///
    /// # Errors
    ///
    /// As [`Self::wait_status`].
    pub async fn wait_component(
        &self,
        name: &str,
        what: &str,
        condition: impl Fn(&ComponentStatus) -> bool,
    ) -> Result<ComponentStatus> {
        let status = self
            .wait_status(format_args!("{name} to be {what}"), |status| {
                status.component(name).is_some_and(&condition)
            })
            .await?;
        status
            .component(name)
            .cloned()
            .context("it was there a moment ago")
    }

    /// Looks again and again until there is something to see.
    async fn poll<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            let seen = look().await;
            if let Ok(Some(found)) = seen {
                return Ok(found);
            }
            if start.elapsed() > PATIENCE || !self.is_running() {
                let seen = match seen {
                    Err(error) => format!("{error:#}"),
                    Ok(_) => "not so".to_owned(),
                };
                bail!("waited for {what}: {seen}\n{}", self.describe().await);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Whether the process is there and not a zombie.
    pub fn is_running(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The state follows the name, which is in parentheses.
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    /// State and end of the log, for errors.
    async fn describe(&self) -> String {
        let status = match self.status_from_socket().await {
            Ok(status) => status.to_string(),
            Err(error) => format!("no status: {error:#}"),
        };
        format!("{status}\n{}", self.log_tail())
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_TAIL)..].join("\n");
        format!("--- end of the host's log ---\n{tail}")
    }

    /// Descriptors, threads and memory.
    ///
    /// # Errors
    ///
    /// When the host has ended.
    pub fn resources(&self) -> Result<Resources> {
        resources(self.pid)
    }

    /// Descriptors, threads and memory, once nothing is left of the children of the start.
    ///
    /// # Errors
    ///
    /// When that takes far too long, or the host has ended.
    pub async fn settled(&self) -> Result<Resources> {
        self.wait_resources("no child to be waited for", |now| {
            !now.threads.iter().any(|name| name == CHILD_THREAD)
        })
        .await
    }

    /// Waits until descriptors, threads and memory are as wanted, and returns them.
    ///
    /// # Errors
    ///
    /// When they are not for far too long, or the host has ended.
    pub async fn wait_resources(
        &self,
        what: &str,
        condition: impl Fn(&Resources) -> bool,
    ) -> Result<Resources> {
        let look = async || {
            let resources = self.resources()?;
            if condition(&resources) {
                return Ok(Some(resources));
            }
            Err(anyhow!("{resources:?}"))
        };
        self.poll(what, look).await
    }

    /// Sends a signal. After `SIGSTOP` all threads stand still once this returns.
    ///
    /// # Errors
    ///
    /// When the host has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid)?);
        kill(pid, signal).with_context(|| format!("cannot send {signal}"))?;
        if signal == Signal::SIGSTOP {
            // The kernel reports it when the last thread has stopped. It stays there for others.
            let stopped = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            waitid(Id::Pid(pid), stopped).context("cannot wait until the host stands still")?;
        }
        Ok(())
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    ///
    /// When it does not end for far too long; the error tells what it does instead.
    pub async fn ended(&mut self) -> Result<ExitStatus> {
        match patiently("the end of the host", self.child.wait()).await {
            Ok(status) => status.context("cannot wait for the host"),
            Err(error) => Err(error.context(self.describe().await)),
        }
    }

    /// Asks it to end as systemd does, and returns how it ended and after what time.
    ///
    /// # Errors
    ///
    /// As [`Self::ended`].
    pub async fn stop(&mut self) -> Result<(ExitStatus, Duration)> {
        let start = Instant::now();
        self.signal(Signal::SIGTERM)?;
        let status = self.ended().await?;
        Ok((status, start.elapsed()))
    }
}
