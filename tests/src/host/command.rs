//! Commands of `nri-host` that end by themselves.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use tokio::process::Command;

use crate::artifacts::artifacts;
use crate::patience::patiently;

/// What a command left behind.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// The binary with the variables that steer it cleared, started by `launcher` if that is not empty.
pub(super) fn nri_host(environment: &[(String, String)], launcher: &[String]) -> Result<Command> {
    let host = artifacts()?.host();
    let mut command = match launcher {
        [] => Command::new(host),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(host);
            command
        }
    };
    for name in [
        "NRI_HOST_CONFIG",
        "NRI_HOST_SOCKET",
        "NRI_HOST_LOG",
        "NOTIFY_SOCKET",
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(name);
    }
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// Runs a command to its end.
pub(super) async fn run(
    config: &Path,
    arguments: &[&str],
    environment: &[(String, String)],
    launcher: &[String],
) -> Result<Finished> {
    let mut command = nri_host(environment, launcher)?;
    let output = command.arg("--config").arg(config).args(arguments).output();
    let output = patiently(&format!("the end of {arguments:?}"), output)
        .await?
        .with_context(|| format!("cannot run nri-host {arguments:?}"))?;
    Ok(Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
