//! The service of systemd.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::node::Node;
use super::program::ask;

const UNIT: &str = "nri-host.service";
/// Where systemd looks for units, the strongest first.
const FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
/// Is there while systemd runs the system.
const RUNNING: &str = "/run/systemd/system";
const SYSTEMCTL: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];
const JOURNAL: &str = "journalctl -u nri-host -n 50 --no-pager";

/// Looks at the unit's files, and at what systemd says of it. Returns whether there is one.
pub(super) fn examine(node: &Node, findings: &mut Vec<Finding>) -> bool {
    let find = |folder: &&&str| {
        let file = Path::new(folder).join(UNIT);
        // A link that leads nowhere counts: that is how units are masked.
        node.metadata(&file).is_ok() || node.link(&file).is_ok()
    };
    let Some(folder) = FOLDERS.iter().find(find) else {
        return false;
    };
    let file = Path::new(folder).join(UNIT);
    if is_masked(node, &file) {
        findings.push(
            Finding::problem("unit-masked", format!("{UNIT} is masked"))
                .run(format!("systemctl unmask {UNIT}"))
                .run(format!("systemctl enable --now {UNIT}")),
        );
        return true;
    }
    let mut directives = Directives::default();
    for path in std::iter::once(file.clone()).chain(drop_ins(node)) {
        match node.read(&path) {
            Ok(text) => directives.add(&path, &text),
            Err(error) => findings.push(unreadable(&path, &error)),
        }
    }
    findings.push(enabled(node, &file));
    directives.judge(findings);
    if node.is_own() && node.metadata(Path::new(RUNNING)).is_ok() {
        findings.push(state(node));
    }
    true
}

fn is_masked(node: &Node, file: &Path) -> bool {
    let link = node.link(file).ok();
    link.is_some_and(|target| target == Path::new("/dev/null"))
}

fn unreadable(path: &Path, error: &io::Error) -> Finding {
    Finding::unknown("unit-unreadable", format!("{}: {error}", path.display()))
        .say("Run doctor as root.")
}

fn enabled(node: &Node, file: &Path) -> Finding {
    let wants = |folder: &&&str| {
        let link = Path::new(folder).join("multi-user.target.wants").join(UNIT);
        node.link(&link).is_ok()
    };
    match FOLDERS.iter().find(wants) {
        Some(_) => Finding::ok("unit", format!("{} is enabled", file.display())),
        None => Finding::warning("unit-not-enabled", format!("{UNIT} does not start at boot"))
            .run(format!("systemctl enable {UNIT}")),
    }
}

/// By name, of all folders together, as systemd reads them: of one name, the strongest folder's.
fn drop_ins(node: &Node) -> impl Iterator<Item = PathBuf> {
    let mut found = BTreeMap::new();
    for folder in FOLDERS.iter().rev() {
        let folder = Path::new(folder).join(format!("{UNIT}.d"));
        for name in node.list(&folder).unwrap_or_default() {
            if Path::new(&name)
                .extension()
                .is_some_and(|end| end == "conf")
            {
                found.insert(name.clone(), folder.join(name));
            }
        }
    }
    found.into_values()
}

/// A value that keeps the host from doing its work.
struct Wrong {
    key: &'static str,
    is_wrong: fn(&str) -> bool,
    why: &'static str,
}

const FOR_ROOT: &str = "The runtime's socket is for root alone.";

const WRONG: [Wrong; 5] = [
    Wrong {
        key: "User",
        is_wrong: |user| user != "root" && user != "0",
        why: FOR_ROOT,
    },
    Wrong {
        key: "DynamicUser",
        is_wrong: is_yes,
        why: FOR_ROOT,
    },
    Wrong {
        key: "PrivateUsers",
        is_wrong: is_yes,
        why: FOR_ROOT,
    },
    Wrong {
        key: "Restart",
        is_wrong: |when| when != "always",
        why: "After a crash of a component the host stays down then.",
    },
    Wrong {
        key: "Type",
        is_wrong: |kind| !kind.starts_with("notify"),
        why: "systemd does not learn then when the host is ready.",
    },
];

/// What the unit and its drop-ins say together.
#[derive(Debug, Default)]
struct Directives(BTreeMap<String, Vec<(String, PathBuf)>>);

impl Directives {
    fn add(&mut self, file: &Path, text: &str) {
        let text = text.replace("\\\n", " ");
        for line in text.lines().map(str::trim) {
            if line.starts_with(['#', ';', '[']) {
                continue;
            }
            if let Some((key, value)) = line.split_once('=') {
                let values = self.0.entry(key.trim().to_owned()).or_default();
                match value.trim() {
                    // Nothing: what was said before does not count.
                    "" => values.clear(),
                    value => values.push((value.to_owned(), file.to_owned())),
                }
            }
        }
    }

    fn last(&self, key: &str) -> Option<&(String, PathBuf)> {
        self.0.get(key)?.last()
    }

    /// What keeps the host from doing its work.
    fn judge(&self, findings: &mut Vec<Finding>) {
        let mut broken = |file: &Path, line: String, why: &str| {
            findings.push(
                Finding::problem("unit-broken", format!("{} says {line}", file.display()))
                    .because(why.to_owned())
                    .say("Take it out of that file.")
                    .run("systemctl daemon-reload && systemctl restart nri-host"),
            );
        };
        for key in ["Requires", "BindsTo", "PartOf", "Requisite"] {
            for (value, file) in self.0.get(key).into_iter().flatten() {
                if value.contains("containerd") || value.contains("crio") {
                    let why =
                        "The host is stopped with the runtime then, instead of waiting for it.";
                    broken(file, format!("{key}={value}"), why);
                }
            }
        }
        for wrong in &WRONG {
            let last = self.last(wrong.key);
            if let Some((value, file)) = last.filter(|(value, _)| (wrong.is_wrong)(value)) {
                broken(file, format!("{}={value}", wrong.key), wrong.why);
            }
        }
    }
}

fn is_yes(value: &str) -> bool {
    ["yes", "true", "on", "1"].contains(&value)
}

/// What systemd says.
fn state(node: &Node) -> Finding {
    let unknown = |why: String| {
        Finding::unknown(
            "unit-state",
            format!("systemd cannot be asked about {UNIT}"),
        )
        .because(why)
    };
    let programs = SYSTEMCTL.iter().map(|path| node.open(Path::new(path)));
    let Some(program) = programs.flatten().next() else {
        return unknown("There is no systemctl.".to_owned());
    };
    let properties = "--property=ActiveState,SubState,Result,ExecMainStatus,NRestarts";
    match ask(program, "systemctl", &["show", properties, UNIT]) {
        Ok(answer) => judge_state(&answer),
        Err(error) => unknown(format!("{}.", crate::chain(&error))),
    }
}

fn judge_state(answer: &str) -> Finding {
    let properties: BTreeMap<_, _> = answer
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let get = |key| properties.get(key).copied().unwrap_or("unknown");
    let (active, result) = (get("ActiveState"), get("Result"));
    let restarts = get("NRestarts");
    match active {
        "active" if restarts != "0" && restarts != "unknown" => Finding::warning(
            "unit-restarts",
            format!("systemd has started {UNIT} again after it had ended: {restarts} times"),
        )
        .run(JOURNAL),
        "active" => Finding::ok("unit-state", format!("{UNIT} is active")),
        "failed" if get("ExecMainStatus") == "78" => Finding::problem(
            "unit-failed",
            format!("{UNIT} has ended for a mistake in its configuration"),
        )
        .run("nri-host check")
        .run("systemctl restart nri-host"),
        "failed" | "activating" if result != "success" => Finding::problem(
            "unit-failed",
            format!("{UNIT} is {active} ({result}), started again {restarts} times"),
        )
        .run(JOURNAL),
        "unknown" => Finding::unknown("unit-state", "systemd does not say how the service is")
            .run(format!("systemctl status {UNIT}")),
        active => Finding::warning("unit-inactive", format!("{UNIT} is {active}"))
            .run(format!("systemctl start {UNIT}"))
            .run(JOURNAL),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn each_state_of_the_service_is_told() {
        for (answer, code, level) in [
            (
                "ActiveState=active\nResult=success\nNRestarts=0\n",
                "unit-state",
                Level::Ok,
            ),
            (
                "ActiveState=active\nResult=success\nNRestarts=3\n",
                "unit-restarts",
                Level::Warning,
            ),
            (
                "ActiveState=failed\nResult=exit-code\nExecMainStatus=78\n",
                "unit-failed",
                Level::Problem,
            ),
            (
                "ActiveState=activating\nSubState=auto-restart\nResult=core-dump\nNRestarts=9\n",
                "unit-failed",
                Level::Problem,
            ),
            (
                "ActiveState=inactive\nResult=success\n",
                "unit-inactive",
                Level::Warning,
            ),
            ("", "unit-state", Level::Unknown),
        ] {
            let finding = judge_state(answer);
            assert_eq!((finding.code, finding.level), (code, level), "{answer}");
        }
    }

    #[test]
    fn an_empty_value_takes_back_what_was_said() {
        let mut directives = Directives::default();
        directives.add(
            Path::new("a"),
            "[Unit]\nRequires=containerd.service\nAfter=\\\n  x\n",
        );
        directives.add(Path::new("b"), "Requires=\nUser=nobody\n# Type=simple\n");
        let mut findings = Vec::new();
        directives.judge(&mut findings);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].what, "b says User=nobody");
    }
}
