//! Real containerd with real containers, apart from any other on the machine.
//!
//! Root, state, sockets, runc's root, image and log are in one temporary
//! folder; pods use the host's network, or one of their own with nothing in it.
//! What was started is ended with the value, shims and mounts included, and
//! nothing else is.

mod build;
mod config;
mod cri;
mod image;
mod teardown;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

pub use build::{RELEASES, Release, V1_7, V2_1, V2_4, missing};
pub use cri::{Container, Pod};
pub use image::Image;

/// Longest wait for containerd or its CRI service to get somewhere.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks at something that tells nobody when it changes.
const POLL: Duration = Duration::from_millis(20);

/// How long containerd may take to end when it is asked to.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A running containerd, or one between [`kill9`](Self::kill9) and
/// [`restart`](Self::restart).
#[derive(Debug)]
pub struct Containerd {
    release: Release,
    /// Folders whose programs come before those of `PATH`.
    programs: Vec<PathBuf>,
    crictl: PathBuf,
    process: Option<Child>,
    dir: TempDir,
}

impl Containerd {
    /// Starts a containerd of this release with NRI on, and gives it the image
    /// that all pods use.
    ///
    /// # Errors
    ///
    /// If it does not build, start or take the image; with the end of its log.
    pub fn start(release: Release) -> Result<Self> {
        Self::start_with(release, "")
    }

    /// The same with more tables in its configuration file.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with(release: Release, tables: &str) -> Result<Self> {
        Self::start_from(release, vec![release.programs()?], tables)
    }

    /// The same with the newest OCI runtime that the tests know.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with_new_runc(release: Release) -> Result<Self> {
        Self::start_from(release, vec![release.programs()?, build::new_runc()?], "")
    }

    fn start_from(release: Release, programs: Vec<PathBuf>, tables: &str) -> Result<Self> {
        let crictl = build::crictl()?;
        // Unix sockets allow 107 bytes for the path of all that is below.
        let dir = tempfile::Builder::new().prefix("nrih-").tempdir()?;
        config::write(release, dir.path(), tables)?;
        let mut containerd = Self {
            release,
            programs,
            crictl,
            process: None,
            dir,
        };
        containerd.restart()?;
        containerd.import(image::NAME, Image::busybox(image::NAME)?)?;
        Ok(containerd)
    }

    /// The release, such as `2.4.2`.
    #[must_use]
    pub fn version(&self) -> &'static str {
        self.release.version
    }

    /// A folder that lives as long as this value.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where NRI plugins connect.
    #[must_use]
    pub fn nri_socket(&self) -> PathBuf {
        self.dir().join(config::NRI_SOCKET)
    }

    /// What containerd has logged, over all its starts.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn log(&self) -> Result<String> {
        fs::read_to_string(self.log_path()).context("reading containerd's log")
    }

    /// Waits until its log contains a text.
    ///
    /// # Errors
    ///
    /// If it does not within a minute.
    pub fn logged(&self, text: &str) -> Result<()> {
        self.wait(&format!("{text:?} in the log"), || match self.log() {
            Ok(log) if log.contains(text) => Ok(()),
            Ok(_) => Err("not there".to_owned()),
            Err(error) => Err(format!("{error:#}")),
        })
    }

    /// Kills containerd; shims and containers go on.
    ///
    /// # Errors
    ///
    /// If it had ended by itself.
    pub fn kill9(&mut self) -> Result<()> {
        let mut process = self.process.take().context("containerd does not run")?;
        process.kill()?;
        let status = process.wait()?;
        ensure!(
            status.signal() == Some(Signal::SIGKILL as i32),
            "containerd ended before: {status}"
        );
        Ok(())
    }

    /// Starts containerd again and waits until its CRI service answers.
    ///
    /// # Errors
    ///
    /// If it runs already, does not start, or does not answer within a minute.
    pub fn restart(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "containerd runs already");
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = self.programs.iter().cloned();
        let folders = folders.chain(std::env::split_paths(&path));
        let process = Command::new(self.programs[0].join("containerd"))
            .arg("--config")
            .arg(self.dir().join(config::FILE))
            // It looks for its shim there, which looks for runc.
            .env("PATH", std::env::join_paths(folders)?)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("starting containerd")?;
        self.process = Some(process);
        self.wait("its CRI service", || {
            self.crictl(["info"])
                .map(|_| ())
                .map_err(|error| format!("{error:#}"))
        })
    }

    fn log_path(&self) -> PathBuf {
        self.dir().join("containerd.log")
    }

    fn grpc_socket(&self) -> PathBuf {
        self.dir().join(config::GRPC_SOCKET)
    }

    /// Imports an image and waits until the CRI service, which hears of it by an event, knows it
    /// by its name.
    ///
    /// # Errors
    ///
    /// If containerd does not take it; with the end of its log.
    pub fn import(&self, name: &str, image: Image) -> Result<()> {
        let archive = self.dir().join("image.tar");
        image.write(&archive)?;
        let output = Command::new(self.programs[0].join("ctr"))
            .arg("--address")
            .arg(self.grpc_socket())
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(archive)
            .output()
            .context("starting ctr")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "ctr images import: {complaint}\n{}",
            self.log_end()
        );
        self.wait(&format!("the imported image {name}"), || {
            let known = self.crictl(["inspecti", name]);
            known.map(|_| ()).map_err(|error| format!("{error:#}"))
        })
    }

    /// Looks again and again, as nothing tells when the time has come.
    fn wait(&self, what: &str, look: impl Fn() -> Result<(), String>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while let Err(not_yet) = look() {
            ensure!(
                Instant::now() < until,
                "waited in vain for {what}: {not_yet}\n{}",
                self.log_end()
            );
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// The last lines of the log, for errors.
    fn log_end(&self) -> String {
        let log = self.log().unwrap_or_else(|error| format!("{error:#}"));
        let lines: Vec<&str> = log.lines().rev().take(30).collect();
        format!(
            "containerd's log ends with:\n{}",
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        )
    }

    /// Asks containerd to end, and kills it if it does not.
    fn stop(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        let pid = Pid::from_raw(i32::try_from(process.id()).expect("process ids fit"));
        kill(pid, Signal::SIGTERM)?;
        let until = Instant::now() + STOP_PATIENCE;
        while process.try_wait()?.is_none() {
            if Instant::now() > until {
                process.kill()?;
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        // Each step is done whatever became of those before it.
        let steps = [
            ("removing pods", self.remove_pods()),
            ("stopping containerd", self.stop()),
            (
                "ending shims",
                teardown::end_shims(self.dir(), &self.grpc_socket()),
            ),
            ("unmounting", teardown::unmount_below(self.dir())),
            (
                "removing cgroups",
                teardown::remove_cgroups(&config::cgroup_parent(self.dir())),
            ),
        ];
        for (step, result) in steps {
            if let Err(error) = result {
                crate::tier::say(&format!("containerd {}: {step}: {error:#}", self.version()));
            }
        }
    }
}
