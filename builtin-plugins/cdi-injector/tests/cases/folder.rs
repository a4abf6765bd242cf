//! Folders of CDI files, and injectors that read them.

use std::fs;
use std::path::{Path, PathBuf};

use nri_cdi_injector::CdiInjector;
use nri_cdi_injector::index::{Folders, Index};
use nri_plugin_api::api::{self, ContainerAdjustment};
use nri_plugin_api::testing::{self, Harness, Outcome, Value, json};
use tempfile::TempDir;

pub(crate) const KEY: &str = "cdi-devices.noderesource.dev/container.c0";

/// A file that must not be hurt by those beside it.
pub(crate) const NEIGHBOUR: &str = "{cdiVersion: 0.6.0, kind: good.com/dev, devices: [{name: ok, \
     containerEdits: {env: [GOOD=1]}}]}";

/// A node with `/etc/cdi` and `/var/run/cdi`, below a folder of its own.
pub(crate) struct Node {
    pub(crate) root: TempDir,
}

impl Node {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder for the test");
        fs::create_dir_all(root.path().join("etc/cdi")).expect("the folder can be written");
        fs::create_dir_all(root.path().join("var/run/cdi")).expect("the folder can be written");
        Self { root }
    }

    /// With these files in `/etc/cdi`.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let node = Self::new();
        for (name, text) in files {
            node.write(name, text);
        }
        node
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("etc/cdi").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("the folder can be written");
    }

    pub(crate) fn write_run(&self, name: &str, text: &str) {
        fs::write(self.root.path().join("var/run/cdi").join(name), text)
            .expect("the folder can be written");
    }

    pub(crate) fn folders(&self) -> Folders {
        let at = |path: &str| self.root.path().join(path);
        Folders {
            paths: vec![at("etc/cdi"), at("var/run/cdi")],
            max_file_size: 4 << 20,
        }
    }

    pub(crate) fn index(&self) -> Index {
        Index::scan(&self.folders())
    }

    /// An injector that allows everything, with these settings besides.
    pub(crate) fn injector(&self, settings: &Value) -> Injector {
        let folders = self.folders().paths;
        let mut config = json!({
            "allow": [{ "namespaces": ["*"], "devices": ["*"] }],
            "spec_dirs": folders,
            "mode": "resolve",
        });
        for (key, value) in settings.as_object().expect("settings are an object") {
            config[key] = value.clone();
        }
        let mut harness = Harness::create(config).expect("the settings are fine");
        harness.set_runtime("containerd", "v2.4.2", "0.12.3");
        Injector {
            harness,
            container: None,
        }
    }
}

/// The names of all devices, and how many files and folders have problems.
pub(crate) fn devices(index: &Index) -> Vec<&str> {
    index.devices().map(|(name, _)| name).collect()
}

/// The names of the files that have problems.
pub(crate) fn broken(index: &Index) -> Vec<String> {
    let name = |path: &Path| {
        path.file_name()
            .expect("the path of a file")
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<_> = index.problems().iter().map(|p| name(&p.path)).collect();
    names.dedup();
    names
}

/// A CDI file of this version with one device `acme.com/dev=d` and these edits.
pub(crate) fn file(version: &str, edits: &str) -> String {
    format!(
        "cdiVersion: \"{version}\"\nkind: acme.com/dev\ndevices:\n- name: d\n  \
         containerEdits: {edits}\n"
    )
}

/// An injector in a harness.
pub(crate) struct Injector {
    pub(crate) harness: Harness<CdiInjector>,
    /// What the runtime says of the container; else little.
    pub(crate) container: Option<api::Container>,
}

impl Injector {
    pub(crate) fn ask_with(&mut self, annotation: (&str, &str)) -> Outcome<ContainerAdjustment> {
        let pod = testing::pod("p", [annotation]);
        let mut container = testing::container(&pod, "c0");
        if let Some(said) = &self.container {
            container.user = said.user.clone();
            container.CDI_devices = said.CDI_devices.clone();
        }
        match self.harness.create_container(&pod, &container) {
            Outcome::Answer(response) => Outcome::Answer(response.adjust.unwrap_or_default()),
            Outcome::Rejected(reason) => Outcome::Rejected(reason),
            other => panic!("{annotation:?}: {other:?}"),
        }
    }

    /// Asks for these devices.
    pub(crate) fn ask(&mut self, names: &[&str]) -> Outcome<ContainerAdjustment> {
        self.ask_with((KEY, &json!(names).to_string()))
    }

    pub(crate) fn adjustment(&mut self, names: &[&str]) -> ContainerAdjustment {
        match self.ask(names) {
            Outcome::Answer(adjustment) => adjustment,
            other => panic!("{names:?}: {other:?}"),
        }
    }

    /// The reason why these devices are refused.
    pub(crate) fn refusal(&mut self, names: &[&str]) -> String {
        match self.ask(names) {
            Outcome::Rejected(reason) => reason,
            other => panic!("{names:?}: {other:?}"),
        }
    }
}

/// What comes of a file with these edits.
pub(crate) fn try_edits(edits: &str, settings: &Value) -> Outcome<ContainerAdjustment> {
    let node = Node::with(&[("a.yaml", &file("1.1.0", edits))]);
    node.injector(settings).ask(&["acme.com/dev=d"])
}

/// The variables, each as it is set.
pub(crate) fn env(adjustment: &ContainerAdjustment) -> Vec<String> {
    let text = |env: &api::KeyValue| format!("{}={}", env.key, env.value);
    adjustment.env.iter().map(text).collect()
}
