//! The kustomization, through the API server's own reading and validation.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::kubernetes::{Objects, Overlay, manifests_dir};
use nri_host_tests::{go, tier};

const OPTIONS: [&str; 5] = [
    "built-in-components",
    "hook-injector",
    "prometheus",
    "selinux",
    "vendor-components",
];

fn skipped() -> bool {
    tier::skipped("Kubernetes objects", go::missing())
}

#[test]
fn base_example_and_every_option_alone_and_together_are_valid() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let mut there: Vec<_> = fs::read_dir(manifests_dir().join("options"))?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    there.sort();
    assert_eq!(there, OPTIONS, "the options that this knows");

    for folder in ["base", "example"] {
        Objects::build(&manifests_dir().join(folder))?;
    }
    for option in OPTIONS {
        let overlay = Overlay::new(&[option], &[])?;
        Objects::build(overlay.path()).with_context(|| option.to_owned())?;
    }
    let all = Overlay::new(&OPTIONS, &[("99-local.toml", "# nothing")])?;
    let objects = Objects::build(all.path())?;
    assert_eq!(objects.of_kind("DaemonSet").count(), 1);
    assert_eq!(objects.of_kind("PodMonitor").count(), 1);
    Ok(())
}

#[test]
fn what_an_api_server_would_refuse_is_refused() -> Result<()> {
    if skipped() {
        return Ok(());
    }
    let wrong = [
        (
            "name: state\n          emptyDir",
            "name: other\n          emptyDir",
            "volumeMounts",
        ),
        ("periodSeconds: 10", "periodSecond: 10", "periodSecond"),
        (
            "type: DirectoryOrCreate",
            "type: FolderOrCreate",
            "hostPath",
        ),
        (
            "matchLabels:\n      app.kubernetes.io/name: nri-host",
            "matchLabels:\n      app: other",
            "selector",
        ),
        ("maxUnavailable: 1", "maxUnavailable: 0", "maxUnavailable"),
    ];
    for (right, wrong, told) in wrong {
        let copy = tempfile::tempdir()?;
        copy_changed(&manifests_dir().join("base"), copy.path(), right, wrong)?;
        let Err(error) = Objects::build(copy.path()) else {
            panic!("{wrong:?} was accepted");
        };
        let error = format!("{error:#}");
        assert!(error.contains(told), "{wrong:?}: {error}");
    }
    Ok(())
}

/// Copies the files of a folder, with a text in the DaemonSet replaced by another.
fn copy_changed(from: &Path, to: &Path, right: &str, wrong: &str) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?;
        let mut text = fs::read_to_string(&path)?;
        if name == "daemonset.yaml" {
            assert!(text.contains(right), "{right:?} is in {}", path.display());
            text = text.replacen(right, wrong, 1);
        }
        fs::write(to.join(name), text)?;
    }
    Ok(())
}

/// The drop-ins here are shorter than those of packages, and must not say anything else.
#[test]
fn components_have_the_index_library_and_policy_that_packages_give_them() -> Result<()> {
    let shipped = go::tests_dir().with_file_name("config").join("conf.d");
    for option in ["built-in-components", "hook-injector"] {
        for entry in fs::read_dir(manifests_dir().join("options").join(option))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let name = path.file_name().context("a file has a name")?;
            let (here, there) = (component(&path)?, component(&shipped.join(name))?);
            for key in ["name", "index", "library", "on_failure", "timeout"] {
                assert_eq!(here.get(key), there.get(key), "{key} in {}", path.display());
            }
        }
    }
    Ok(())
}

#[test]
fn the_host_accepts_its_configuration() -> Result<()> {
    for folder in ["base", "options/prometheus"] {
        let file = manifests_dir().join(folder).join("nri-host.toml");
        let mut check = Command::new(artifacts()?.host());
        check.arg("--config").arg(file).arg("check");
        let checked = check.output().context("running nri-host")?;
        assert!(checked.status.success(), "{folder}: {checked:?}");
    }
    Ok(())
}

/// The one component of a file.
fn component(file: &Path) -> Result<toml::Table> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let mut document: toml::Table = text.parse()?;
    let components = document.remove("component").context("a component")?;
    let table = components.get(0).and_then(toml::Value::as_table);
    table.cloned().context("a table")
}
