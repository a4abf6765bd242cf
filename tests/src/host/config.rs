//! Writing the configuration that a test needs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use tempfile::TempDir;

use super::command::{self, Finished};
use super::process::Host;
use crate::artifacts::artifacts;

/// A `[[component]]`.
#[derive(Debug, Clone, Serialize)]
pub struct Component {
    name: String,
    index: u8,
    library: PathBuf,
    #[serde(flatten)]
    keys: BTreeMap<String, toml::Value>,
    // Last, as tables follow plain keys in TOML.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<toml::Value>,
}

impl Component {
    /// A component from a library: a path, or a file name of what the tests build.
    pub fn new(name: &str, index: u8, library: impl Into<PathBuf>) -> Self {
        Self {
            name: name.to_owned(),
            index,
            library: library.into(),
            keys: BTreeMap::new(),
            config: None,
        }
    }

    /// The component that does what its configuration says, faults included.
    pub fn faulty(name: &str, index: u8, config: serde_json::Value) -> Self {
        Self::new(name, index, "libnri_faulty.so").config(config)
    }

    /// However often it fails, it is called.
    #[must_use]
    pub fn never_quarantined(self) -> Self {
        self.quarantined_after(0)
    }

    /// So many failures within an hour bring it into quarantine; 0: it never comes there.
    #[must_use]
    pub fn quarantined_after(self, failures: u32) -> Self {
        let mut rule = toml::Table::new();
        rule.insert("failures".to_owned(), failures.into());
        rule.insert("window".to_owned(), "1h".into());
        self.set("quarantine", rule)
    }

    /// Its `[component.config]`.
    ///
    /// # Panics
    ///
    /// When it is not a JSON object that TOML can express; TOML has no null.
    #[must_use]
    pub fn config(mut self, config: serde_json::Value) -> Self {
        let config = toml::Value::try_from(config).expect("a configuration without null");
        assert!(
            config.is_table(),
            "a component's configuration is an object"
        );
        self.config = Some(config);
        self
    }

    /// A drop-in that defines it.
    ///
    /// # Panics
    ///
    /// When TOML cannot express it.
    pub fn drop_in(&self) -> String {
        #[derive(Serialize)]
        struct DropIn<'a> {
            component: [&'a Component; 1],
        }
        let file = DropIn { component: [self] };
        toml::to_string(&file).expect("a component that TOML can express")
    }

    /// Any other key, such as `on_failure`.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }
}

#[derive(Debug, Serialize)]
struct File<'a> {
    runtime: &'a BTreeMap<String, toml::Value>,
    host: &'a BTreeMap<String, toml::Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    component: &'a [Component],
}

/// A host that does not run yet.
#[derive(Debug)]
pub struct Builder {
    folder: TempDir,
    runtime: BTreeMap<String, toml::Value>,
    host: BTreeMap<String, toml::Value>,
    components: Vec<Component>,
    /// Text after the generated part of the main file.
    text: String,
    drop_ins: BTreeMap<String, String>,
    environment: Vec<(String, String)>,
    /// Whether the log is kept to itself.
    quiet: bool,
    launcher: Vec<String>,
}

impl Builder {
    pub(super) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("host-")
            .tempdir()
            .context("cannot make a folder for the host")?;
        Ok(Self {
            folder,
            runtime: BTreeMap::new(),
            host: BTreeMap::new(),
            components: Vec::new(),
            text: String::new(),
            drop_ins: BTreeMap::new(),
            environment: Vec::new(),
            quiet: false,
            launcher: Vec::new(),
        })
    }

    /// The folder in which everything of this host lies.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Path of the runtime's socket; by default one where nobody listens.
    #[must_use]
    pub fn socket(self, path: &Path) -> Self {
        self.set_runtime("socket", path.display().to_string())
    }

    /// Sets a key of `[runtime]`.
    #[must_use]
    pub fn set_runtime(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.runtime.insert(key.to_owned(), value.into());
        self
    }

    /// Sets a key of `[host]`.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.host.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a component.
    #[must_use]
    pub fn component(mut self, component: Component) -> Self {
        self.components.push(component);
        self
    }

    /// Appends TOML as it stands to the main file.
    #[must_use]
    pub fn text(mut self, toml: &str) -> Self {
        self.text.push_str(toml);
        self
    }

    /// Writes a file into `conf.d`.
    #[must_use]
    pub fn drop_in(mut self, name: &str, toml: &str) -> Self {
        self.drop_ins.insert(name.to_owned(), toml.to_owned());
        self
    }

    /// Sets a variable of the host's environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Does not print the end of the log when the host is dropped: for programs that are no tests.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Has the host started by a command that is given the host's own as further arguments, and
    /// becomes it in the same process, as `setpriv` does.
    #[must_use]
    pub fn launcher(mut self, command: &[&str]) -> Self {
        self.launcher = command.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Starts the host.
    ///
    /// # Errors
    ///
    /// When something does not build, cannot be written or cannot be run. That the host ends at
    /// once is no error here.
    pub fn start(self) -> Result<Host> {
        let config = self.write()?;
        let command = command::nri_host(&self.environment, &self.launcher)?;
        Host::start(self.folder, config, command, self.quiet)
    }

    /// Runs another command with this configuration, such as `check`.
    ///
    /// # Errors
    ///
    /// As [`Self::start`], and when the command does not end.
    pub async fn run(&self, arguments: &[&str]) -> Result<Finished> {
        let config = self.write()?;
        command::run(&config, arguments, &self.environment, &self.launcher).await
    }

    /// Writes the files and returns the main one's path.
    fn write(&self) -> Result<PathBuf> {
        let folder = self.folder.path();
        let mut host = self.host.clone();
        for (key, value) in [("runtime_dir", "run"), ("state_dir", "state")] {
            let path = folder.join(value);
            fs::create_dir_all(&path).context("cannot make the host's folders")?;
            host.entry(key.to_owned())
                .or_insert_with(|| path.display().to_string().into());
        }
        let folders = library_folders()?.into();
        host.entry("component_dirs".to_owned()).or_insert(folders);
        let mut runtime = self.runtime.clone();
        let nowhere = folder.join("no-runtime.sock");
        runtime
            .entry("socket".to_owned())
            .or_insert_with(|| nowhere.display().to_string().into());
        let file = File {
            runtime: &runtime,
            host: &host,
            component: &self.components,
        };
        let text = toml::to_string(&file).context("cannot write the configuration")? + &self.text;
        let config = folder.join("nri-host.toml");
        fs::write(&config, text).context("cannot write the configuration")?;
        let drop_ins = folder.join("conf.d");
        fs::create_dir_all(&drop_ins).context("cannot make conf.d")?;
        for (name, text) in &self.drop_ins {
            fs::write(drop_ins.join(name), text).context("cannot write a drop-in")?;
        }
        Ok(config)
    }
}

/// The folders of what the tests build.
fn library_folders() -> Result<Vec<String>> {
    let mut folders: Vec<_> = artifacts()?
        .libraries()
        .filter_map(Path::parent)
        .map(|folder| folder.display().to_string())
        .collect();
    folders.sort();
    folders.dedup();
    Ok(folders)
}
