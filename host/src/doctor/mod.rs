//! Looks for what keeps components from working, and says what to do.
//!
//! | module | looks at |
//! |---|---|
//! | `own` | nri-host's configuration and libraries |
//! | `runtime` | container runtimes: their versions, processes and configuration |
//! | `socket` | the way to the runtime |
//! | `devices` | CDI and hooks, for the components that deal with them |
//! | `system` | the kernel and the C library |
//! | `unit` | the service of systemd |
//! | `daemon` | the running host, and whether there are two |
//!
//! Nothing is written, and no code of a component runs in this process. What cannot be looked at is
//! said as well.

mod daemon;
mod devices;
mod finding;
mod node;
mod own;
mod process;
mod program;
mod runtime;
mod socket;
mod system;
mod unit;

use std::io;
use std::path::Path;

pub use finding::{Finding, Level, Report, Step};
use node::Node;
use runtime::Runtime;
use socket::Socket;

use crate::admin::status::RuntimeState;
use crate::config::Loaded;

/// Looks at everything. `file` is the main configuration file that was `loaded`, and `root` where the
/// root folder of the node is seen. Blocks for as long as libraries, programs and the daemon may take
/// to answer.
///
/// # Errors
///
/// When `root` is no folder that can be looked into.
pub fn examine(loaded: &Loaded, file: &Path, root: &Path) -> io::Result<Report> {
    let node = Node::new(root)?;
    let mut findings = Vec::new();
    let own = own::examine(loaded, file, &mut findings);
    let host = own
        .config
        .map(|config| config.host.clone())
        .unwrap_or_default();
    let status = daemon::ask(&host);
    let known = status.as_ref().ok().map(|status| &status.runtime);
    let connected = known.is_some_and(|runtime| runtime.state == RuntimeState::Connected);
    let runtimes = runtime::find(&node, known);
    let relevant = relevant(&runtimes);
    let mut way = Vec::new();
    let socket = match own.config {
        Some(config) => socket::examine(config, &node, &relevant, connected, &mut way),
        None => Socket::Silent,
    };
    for runtime in &relevant {
        runtime::judge(runtime, &node, &own, socket, &mut findings);
    }
    for runtime in &runtimes {
        if !relevant.iter().any(|other| std::ptr::eq(*other, runtime)) {
            findings.push(set_aside(runtime));
        }
    }
    runtime::judge_together(&runtimes, &mut findings);
    findings.extend(way);
    findings.extend(presence(&runtimes, socket));
    devices::examine(&own, &relevant, &mut findings);
    system::examine(own.config, &node, &mut findings);
    unit::examine(&node, &mut findings);
    daemon::examine(&status, &node, &mut findings);
    Ok(Report::new(findings))
}

/// Those that matter: of those that run the ones that serve pods, as far as there are any.
fn relevant(runtimes: &[Runtime]) -> Vec<&Runtime> {
    let serves_pods = |runtime: &&Runtime| runtime.settings.cri_left_out_by.is_none();
    let running: Vec<_> = runtimes.iter().filter(|one| one.runs()).collect();
    let candidates = match running.is_empty() {
        true => runtimes.iter().collect(),
        false => running,
    };
    let serving: Vec<_> = candidates
        .iter()
        .copied()
        .filter(|one| serves_pods(one))
        .collect();
    match serving.is_empty() {
        true => candidates,
        false => serving,
    }
}

fn set_aside(runtime: &Runtime) -> Finding {
    let state = match runtime.runs() {
        true => "serves no pods",
        false => "is installed and does not run",
    };
    Finding::ok("runtime-aside", format!("{runtime} {state}"))
}

/// Whether there is a runtime at all, and whether it runs.
fn presence(runtimes: &[Runtime], socket: Socket) -> Option<Finding> {
    let Some(first) = runtimes.first() else {
        return Some(
            Finding::problem("no-runtime", "neither containerd nor CRI-O was found")
                .because(format!("{}.", runtime::places()))
                .say(
                    "In a container, give it the node's root folder with --root, and its processes \
                     with hostPID.",
                ),
        );
    };
    if runtimes.iter().any(Runtime::runs) {
        return None;
    }
    let what = format!("no process of {} is seen", first.distribution.name);
    Some(match socket {
        Socket::Listens => Finding::unknown("runtime-not-seen", what)
            .because("Somebody listens on the socket, so it runs where its processes are not seen from here."),
        Socket::Silent => Finding::problem("runtime-not-running", what)
            .because("Nobody listens on the socket, either.")
            .run(first.distribution.restart),
    })
}
