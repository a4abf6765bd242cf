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
use crate::config::{Config, Loaded};

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
    if let Err(error) = node.list(Path::new("/proc")) {
        let what = format!("the processes of the node cannot be seen: {error}");
        findings.push(Finding::unknown("processes-unseen", what));
    }
    let runtimes = runtime::find(&node, known);
    let relevant = relevant(&runtimes, own.config);
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
    let has_unit = unit::examine(&node, &mut findings);
    daemon::examine(&status, &node, has_unit, &mut findings);
    Ok(Report::new(findings))
}

/// Those that matter: those that run, of them the ones that serve pods, and of them the ones at our
/// socket, each as far as there are any.
fn relevant<'a>(runtimes: &'a [Runtime], config: Option<&Config>) -> Vec<&'a Runtime> {
    let is_at_our_socket =
        |one: &Runtime| config.is_some_and(|config| one.is_at(&config.runtime.socket));
    let mut relevant: Vec<&Runtime> = runtimes.iter().collect();
    keep(&mut relevant, Runtime::runs);
    keep(&mut relevant, Runtime::serves_pods);
    keep(&mut relevant, is_at_our_socket);
    relevant
}

/// Leaves out those that do not fit, unless none does.
fn keep(runtimes: &mut Vec<&Runtime>, fits: impl Fn(&Runtime) -> bool) {
    if runtimes.iter().any(|one| fits(one)) {
        runtimes.retain(|one| fits(one));
    }
}

fn set_aside(runtime: &Runtime) -> Finding {
    let state = match (runtime.runs(), runtime.serves_pods()) {
        (false, _) => "is installed and does not run".to_owned(),
        (true, false) => "serves no pods".to_owned(),
        (true, true) => format!(
            "has its socket at {}",
            runtime.settings.socket.value.display()
        ),
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
