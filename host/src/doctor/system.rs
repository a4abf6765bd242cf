//! The kernel and what else is below.

use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};

use super::finding::Finding;
use super::node::Node;
use crate::component::load::running_glibc;
use crate::config::Config;

/// What the kernel does with memory files that are to be executed; 2: it lets nobody make one.
const MEMFD_NOEXEC: &str = "/proc/sys/vm/memfd_noexec";

/// Says on what the host runs, and whether that keeps libraries from being loaded.
pub(super) fn examine(config: Option<&Config>, node: &Node, findings: &mut Vec<Finding>) {
    let read = |path: &str| {
        node.read(Path::new(path))
            .map(|text| text.trim().to_owned())
    };
    let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_else(|_| "unknown".to_owned());
    let glibc = running_glibc().map_or("unknown".to_owned(), |version| version.to_string());
    let unified = Path::new("/sys/fs/cgroup/cgroup.controllers");
    let cgroup = match node.metadata(unified) {
        Ok(_) => "v2",
        Err(_) => "v1, or not mounted",
    };
    findings.push(Finding::ok(
        "system",
        format!(
            "Linux {kernel} ({}), glibc {glibc}, cgroup {cgroup}",
            std::env::consts::ARCH
        ),
    ));
    let forbidden = read(MEMFD_NOEXEC).is_ok_and(|level| level == "2");
    if let Some(config) = config.filter(|_| forbidden) {
        findings.push(memory_files(config));
    }
}

/// Copies of libraries are made on disk then.
fn memory_files(config: &Config) -> Finding {
    let folder = &config.host.state_dir;
    let shown = folder.display();
    let what = "memory files may not be executed here (vm.memfd_noexec = 2)";
    match statvfs(folder).map(|system| system.flags().contains(FsFlags::ST_NOEXEC)) {
        Ok(true) => Finding::problem("memfd-noexec", format!("{what}, nor may files in {shown}"))
            .because("No library can be loaded: copies are made in one or the other.")
            .say(format!(
                "Mount {shown} without noexec, or set state_dir in [host]."
            )),
        Ok(false) => Finding::ok(
            "memfd",
            format!("{what}; copies of libraries are made in {shown}"),
        ),
        Err(error) => Finding::warning("memfd-noexec", what).because(format!(
            "Copies of libraries need {shown}: {}.",
            error.desc()
        )),
    }
}
