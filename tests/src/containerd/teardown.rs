//! Ends what containerd leaves when it dies without removing its pods.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;

/// Longest wait for killed processes to leave their cgroup.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// Kills the shims of the containerd in `dir`, which has this socket, and all
/// below them.
pub(super) fn end_shims(dir: &Path, socket: &Path) -> Result<()> {
    let sockets = shim_sockets(dir);
    for process in fs::read_dir("/proc")?.filter_map(Result::ok) {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process may end at any moment, and a zombie has no arguments.
        let Ok(arguments) = fs::read(process.path().join("cmdline")) else {
            continue;
        };
        if is_shim_of(&arguments, socket) {
            kill_tree(Pid::from_raw(pid))?;
        }
    }
    // Shims make them outside the folder, and a killed one leaves its own.
    for socket in sockets {
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                bail!("removing {}: {error}", socket.display())
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where the shims of the containerd in `dir` listen, as containerd keeps it for
/// its next start.
fn shim_sockets(dir: &Path) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Bootstrap {
        address: String,
    }
    let tasks = dir.join("state/io.containerd.runtime.v2.task/k8s.io");
    let bundles = fs::read_dir(tasks).into_iter().flatten();
    bundles
        .filter_map(|bundle| fs::read(bundle.ok()?.path().join("bootstrap.json")).ok())
        .filter_map(|json| serde_json::from_slice::<Bootstrap>(&json).ok())
        .filter_map(|shim| shim.address.strip_prefix("unix://").map(PathBuf::from))
        .collect()
}

/// Whether a command line is that of a shim with `-address SOCKET`.
fn is_shim_of(cmdline: &[u8], socket: &Path) -> bool {
    let arguments: Vec<&[u8]> = cmdline.split(|byte| *byte == 0).collect();
    let program = arguments[0]
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    program.starts_with(b"containerd-shim")
        && arguments
            .windows(2)
            .any(|pair| pair == [b"-address", socket.as_os_str().as_bytes()])
}

/// Kills a process and its descendants. It is stopped first, so that it neither
/// gets new ones nor makes old ones somebody else's.
fn kill_tree(pid: Pid) -> Result<()> {
    signal(pid, Signal::SIGSTOP)?;
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    for task in tasks.filter_map(Result::ok) {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children
            .split_whitespace()
            .filter_map(|child| child.parse().ok())
        {
            kill_tree(Pid::from_raw(child))?;
        }
    }
    signal(pid, Signal::SIGKILL)
}

fn signal(pid: Pid, signal: Signal) -> Result<()> {
    match kill(pid, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("{signal} to {pid}")),
    }
}

/// Unmounts everything below a folder, the last mounted first.
pub(super) fn unmount_below(dir: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    // Ours have no characters that would be escaped there.
    let points = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(Path::new);
    let points: Vec<&Path> = points.filter(|point| point.starts_with(dir)).collect();
    for point in points.into_iter().rev() {
        umount2(point, MntFlags::MNT_DETACH)
            .with_context(|| format!("unmounting {}", point.display()))?;
    }
    Ok(())
}

/// Removes a cgroup and those in it from every hierarchy.
pub(super) fn remove_cgroups(parent: &str) -> Result<()> {
    let root = Path::new("/sys/fs/cgroup");
    let name = parent.trim_start_matches('/');
    let mut hierarchies = vec![root.to_owned()];
    hierarchies.extend(
        fs::read_dir(root)?
            .filter_map(Result::ok)
            .map(|entry| entry.path()),
    );
    for group in hierarchies
        .into_iter()
        .map(|hierarchy| hierarchy.join(name))
    {
        if group.is_dir() {
            remove_cgroup(&group)?;
        }
    }
    Ok(())
}

fn remove_cgroup(group: &PathBuf) -> Result<()> {
    for entry in fs::read_dir(group)?.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path())?;
        }
    }
    let until = Instant::now() + PATIENCE;
    loop {
        match fs::remove_dir(group) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let busy = error.kind() == ErrorKind::ResourceBusy;
                ensure!(
                    busy && Instant::now() < until,
                    "removing {}: {error}",
                    group.display()
                );
            }
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_shim_of;

    #[test]
    fn only_shims_of_the_same_containerd_are_recognized() {
        let shim = b"/x/containerd-shim-runc-v2\0-id\0a\0-address\0/tmp/a/containerd.sock\0";
        assert!(is_shim_of(shim, Path::new("/tmp/a/containerd.sock")));
        assert!(!is_shim_of(shim, Path::new("/tmp/b/containerd.sock")));
        let editor = b"vi\0-address\0/tmp/a/containerd.sock\0";
        assert!(!is_shim_of(editor, Path::new("/tmp/a/containerd.sock")));
        assert!(!is_shim_of(b"", Path::new("/tmp/a/containerd.sock")));
    }
}
