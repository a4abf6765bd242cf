//! The processes of the node.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::unistd::geteuid;

use super::node::Node;

/// The field of a process' `stat` with its start, counted from the one after its name.
const STARTED: usize = 19;
/// The kernel tells times to programs in this unit on all systems that we run on.
const TICKS_PER_SECOND: u64 = 100;

/// A process that root or the caller runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// The name of its program.
    pub(super) name: String,
    /// Those after its name.
    pub(super) arguments: Vec<String>,
    /// As `/proc` has it.
    cgroup: String,
}

impl Process {
    /// The folder about it.
    pub(super) fn folder(&self) -> PathBuf {
        Path::new("/proc").join(self.pid.to_string())
    }

    /// The value of an option, in any of the forms `--name value`, `--name=value` and with one dash.
    pub(super) fn option(&self, names: &[&str]) -> Option<&str> {
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            let Some(option) = argument.strip_prefix('-') else {
                continue;
            };
            let option = option.strip_prefix('-').unwrap_or(option);
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option, None),
            };
            if names.contains(&name) {
                return value.or_else(|| arguments.next().map(String::as_str));
            }
        }
        None
    }

    /// When it began, to about a second; `None` if the kernel does not tell.
    pub(super) fn started(&self, node: &Node) -> Option<SystemTime> {
        let system = node.read(Path::new("/proc/stat")).ok()?;
        let boot = system
            .lines()
            .find_map(|line| line.strip_prefix("btime "))?;
        let own = node.read(&self.folder().join("stat")).ok()?;
        // The name of the program is in brackets and may hold anything.
        let (_, fields) = own.rsplit_once(')')?;
        let ticks: u64 = fields.split_whitespace().nth(STARTED)?.parse().ok()?;
        let since_boot = Duration::from_secs(ticks / TICKS_PER_SECOND);
        let boot = Duration::from_secs(boot.trim().parse().ok()?);
        SystemTime::UNIX_EPOCH.checked_add(boot + since_boot)
    }

    /// Whether it belongs to a container of the node.
    pub(super) fn is_in_a_container(&self) -> bool {
        const MARKS: [&str; 5] = ["kubepods", "/docker/", "docker-", "libpod", "crio-"];
        MARKS.iter().any(|mark| self.cgroup.contains(mark))
    }

    /// The service that it belongs to.
    pub(super) fn unit(&self) -> Option<&str> {
        self.cgroup
            .split(['/', '\n'])
            .rfind(|part| part.ends_with(".service"))
    }
}

/// All processes whose program has one of these names, and that root or the caller runs.
///
/// # Errors
///
/// When `/proc` cannot be listed.
pub(super) fn processes(node: &Node, names: &[&str]) -> io::Result<Vec<Process>> {
    let pids = node.list(Path::new("/proc"))?;
    let mut pids: Vec<u32> = pids
        .iter()
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids
        .into_iter()
        .filter_map(|pid| process(node, pid, names))
        .collect())
}

/// `None` also where it has ended meanwhile, or waits to be forgotten.
fn process(node: &Node, pid: u32, names: &[&str]) -> Option<Process> {
    let folder = Path::new("/proc").join(pid.to_string());
    let name = node.read(&folder.join("comm")).ok()?.trim_end().to_owned();
    if !names.contains(&name.as_str()) {
        return None;
    }
    let owner = node.metadata(&folder).ok()?.uid();
    if ![0, geteuid().as_raw()].contains(&owner) {
        return None;
    }
    // Its files are not those of the node then.
    let is_elsewhere = |root: PathBuf| node.is_own() && root != Path::new("/");
    if node.link(&folder.join("root")).is_ok_and(is_elsewhere) {
        return None;
    }
    let command = node.read(&folder.join("cmdline")).ok()?;
    if command.is_empty() {
        return None;
    }
    let arguments = command.trim_end_matches('\0').split('\0').skip(1);
    Some(Process {
        pid,
        name,
        arguments: arguments.map(str::to_owned).collect(),
        cgroup: node.read(&folder.join("cgroup")).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(arguments: &[&str], cgroup: &str) -> Process {
        Process {
            pid: 1,
            name: "crio".into(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            cgroup: cgroup.into(),
        }
    }

    #[test]
    fn options_are_found_in_each_form() {
        for arguments in [
            &["--config", "/x"][..],
            &["-c", "/x"],
            &["--log-level", "debug", "--config=/x"],
            &["-config=/x", "--config", "/y"],
        ] {
            let process = process(arguments, "");
            assert_eq!(
                process.option(&["config", "c"]),
                Some("/x"),
                "{arguments:?}"
            );
        }
        assert_eq!(process(&["--config"], "").option(&["config"]), None);
        assert_eq!(process(&["run", "config"], "").option(&["config"]), None);
    }

    #[test]
    fn pods_and_units_are_told_by_the_cgroup() {
        let unit = process(&[], "0::/system.slice/nri-host.service\n");
        assert_eq!(unit.unit(), Some("nri-host.service"));
        assert!(!unit.is_in_a_container());
        for cgroup in [
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-a.scope",
            "12:cpu:/kubepods/besteffort/pod1/abc\n",
            "0::/system.slice/docker-abc.scope",
            "0::/machine.slice/libpod-abc.scope",
        ] {
            assert!(process(&[], cgroup).is_in_a_container(), "{cgroup}");
        }
    }
}
