//! The runtime's socket, as nri-host would reach it.

use std::path::Path;

use super::finding::Finding;
use super::node::Node;
use super::runtime::Runtime;
use crate::config::Config;
use crate::supervisor::{Trouble, connect_to};

/// Says `1` where SELinux is enforcing.
const SELINUX_ENFORCE: &str = "/sys/fs/selinux/enforce";

/// Whether somebody listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Socket {
    /// Somebody does.
    Listens,
    /// Nobody does, or it is not known.
    Silent,
}

/// Tries the socket, unless a daemon is `connected` to it.
pub(super) fn examine(
    config: &Config,
    node: &Node,
    runtimes: &[&Runtime],
    connected: bool,
    findings: &mut Vec<Finding>,
) -> Socket {
    let path = &config.runtime.socket;
    let shown = path.display();
    if connected {
        let what = format!("the running nri-host is connected to {shown}");
        findings.push(Finding::ok("socket", what));
        return Socket::Listens;
    }
    let trouble = match connect_to(path) {
        Ok(_) => {
            findings.push(Finding::ok(
                "socket",
                format!("somebody listens at {shown}"),
            ));
            selinux(node, path, findings);
            return Socket::Listens;
        }
        Err(trouble) => trouble,
    };
    let finding = Finding::problem(code(&trouble), format!("{shown}: {trouble}"));
    let running = runtimes.iter().find(|runtime| runtime.runs());
    let restart = running.map_or("systemctl restart containerd", |it| it.distribution.restart);
    findings.push(match trouble {
        Trouble::Missing(_) if running.is_some_and(|runtime| runtime.takes_plugins()) => finding
            .because("A runtime that has NRI on makes the socket when it starts.")
            .run(restart),
        Trouble::Refused => finding
            .say("In a container, mount the folder of the socket and not the socket.")
            .run(restart),
        Trouble::Busy => finding.run(restart),
        Trouble::Denied { selinux } => denied(finding, path, selinux || enforces(node)),
        Trouble::NotASocket(_) => finding
            .say("Remove what is there, and let the runtime make its socket.")
            .run(format!("ls -ld {shown}"))
            .run(restart),
        _ => finding,
    });
    Socket::Silent
}

fn code(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Missing(_) => "socket-missing",
        Trouble::NotASocket(_) => "socket-not-a-socket",
        Trouble::Refused => "socket-refused",
        Trouble::Busy => "socket-busy",
        Trouble::Denied { .. } => "socket-denied",
        _ => "socket-failed",
    }
}

fn denied(finding: Finding, path: &Path, selinux: bool) -> Finding {
    let path = path.display();
    let finding = finding
        .say("Run it as root. A service must not have User= or DynamicUser=.")
        .run(format!("namei -l {path}"));
    match selinux {
        false => finding,
        true => finding
            .run(format!("ls -Z {path}; ps -eZ | grep nri-host"))
            .run("ausearch -m avc -ts recent"),
    }
}

fn enforces(node: &Node) -> bool {
    node.read(Path::new(SELINUX_ENFORCE))
        .is_ok_and(|text| text.starts_with('1'))
}

/// The service runs in a domain of its own, which is not that of a shell.
fn selinux(node: &Node, path: &Path, findings: &mut Vec<Finding>) {
    if enforces(node) {
        findings.push(
            Finding::unknown(
                "selinux",
                "SELinux is enforcing; whether it lets the service through cannot be seen from here",
            )
            .because("This command was let through, in the domain of its caller.")
            .run(format!("ls -Z {}; ausearch -m avc -ts recent", path.display())),
        );
    }
}
