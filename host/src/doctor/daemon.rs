//! The running daemon, and whether there are two.

use super::finding::Finding;
use super::node::Node;
use super::process::{Process, processes};
use crate::admin::client::{AskError, ask_status};
use crate::admin::status::{ComponentStatus, State, Status};
use crate::chain;
use crate::config::HostConfig;

/// Asks the daemon, if there is one. Blocks for as long as that may take.
///
/// # Errors
///
/// Says why there is no answer.
pub(super) fn ask(host: &HostConfig) -> Result<Status, AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| AskError::Connect {
            path: host.admin_socket(),
            source,
        })?;
    runtime.block_on(ask_status(host))
}

/// Says how it is.
pub(super) fn examine(
    status: &Result<Status, AskError>,
    node: &Node,
    has_unit: bool,
    findings: &mut Vec<Finding>,
) {
    let hosts = processes(node, &["nri-host"]).unwrap_or_default();
    let hosts: Vec<_> = hosts.iter().filter(|process| is_daemon(process)).collect();
    match status {
        Ok(status) => running(status, findings),
        Err(error) => findings.push(not_running(error, &hosts, has_unit)),
    }
    if hosts.len() > 1 {
        findings.push(twice(&hosts));
    }
}

fn is_daemon(process: &Process) -> bool {
    process.arguments.iter().any(|argument| argument == "run")
}

fn not_running(error: &AskError, hosts: &[&Process], has_unit: bool) -> Finding {
    let denied = matches!(error, AskError::Connect { source, .. }
        if source.kind() == std::io::ErrorKind::PermissionDenied);
    let reason = match error {
        AskError::Connect { path, .. } => format!("Nobody answers at {}.", path.display()),
        error => format!("{}.", chain(error)),
    };
    match hosts {
        _ if denied => Finding::unknown("host-unreachable", "nri-host cannot be asked how it is")
            .because(format!("{}.", chain(error)))
            .say("Run doctor as root."),
        [] => {
            let finding = Finding::warning("host-not-running", "nri-host does not run");
            match has_unit {
                true => finding
                    .because(reason)
                    .run("systemctl enable --now nri-host"),
                false => finding
                    .because(reason)
                    .say("There is no nri-host.service here: install its package, or run it.")
                    .run("nri-host run"),
            }
        }
        [host, ..] => Finding::problem(
            "host-silent",
            format!("nri-host runs as process {} and does not answer", host.pid),
        )
        .because(reason)
        .say("See that runtime_dir is the same as when it was started; it may be in a container.")
        .run("journalctl -u nri-host -n 50 --no-pager"),
    }
}

fn running(status: &Status, findings: &mut Vec<Finding>) {
    let ready = if status.ready { "ready" } else { "not ready" };
    let (version, pid) = (&status.version, status.pid);
    findings.push(Finding::ok(
        "host",
        format!("nri-host {version} runs as process {pid}, and is {ready}"),
    ));
    if version != env!("CARGO_PKG_VERSION") {
        findings.push(
            Finding::warning(
                "host-not-restarted",
                format!(
                    "the running nri-host is version {version}, the installed one {}",
                    env!("CARGO_PKG_VERSION")
                ),
            )
            .run("systemctl restart nri-host"),
        );
    }
    let trouble = status.runtime.trouble.as_deref();
    findings.extend(
        status
            .components
            .iter()
            .filter_map(|one| component(one, trouble)),
    );
    findings.extend(freezes(status));
}

/// `None`: all is well with it. What is in the way of all of them is told elsewhere.
fn component(component: &ComponentStatus, trouble: Option<&str>) -> Option<Finding> {
    let name = match (&component.name, component.index) {
        (Some(name), Some(index)) => crate::config::plugin_name(index, name),
        (Some(name), None) => name.clone(),
        _ => "a component without a name".to_owned(),
    };
    let state = component.state?;
    let what = format!("{name} is {}", state.as_str());
    let reset = component.name.as_deref().unwrap_or_default();
    let reset = format!("nri-host reset {reset}");
    let finding = match state {
        State::Active | State::Disabled | State::Handshaking => return None,
        State::Waiting if trouble.is_some() => return None,
        State::Waiting | State::Unsynced => Finding::warning("component-state", what),
        State::Overdue | State::Quarantined | State::Failed => {
            Finding::problem("component-state", what).run(reset)
        }
    };
    Some(match &component.reason {
        Some(reason) => finding.because(format!("{reason}.")),
        None => finding,
    })
}

/// Before NRI 0.12.1 an update and a call that meet can wait for each other for ever.
fn freezes(status: &Status) -> Option<Finding> {
    let runtime = crate::runtime::version::RuntimeVersion {
        name: status.runtime.name.clone()?,
        version: status.runtime.version.clone()?,
        nri_version: status.runtime.nri_version.clone().unwrap_or_default(),
    };
    let sends =
        |one: &&ComponentStatus| one.updates.as_ref().is_some_and(|updates| updates.sent > 0);
    let sender = status.components.iter().find(sends)?;
    runtime.can_freeze_on_updates().then(|| {
        Finding::warning(
            "updates-can-freeze",
            format!(
                "{} changes running containers, which can freeze NRI in {} {}",
                sender.name.as_deref().unwrap_or_default(),
                runtime.name,
                runtime.version
            ),
        )
        .because(
            "Before NRI 0.12.1 the runtime can wait for itself when such a change meets a request. \
             The host waits for a quiet moment, which makes that rare.",
        )
        .say("Update to containerd 2.4, or switch that component off if pods hang.")
    })
}

fn twice(hosts: &[&Process]) -> Finding {
    let describe = |host: &&Process| {
        let place = match host.unit() {
            _ if host.is_in_a_container() => " in a pod".to_owned(),
            Some(unit) => format!(" of {unit}"),
            None => String::new(),
        };
        format!("process {}{place}", host.pid)
    };
    let all: Vec<_> = hosts.iter().map(describe).collect();
    Finding::problem(
        "host-twice",
        format!("nri-host runs twice: {}", all.join(", ")),
    )
    .because("Each component is asked twice, and one of its adjustments is refused as a conflict.")
    .say("Keep one: either the service or the DaemonSet.")
    .run("systemctl disable --now nri-host")
    .run("kubectl get daemonsets -A | grep nri-host")
}
