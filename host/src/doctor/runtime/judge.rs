//! What is wrong with a runtime.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::finding::Finding;
use super::super::node::Node;
use super::super::own::Own;
use super::super::socket::Socket;
use super::layers::Reason;
use super::{Kind, Runtime, containerd, required, timeouts};
use crate::config::Config;

/// Where people put files for containerd, which reads them where its main file says so.
const DROP_IN_FOLDER: &str = "/etc/containerd/conf.d";
/// Times of files and of processes are known to about a second.
const CLOCK_SLACK: Duration = Duration::from_secs(2);

/// Looks at a runtime that plugins are to connect to.
pub(crate) fn judge(
    runtime: &Runtime,
    node: &Node,
    own: &Own,
    socket: Socket,
    findings: &mut Vec<Finding>,
) {
    findings.push(presence(runtime));
    if let Some(finding) = too_old(runtime) {
        findings.push(finding);
        return;
    }
    files(runtime, node, findings);
    findings.extend(cri(runtime));
    misplaced(runtime, findings);
    findings.push(nri(runtime));
    findings.extend(not_restarted(runtime, node));
    if let Some(config) = &own.config {
        if runtime.takes_plugins() {
            findings.push(socket_path(runtime, own.file, config, socket));
        }
        timeouts::judge(runtime, config, findings);
        required::judge(runtime, own, config, findings);
    }
}

fn presence(runtime: &Runtime) -> Finding {
    let configured = match runtime.files.layers.as_slice() {
        [] => "by its defaults".to_owned(),
        [only] => format!("by {}", only.path.display()),
        [first, rest @ ..] => format!("by {} and {} more", first.path.display(), rest.len()),
    };
    let state = match &runtime.process {
        Some(process) => format!("runs as process {}", process.pid),
        None => "is installed".to_owned(),
    };
    let name = runtime.distribution.name;
    match &runtime.version {
        Ok(version) => Finding::ok(
            "runtime",
            format!("{name} {version} {state}, configured {configured}"),
        ),
        Err(reason) => Finding::unknown(
            "runtime-version",
            format!("{name} {state}, configured {configured}; its version is not known"),
        )
        .because(format!("{reason}."))
        .run(format!("{} --version", runtime.kind().program())),
    }
}

fn too_old(runtime: &Runtime) -> Option<Finding> {
    let version = runtime.version.as_ref().ok()?;
    let (major, minor) = match runtime.kind() {
        Kind::Containerd => (1, 7),
        Kind::Crio => (1, 26),
    };
    let name = runtime.kind().name();
    (!version.is_at_least(major, minor)).then(|| {
        Finding::problem("runtime-too-old", format!("{runtime} has no NRI"))
            .say(format!("Update it: {name} has NRI since {major}.{minor}."))
    })
}

fn files(runtime: &Runtime, node: &Node, findings: &mut Vec<Finding>) {
    for unread in &runtime.files.unread {
        let file = unread.path.display();
        findings.extend(match &unread.reason {
            Reason::Missing if unread.path == runtime.config => None,
            Reason::Missing => Some(Finding::problem(
                "runtime-config-broken",
                format!("{runtime} is to read {file}, which is not there"),
            )),
            Reason::Unreadable(error) => Some(
                Finding::unknown(
                    "runtime-config-unreadable",
                    format!("{file} cannot be read: {error}"),
                )
                .because("What is said of this runtime is so as far as its other files go.")
                .say("Run doctor as root."),
            ),
            Reason::Broken(error) => Some(
                Finding::problem(
                    "runtime-config-broken",
                    format!("{file} is not valid TOML: {error}"),
                )
                .because(format!("{runtime} does not start with it.")),
            ),
        });
    }
    if runtime.kind() == Kind::Containerd {
        findings.extend(config_version(runtime));
        findings.extend(not_imported(runtime, node));
    }
}

fn config_version(runtime: &Runtime) -> Option<Finding> {
    let version = runtime.version.as_ref().ok()?;
    let newest = containerd::newest_config_version(version);
    let found = containerd::config_version(&runtime.files);
    (found > newest).then(|| {
        Finding::problem(
            "runtime-config-version",
            format!("{runtime} does not start with a configuration of version {found}"),
        )
        .because(format!("It reads versions up to {newest}."))
        .say(format!(
            "Make it anew from `containerd config default`, or set version = {newest}."
        ))
    })
}

/// Since 2.2 the default configuration has an import of this folder, which counts only where it
/// stands in a file.
fn not_imported(runtime: &Runtime, node: &Node) -> Option<Finding> {
    let folder = Path::new(DROP_IN_FOLDER);
    if !runtime.config.starts_with("/etc/containerd") {
        return None;
    }
    let files = node.list(folder).unwrap_or_default();
    let mut files = files.iter().map(|name| folder.join(name));
    let is_left_aside = |file: &PathBuf| {
        file.extension().is_some_and(|end| end == "toml") && !runtime.files.has(file)
    };
    let first = files.find(is_left_aside)?;
    Some(
        Finding::warning(
            "drop-ins-not-imported",
            format!("{runtime} does not read {}", first.display()),
        )
        .because(format!(
            "It reads what `imports` in {} names, and nothing else.",
            runtime.config.display()
        ))
        .put(
            &runtime.config,
            format!("# before the first table\nimports = [\"{DROP_IN_FOLDER}/*.toml\"]"),
        )
        .run(runtime.distribution.restart),
    )
}

fn cri(runtime: &Runtime) -> Option<Finding> {
    let file = runtime.settings.cri_left_out_by.as_ref()?;
    Some(
        Finding::warning(
            "cri-disabled",
            format!("{runtime} serves no pods, so plugins see nothing of it"),
        )
        .because(format!(
            "{} switches its CRI off by disabled_plugins, as packages of Docker do.",
            file.display()
        ))
        .say("If the kubelet is to use it, take the CRI out of disabled_plugins.")
        .run(runtime.distribution.restart),
    )
}

fn misplaced(runtime: &Runtime, findings: &mut Vec<Finding>) {
    for table in &runtime.settings.misplaced {
        let mut finding = Finding::problem(
            "nri-table-misplaced",
            format!(
                "{} has a table {} that {} does not read",
                table.file.display(),
                table.found,
                runtime
            ),
        );
        finding = match table.found == table.right {
            true => finding
                .because("Full names of plugins count from configuration version 2 on.")
                .say("Put `version = 2` before the first table."),
            false => finding.say(format!("Write its header as {}", table.right)),
        };
        findings.push(finding.run(runtime.distribution.restart));
    }
}

fn nri(runtime: &Runtime) -> Finding {
    let socket = runtime.settings.socket.value.display();
    let on = || Finding::ok("nri", format!("NRI is on in {runtime}, at {socket}"));
    let off = left_out(runtime).or_else(|| switched_off(runtime));
    off.or_else(|| closed(runtime)).unwrap_or_else(on)
}

fn off(runtime: &Runtime, why: impl Into<String>) -> Finding {
    Finding::problem("nri-disabled", format!("NRI is off in {runtime}")).because(why)
}

fn left_out(runtime: &Runtime) -> Option<Finding> {
    let file = runtime.settings.left_out_by.as_ref()?.display();
    Some(
        off(runtime, format!("disabled_plugins in {file} names it."))
            .say(format!("Take it out of disabled_plugins in {file}."))
            .run(runtime.distribution.restart),
    )
}

/// By NRI's own table, or by default.
fn switched_off(runtime: &Runtime) -> Option<Finding> {
    let on = match runtime.kind() {
        Kind::Containerd => "disable = false",
        Kind::Crio => "enable_nri = true",
    };
    let Some(enabled) = &runtime.settings.enabled else {
        let what = format!("whether NRI is on in {runtime} depends on its version");
        let unknown = Finding::unknown("nri-unknown", what)
            .because(format!("No file says so. {}", default_off(runtime)));
        return Some(runtime.set_in_nri(unknown, on, None));
    };
    match &enabled.file {
        None if runtime.files.is_patchy() => {
            let what = format!("whether NRI is on in {runtime} stands in a file that was not read");
            Some(Finding::unknown("nri-unknown", what))
        }
        _ if enabled.value => None,
        Some(file) => {
            let off = off(runtime, format!("{} says so.", file.display()));
            Some(runtime.set_in_nri(off, on, Some(file)))
        }
        None => Some(runtime.set_in_nri(off(runtime, default_off(runtime)), on, None)),
    }
}

fn closed(runtime: &Runtime) -> Option<Finding> {
    let file = runtime.settings.closed_by.as_ref()?;
    let what = format!("{runtime} lets no plugin connect");
    let finding = Finding::problem("nri-connections-disabled", what)
        .because(format!("{} says so.", file.display()));
    let key = match runtime.kind() {
        Kind::Containerd => "disable_connections = false",
        Kind::Crio => "nri_disable_connections = false",
    };
    Some(runtime.set_in_nri(finding, key, Some(file)))
}

fn default_off(runtime: &Runtime) -> &'static str {
    match runtime.kind() {
        Kind::Containerd => "Off is the default before containerd 2.0.",
        Kind::Crio => "Off is the default before CRI-O 1.30.",
    }
}

/// A configuration counts from the next start on.
fn not_restarted(runtime: &Runtime, node: &Node) -> Option<Finding> {
    let started = runtime.process.as_ref()?.started(node)?;
    let changed = |path: &Path| node.metadata(path).ok()?.modified().ok();
    let is_later = |time: SystemTime| time > started + CLOCK_SLACK;
    let layers = &runtime.files.layers;
    let mut files = layers.iter().map(|layer| layer.path.as_path());
    let file = files.rfind(|path| changed(path).is_some_and(is_later))?;
    Some(
        Finding::warning(
            "runtime-not-restarted",
            format!("{} was changed after {runtime} had started", file.display()),
        )
        .because("What it says counts from the next start of the runtime on.")
        .run(runtime.distribution.restart),
    )
}

fn socket_path(runtime: &Runtime, own: &Path, config: &Config, socket: Socket) -> Finding {
    let theirs = &runtime.settings.socket.value;
    let ours = &config.runtime.socket;
    let (there, here) = (theirs.display(), ours.display());
    if is_same(theirs, ours) {
        return Finding::ok("socket-path", format!("both sides use the socket {here}"));
    }
    let what = format!("{runtime} listens at {there}, and nri-host connects to {here}");
    if socket == Socket::Listens {
        return Finding::warning("socket-path-differs", what).because(
            "Somebody listens there, too. That is right only if it is this runtime, whose folder is \
             seen at another path from here.",
        );
    }
    let file = match &runtime.settings.socket.file {
        Some(file) => format!(" (in {})", file.display()),
        None => String::new(),
    };
    Finding::problem("socket-path-differs", what)
        .say(format!(
            "Use one path: the runtime's{file} or that of nri-host, which the variable \
             NRI_HOST_SOCKET and the option --socket set before any file."
        ))
        .put(own, format!("[runtime]\nsocket = \"{there}\""))
        .run("systemctl restart nri-host")
}

/// `/var/run` is a link to `/run` wherever both are there.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| match path.strip_prefix("/var/run") {
        Ok(rest) => Path::new("/run").join(rest),
        Err(_) => PathBuf::from(path),
    };
    plain(one) == plain(other)
}

/// Looks at runtimes side by side: each makes the socket anew when it starts, and takes it from the
/// other.
pub(crate) fn judge_together(runtimes: &[Runtime], findings: &mut Vec<Finding>) {
    let open: Vec<_> = runtimes.iter().filter(|one| one.takes_plugins()).collect();
    for (at, one) in open.iter().enumerate() {
        let socket = &one.settings.socket.value;
        let same = |other: &&&Runtime| is_same(&other.settings.socket.value, socket);
        for other in open[at + 1..].iter().filter(same) {
            let what = format!(
                "{one} and {other} both make the NRI socket {}",
                socket.display()
            );
            let finding = match one.runs() && other.runs() {
                true => Finding::problem("two-runtimes-one-socket", what),
                false => Finding::warning("two-runtimes-one-socket", what)
                    .because("Not both run now; when they do, the one that starts last has it."),
            };
            let finding = finding.say(
                "Switch NRI off in the one whose pods components have nothing to do with, or \
                     give it another path. Set expect_runtime in [runtime] of nri-host.toml to the \
                     name of the right one.",
            );
            let (key, off) = match other.kind() {
                Kind::Containerd => ("socket_path", "disable = true"),
                Kind::Crio => ("nri_listen", "enable_nri = false"),
            };
            let lines = format!("{off}    # or: {key} = \"/run/nri-other/nri.sock\"");
            findings.push(other.set_in_nri(finding, &lines, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn var_run_is_run() {
        let same = |one: &str, other: &str| is_same(Path::new(one), Path::new(other));
        assert!(same("/var/run/nri/nri.sock", "/run/nri/nri.sock"));
        assert!(!same("/var/run/nri/nri.sock", "/run/nri.sock"));
    }
}
