//! The container runtimes of the node: which there are, and what their configuration comes to.

mod containerd;
mod crio;
mod distribution;
mod judge;
mod layers;
mod required;
mod settings;
mod timeouts;
mod version;

use std::fmt;
use std::path::{Path, PathBuf};

use distribution::{DISTRIBUTIONS, Distribution, Edited};
use layers::Files;
use settings::Settings;
use version::Version;

use super::finding::Finding;
use super::node::Node;
use super::process::{Process, processes};
use crate::admin::status::RuntimeStatus;
pub(super) use distribution::Kind;
pub(super) use judge::{judge, judge_together};

/// A runtime that the node has.
#[derive(Debug)]
pub(super) struct Runtime {
    pub(super) distribution: &'static Distribution,
    /// The process that was seen.
    pub(super) process: Option<Process>,
    /// Its main configuration file, which need not be there.
    pub(super) config: PathBuf,
    /// Its version, or why it is not known.
    pub(super) version: Result<Version, String>,
    pub(super) files: Files,
    pub(super) settings: Settings,
}

/// All runtimes of the node, those that run first.
pub(super) fn find(node: &Node, known: Option<&RuntimeStatus>) -> Vec<Runtime> {
    let processes = processes(node, &["containerd", "crio"]).unwrap_or_default();
    let mut runtimes: Vec<Runtime> = processes
        .into_iter()
        .filter(|process| is_daemon(process) && !process.is_in_a_container())
        .map(|process| Runtime::of_process(node, process, known))
        .collect();
    for distribution in &DISTRIBUTIONS {
        let same = |runtime: &Runtime| std::ptr::eq(runtime.distribution, distribution);
        let places = distribution.programs.iter().chain([&distribution.config]);
        let is_there = |path: &str| node.metadata(Path::new(path)).is_ok();
        if !runtimes.iter().any(same) && places.into_iter().any(|path| is_there(path)) {
            let config = distribution.config.into();
            runtimes.push(Runtime::new(node, distribution, config, None, known));
        }
    }
    runtimes
}

/// Shims and people run the same programs for other things.
fn is_daemon(process: &Process) -> bool {
    const COMMANDS: [&str; 8] = [
        "config",
        "publish",
        "oci-hook",
        "version",
        "wipe",
        "status",
        "--version",
        "--help",
    ];
    let is_command = |argument: &String| COMMANDS.contains(&argument.as_str());
    !process.arguments.iter().any(is_command)
}

/// Where runtimes are looked for, in words.
pub(super) fn places() -> String {
    let configs: Vec<_> = DISTRIBUTIONS.iter().map(|one| one.config).collect();
    format!(
        "There is no process containerd or crio outside of containers, no program of theirs in \
         /usr/bin and /usr/local/bin, and none of {}",
        configs.join(", ")
    )
}

impl Runtime {
    fn of_process(node: &Node, process: Process, known: Option<&RuntimeStatus>) -> Self {
        let kind = match process.name.as_str() {
            "crio" => Kind::Crio,
            _ => Kind::Containerd,
        };
        let config = process.option(&["config", "c"]).map(PathBuf::from);
        let config = config.unwrap_or_else(|| Distribution::plain(kind).config.into());
        let distribution = Distribution::of(kind, &config);
        Self::new(node, distribution, config, Some(process), known)
    }

    fn new(
        node: &Node,
        distribution: &'static Distribution,
        config: PathBuf,
        process: Option<Process>,
        known: Option<&RuntimeStatus>,
    ) -> Self {
        let version = version::find(node, distribution, process.as_ref())
            .or_else(|reason| told(distribution.kind, known).ok_or(reason));
        let release = version.as_ref().ok();
        let files = match distribution.kind {
            Kind::Containerd => Files::of_containerd(node, &config),
            Kind::Crio => {
                let option = process
                    .as_ref()
                    .and_then(|process| process.option(&["config-dir", "d"]));
                let drop_ins = option.map_or_else(|| config.with_extension("conf.d"), Into::into);
                Files::of_crio(node, &config, &drop_ins)
            }
        };
        let settings = match distribution.kind {
            Kind::Containerd => containerd::settings(&files, release),
            Kind::Crio => crio::settings(&files, release, process.as_ref()),
        };
        Self {
            distribution,
            process,
            config,
            version,
            files,
            settings,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        self.distribution.kind
    }

    /// Whether plugins that connect to `socket` come to this one.
    pub(super) fn is_at(&self, socket: &Path) -> bool {
        judge::is_same(&self.settings.socket.value, socket)
    }

    pub(super) fn runs(&self) -> bool {
        self.process.is_some()
    }

    pub(super) fn serves_pods(&self) -> bool {
        self.settings.cri_left_out_by.is_none()
    }

    /// Whether plugins can connect; in doubt, they can.
    pub(super) fn takes_plugins(&self) -> bool {
        let settings = &self.settings;
        let enabled = settings.enabled.as_ref();
        settings.left_out_by.is_none()
            && settings.closed_by.is_none()
            && enabled.is_none_or(|enabled| enabled.value)
    }

    /// Adds to a finding what to write where so that these lines, without the header of their
    /// table, stand in NRI's own table.
    pub(super) fn set_in_nri(
        &self,
        finding: Finding,
        lines: &str,
        said_in: Option<&Path>,
    ) -> Finding {
        let lines = match self.kind() {
            Kind::Containerd => containerd::nri_lines(lines),
            Kind::Crio => crio::nri_lines(lines),
        };
        self.set(finding, &lines, said_in)
    }

    /// Adds to a finding what to write where so that these lines count. `said_in`: the file that says
    /// otherwise now.
    pub(super) fn set(&self, finding: Finding, lines: &str, said_in: Option<&Path>) -> Finding {
        let (file, base) = self.place(said_in);
        let layer = self.files.layers.iter().find(|layer| layer.path == file);
        let finding = match layer.is_some_and(|layer| layer.has_table_of(lines)) {
            true => finding.say(
                "A table must not stand twice in a file: where it is there already, change its keys.",
            ),
            false => finding,
        };
        let text = match (base, self.kind()) {
            (Some(base), _) => format!("{base}\n\n{lines}"),
            (None, Kind::Containerd) if layer.is_none() => {
                format!("version = {}\n\n{lines}", self.config_version())
            }
            _ => lines.to_owned(),
        };
        finding.put(file, text).run(self.distribution.restart)
    }

    /// Adds to a finding how to have the runtime apply CDI devices.
    pub(super) fn enable_cdi(&self, finding: Finding, said_in: Option<&Path>) -> Finding {
        self.set(finding, &containerd::cdi_lines(&self.files), said_in)
    }

    /// The file to write to, and what must stand in it before all else if it is new.
    fn place(&self, said_in: Option<&Path>) -> (PathBuf, Option<&'static str>) {
        match &self.distribution.edited {
            Edited::Template { file, base } => match self.files.imported_folders.first() {
                Some(folder) => (folder.join("nri.toml"), None),
                None => (file.into(), *base),
            },
            Edited::DropIn(folder) => {
                let name = match self.kind() {
                    Kind::Containerd => "nri.toml",
                    Kind::Crio => "99-nri.conf",
                };
                let own = |file: &&Path| file.starts_with(folder);
                let said_in = said_in.filter(own).map(Path::to_owned);
                (
                    said_in.unwrap_or_else(|| Path::new(folder).join(name)),
                    None,
                )
            }
            Edited::Itself => {
                let file = said_in.unwrap_or(&self.config);
                (file.to_owned(), None)
            }
        }
    }

    /// The version of configuration that a new file should have.
    fn config_version(&self) -> i64 {
        if self.files.has(&self.config) {
            return containerd::config_version(&self.files).max(2);
        }
        match &self.version {
            Ok(version) if version.is_at_least(2, 0) => 3,
            _ => 2,
        }
    }
}

/// What the daemon was told by the runtime that it is connected to.
fn told(kind: Kind, known: Option<&RuntimeStatus>) -> Option<Version> {
    let known = known?;
    let name = known.name.as_deref()?.replace('-', "");
    let version = known.version.as_deref()?;
    (name == kind.program()).then(|| Version::parse(version))?
}

/// As in a sentence: `containerd 2.1.4`.
impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.distribution.name)?;
        match &self.version {
            Ok(version) => write!(f, " {version}"),
            Err(_) => Ok(()),
        }
    }
}
