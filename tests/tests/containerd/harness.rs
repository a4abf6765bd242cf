//! The harness itself, with a plugin that is not ours.

use std::path::Path;
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use nri_host_tests::containerd::{self, Containerd, Release, V1_7, V2_4};
use nri_host_tests::tier;

const TIER: &str = "real containerd";

#[test]
fn containerd_1_7_runs_containers_loses_them_not_when_killed_and_leaves_nothing() -> Result<()> {
    runs_and_leaves_nothing(V1_7)
}

#[test]
fn containerd_2_4_runs_containers_loses_them_not_when_killed_and_leaves_nothing() -> Result<()> {
    runs_and_leaves_nothing(V2_4)
}

fn runs_and_leaves_nothing(release: Release) -> Result<()> {
    if tier::skipped(TIER, containerd::missing()) {
        return Ok(());
    }
    let mut containerd = Containerd::start(release)?;
    let dir = containerd.dir().to_owned();
    let mut plugin = floor(&containerd.nri_socket())?;

    let pod = containerd.run_pod("first", &[("key", "value")])?;
    let container = containerd.run_container(&pod, "main", &["/bin/sleep", "infinity"])?;
    assert_eq!(
        containerd.exec(&container, &["cat", "/proc/1/comm"])?,
        "sleep"
    );

    containerd.kill9()?;
    let lost = plugin.wait()?;
    assert!(lost.success(), "the plugin saw its connection end: {lost}");
    containerd.restart()?;
    assert_eq!(
        containerd.exec(&container, &["cat", "/proc/1/comm"])?,
        "sleep"
    );
    let echo = containerd.run_container(&pod, "echo", &["/bin/sh", "-c", "echo hello"])?;
    containerd.wait_exited(&echo)?;
    assert_eq!(echo.logs()?, "hello\n");
    containerd.remove_container(&echo)?;
    containerd.stop_container(&container)?;
    containerd.remove_container(&container)?;

    drop(containerd);
    nothing_is_left(&dir)
}

#[test]
fn what_a_dead_containerd_leaves_is_cleared_away() -> Result<()> {
    if tier::skipped(TIER, containerd::missing()) {
        return Ok(());
    }
    let mut containerd = Containerd::start(V2_4)?;
    let dir = containerd.dir().to_owned();
    let pod = containerd.run_pod("orphan", &[])?;
    containerd.run_container(&pod, "main", &["/bin/sleep", "infinity"])?;
    containerd.kill9()?;
    let bundle = dir
        .join("state/io.containerd.runtime.v2.task/k8s.io")
        .join(&pod.id);
    let bootstrap = std::fs::read_to_string(bundle.join("bootstrap.json"))?;
    let bootstrap: serde_json::Value = serde_json::from_str(&bootstrap)?;
    let address = bootstrap["address"]
        .as_str()
        .context("a shim has an address")?;
    let socket = Path::new(address.trim_start_matches("unix://"));
    assert!(socket.exists(), "{address}");
    drop(containerd);
    assert!(!socket.exists(), "{address} is left");
    nothing_is_left(&dir)
}

/// Starts the smallest plugin. It is called once it is synchronized, which the
/// runtime does before it creates the next container.
fn floor(socket: &Path) -> Result<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floor"));
    command
        .arg(socket)
        .args(["10", "floor"])
        .spawn()
        .context("starting the plugin")
}

fn nothing_is_left(dir: &Path) -> Result<()> {
    ensure!(!dir.exists(), "{} is left", dir.display());
    let name = dir.to_str().context("a path in UTF-8")?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    ensure!(!mounts.contains(name), "mounts are left: {mounts}");
    for process in std::fs::read_dir("/proc")?.filter_map(Result::ok) {
        let cmdline = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let cmdline = String::from_utf8_lossy(&cmdline).replace('\0', " ");
        ensure!(!cmdline.contains(name), "a process is left: {cmdline}");
    }
    Ok(())
}
