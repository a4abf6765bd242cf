//! A root folder with what a node has, and what `nri-host doctor` says of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nri_host_tests::host::{Builder, Finished, Host};
use serde::Deserialize;
use tempfile::TempDir;

pub(crate) const CONTAINERD_CONFIG: &str = "/etc/containerd/config.toml";
pub(crate) const UNIT: &str = "/usr/lib/systemd/system/nri-host.service";

/// A node that was prepared.
pub(crate) struct Node {
    dir: TempDir,
    /// Listens where runtimes do.
    listener: Option<UnixListener>,
}

impl Node {
    /// One with nothing on it.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::Builder::new().prefix("node-").tempdir().unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        let listener = None;
        Self { dir, listener }
    }

    /// One on which this version of containerd runs, with this main file.
    pub(crate) fn containerd(version: &str, config: &str) -> Self {
        let program = "/usr/bin/containerd";
        Self::empty()
            .program(
                program,
                &format!("containerd github.com/containerd/containerd v{version} 1c4457e"),
            )
            .process(812, program, &[], "0::/system.slice/containerd.service")
            .file(CONTAINERD_CONFIG, config)
    }

    /// One on which this version of CRI-O runs.
    pub(crate) fn crio(version: &str) -> Self {
        Self::empty().with_crio(version)
    }

    pub(crate) fn with_crio(self, version: &str) -> Self {
        let program = "/usr/bin/crio";
        let says = format!("crio version {version}\nVersion:        {version}");
        self.program(program, &says)
            .process(913, program, &[], "0::/system.slice/crio.service")
            .file("/etc/crio/crio.conf", "[crio]\n")
    }

    /// Writes a file.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// A program that prints this and ends.
    pub(crate) fn program(self, path: &str, says: &str) -> Self {
        let node = self.file(path, &format!("#!/bin/sh\necho '{says}'\n"));
        fs::set_permissions(node.path(path), Permissions::from_mode(0o755)).unwrap();
        node
    }

    /// A process, as `/proc` shows it.
    pub(crate) fn process(self, pid: u32, program: &str, arguments: &[&str], cgroup: &str) -> Self {
        let folder = format!("/proc/{pid}");
        let name = program.rsplit('/').next().unwrap();
        let command: String = [program]
            .iter()
            .chain(arguments)
            .map(|word| format!("{word}\0"))
            .collect();
        self.file(&format!("{folder}/comm"), &format!("{name}\n"))
            .file(&format!("{folder}/cmdline"), &command)
            .file(&format!("{folder}/cgroup"), &format!("{cgroup}\n"))
            .link(&format!("{folder}/exe"), program)
    }

    /// Somebody listens on the node's NRI socket.
    pub(crate) fn listening(mut self) -> Self {
        fs::create_dir_all(self.socket().parent().unwrap()).unwrap();
        self.listener = Some(UnixListener::bind(self.socket()).unwrap());
        self
    }

    /// Nobody does any more, and the file is still there.
    pub(crate) fn stale(mut self) -> Self {
        self = self.listening();
        self.listener = None;
        self
    }

    /// Where `nri-host` looks for the socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path("/run/nri/nri.sock")
    }

    /// Where a file of the node is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path.trim_start_matches('/'))
    }

    /// The setting of a runtime by which it listens there.
    pub(crate) fn socket_key(&self, key: &str) -> String {
        format!("{key} = \"{}\"\n", self.socket().display())
    }

    /// A host on it, without components.
    pub(crate) fn host(&self) -> Builder {
        Host::builder().socket(&self.socket())
    }

    /// What the doctor says of a host on it.
    pub(crate) async fn doctor(&self, host: &Builder) -> Result<Report> {
        let finished = self.run(host, &["--json"]).await?;
        Report::read(&finished)
    }

    pub(crate) async fn run(&self, host: &Builder, arguments: &[&str]) -> Result<Finished> {
        let root = self.dir.path().to_str().context("a path in UTF-8")?;
        host.run(&[&["doctor", "--root", root], arguments].concat())
            .await
    }

    /// Does what a finding says, as far as files are concerned.
    pub(crate) fn follow(&self, finding: &Finding) {
        for step in &finding.steps {
            let (Some(file), Some(put)) = (&step.file, &step.put) else {
                continue;
            };
            let path = self.path(file.to_str().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(&path, format!("{before}\n{put}")).unwrap();
        }
    }
}

/// What the doctor said.
#[derive(Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) problems: usize,
    pub(crate) findings: Vec<Finding>,
    #[serde(skip)]
    pub(crate) code: Option<i32>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) level: String,
    pub(crate) what: String,
    why: Option<String>,
    #[serde(rename = "do")]
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Step {
    say: Option<String>,
    file: Option<PathBuf>,
    put: Option<String>,
    run: Option<String>,
}

impl Report {
    pub(crate) fn read(finished: &Finished) -> Result<Self> {
        let report: Self = serde_json::from_str(&finished.stdout)
            .with_context(|| format!("{} {}", finished.stdout, finished.stderr))?;
        assert_eq!(
            finished.code,
            Some((report.problems > 0).into()),
            "{report:?}"
        );
        Ok(Self {
            code: finished.code,
            ..report
        })
    }

    /// The only finding of that code.
    pub(crate) fn the(&self, code: &str) -> &Finding {
        let mut all = self.findings.iter().filter(|finding| finding.code == code);
        let Some(finding) = all.next() else {
            panic!("no {code} in {self:#?}");
        };
        assert!(all.next().is_none(), "more than one {code} in {self:#?}");
        finding
    }

    /// The codes of all that are neither right nor only not to be seen, in order.
    pub(crate) fn bad(&self) -> Vec<&str> {
        let bad = |finding: &&Finding| ["problem", "warning"].contains(&finding.level.as_str());
        self.findings
            .iter()
            .filter(bad)
            .map(|finding| finding.code.as_str())
            .collect()
    }
}

impl Finding {
    pub(crate) fn why(&self) -> &str {
        self.why.as_deref().unwrap_or_default()
    }

    /// What is to be put where.
    pub(crate) fn put(&self) -> (&Path, &str) {
        let mut puts = self.steps.iter().filter_map(|step| {
            let (file, put) = (step.file.as_deref()?, step.put.as_deref()?);
            Some((file, put))
        });
        puts.next()
            .unwrap_or_else(|| panic!("nothing to put: {self:#?}"))
    }

    /// Asserts what is to be put where, and what is to be run after that.
    pub(crate) fn advises(&self, file: &str, put: &str, run: &str) {
        assert_eq!(self.put(), (Path::new(file), put), "{self:#?}");
        assert!(self.runs(run), "{self:#?}");
    }

    pub(crate) fn runs(&self, command: &str) -> bool {
        self.steps
            .iter()
            .any(|step| step.run.as_deref() == Some(command))
    }

    pub(crate) fn says(&self, words: &str) -> bool {
        let says = |step: &Step| step.say.as_ref().is_some_and(|say| say.contains(words));
        self.steps.iter().any(says)
    }
}
