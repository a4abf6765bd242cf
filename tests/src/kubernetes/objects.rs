//! The objects of a kustomization.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::go;

/// The folder `deploy/kubernetes`.
#[must_use]
pub fn manifests_dir() -> PathBuf {
    go::tests_dir().with_file_name("deploy").join("kubernetes")
}

/// A kustomization on top of those of the project, as an admin would write one.
#[derive(Debug)]
pub struct Overlay {
    folder: TempDir,
}

impl Overlay {
    /// The base with options, and with these files in the ConfigMap that becomes `conf.d`.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn new(options: &[&str], drop_ins: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("overlay-").tempdir()?;
        // Kustomizations name others by relative paths only.
        let here = fs::canonicalize(folder.path())?;
        let up = "../".repeat(here.components().count() - 1);
        let manifests = fs::canonicalize(manifests_dir())?;
        let manifests = format!("{up}{}", manifests.strip_prefix("/")?.display());
        let options: Vec<_> = options
            .iter()
            .map(|option| format!("{manifests}/options/{option}"))
            .collect();
        let files: Vec<_> = drop_ins.iter().map(|(name, _)| *name).collect();
        for (name, text) in drop_ins {
            fs::write(folder.path().join(name), text)?;
        }
        let mut kustomization = serde_json::json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": "kube-system",
            "resources": [format!("{manifests}/base")],
            "components": options,
        });
        if !files.is_empty() {
            let merged = serde_json::json!([
                { "name": "nri-host-components", "behavior": "merge", "files": files }
            ]);
            kustomization["configMapGenerator"] = merged;
        }
        // JSON is YAML.
        fs::write(
            folder.path().join("kustomization.yaml"),
            kustomization.to_string(),
        )?;
        Ok(Self { folder })
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Objects as an API server would keep them, with their defaults.
#[derive(Debug, Deserialize)]
pub struct Objects {
    items: Vec<Value>,
}

impl Objects {
    /// Builds and validates a kustomization.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn build(folder: &Path) -> Result<Self> {
        let program = go::build_local("kubernetes", "kubernetes")?.join("kubernetes");
        let output = Command::new(program)
            .arg(folder)
            .output()
            .context("running the validation")?;
        ensure!(
            output.status.success(),
            "{}: {}",
            folder.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).context("reading the objects")
    }

    /// The objects of a kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.items
            .iter()
            .filter(move |object| object["kind"] == kind)
    }

    /// The template of the DaemonSet's pods.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn pod_template(&self) -> Result<&Value> {
        let daemon_set = self.of_kind("DaemonSet").next().context("no DaemonSet")?;
        Ok(&daemon_set["spec"]["template"])
    }

    /// The data of the ConfigMap with this name, which ends in a hash.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn config_map(&self, name: &str) -> Result<&Value> {
        let map = self
            .of_kind("ConfigMap")
            .find(|map| map["metadata"]["name"] == name)
            .with_context(|| format!("no ConfigMap {name}"))?;
        Ok(&map["data"])
    }
}
