//! What the licences of other people's crates ask to be handed on with programs that contain them.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// How the names of files with such texts begin, in capitals.
const TEXTS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

const HEAD: &str = "\
nri-host and its components are under the Apache License, Version 2.0. They contain the crates below.
Those of them that can be had under that licence are used under it.
";

/// What `cargo metadata` says, as far as it matters here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// Where it is from; ours have none.
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `dev`, `build`, or nothing for what ends up in a program.
    kind: Option<String>,
}

impl Package {
    /// A macro runs in the compiler and is in no program.
    fn is_macro(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|kind| kind == "proc-macro")
    }

    /// The texts to be handed on.
    fn texts(&self) -> Result<Vec<String>> {
        let license = self.license.as_deref().unwrap_or_default();
        let apache = under_apache(license);
        let folder = self
            .manifest_path
            .parent()
            .context("a file is in a folder")?;
        let mut files = Vec::new();
        for entry in folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_uppercase();
            let wanted = match apache {
                true => name.starts_with("NOTICE"),
                false => TEXTS.iter().any(|text| name.starts_with(text)),
            };
            if wanted && entry.file_type()?.is_file() {
                files.push(entry.path());
            }
        }
        files.sort();
        ensure!(
            apache || !files.is_empty(),
            "{} {} ({license}) brings no licence",
            self.name,
            self.version
        );
        let read = |file: &PathBuf| {
            let bytes =
                fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
        };
        files.iter().map(read).collect()
    }
}

/// Whether an SPDX expression lets one take the Apache License for all of a crate.
fn under_apache(license: &str) -> bool {
    let mut choices = license.split([' ', '/']).filter(|word| *word != "OR");
    !license.contains("AND") && choices.any(|choice| choice == "Apache-2.0")
}

/// Writes what programs made of `ours`, crates of this workspace, have to come with.
pub(crate) fn write(file: &Path, ours: &[String]) -> Result<()> {
    let metadata = metadata()?;
    let mut text = HEAD.to_owned();
    // The same text often belongs to several crates.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in contained(&metadata, ours)? {
        let title = format!("{} {}", package.name, package.version);
        let license = package.license.as_deref().unwrap_or("see below");
        write!(text, "\n  {title} ({license})")?;
        for part in package.texts()? {
            texts.entry(part).or_default().push(title.clone());
        }
    }
    text.push('\n');
    for (part, titles) in texts {
        write!(
            text,
            "\n{}\n{}:\n\n{part}\n",
            "-".repeat(72),
            titles.join(", ")
        )?;
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Others' crates that are in `ours`, by name.
fn contained<'a>(metadata: &'a Metadata, ours: &[String]) -> Result<Vec<&'a Package>> {
    let packages: HashMap<_, _> = metadata
        .packages
        .iter()
        .map(|package| (&package.id, package))
        .collect();
    let nodes: HashMap<_, _> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (&node.id, node))
        .collect();
    let mut pending = Vec::new();
    for name in ours {
        let ours = |package: &&Package| package.name == *name && package.source.is_none();
        match metadata.packages.iter().find(ours) {
            Some(package) => pending.push(&package.id),
            None => bail!("there is no crate {name} in this workspace"),
        }
    }
    let mut found = BTreeMap::new();
    while let Some(id) = pending.pop() {
        let package = packages
            .get(id)
            .with_context(|| format!("cargo does not say what {id} is"))?;
        if package.is_macro() || found.insert(id, *package).is_some() {
            continue;
        }
        let node = nodes
            .get(id)
            .with_context(|| format!("cargo does not say what {id} needs"))?;
        let in_program =
            |needed: &&Dependency| needed.dep_kinds.iter().any(|kind| kind.kind.is_none());
        pending.extend(
            node.deps
                .iter()
                .filter(in_program)
                .map(|needed| &needed.pkg),
        );
    }
    let mut found: Vec<_> = found
        .into_values()
        .filter(|package| package.source.is_some())
        .collect();
    found.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(found)
}

fn metadata() -> Result<Metadata> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
        ])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("cannot read what cargo says")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_apache_license_is_taken_only_where_it_covers_all() {
        for license in ["Apache-2.0", "MIT OR Apache-2.0", "MIT/Apache-2.0"] {
            assert!(under_apache(license), "{license}");
        }
        for license in [
            "MIT",
            "Unlicense OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "",
        ] {
            assert!(!under_apache(license), "{license}");
        }
    }

    #[test]
    fn crates_in_the_program_are_named_with_their_licences_and_macros_are_not() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("notices");
        write(&file, &["nri-host".to_owned()])?;
        let text = fs::read_to_string(&file)?;
        assert!(text.contains("\n  hyper "), "{text}");
        assert!(text.contains("Sean McArthur"), "{text}");
        // A macro, a build script's crate, and one of the tests.
        for absent in ["serde_derive", "protobuf-parse", "proptest"] {
            assert!(!text.contains(&format!("  {absent} ")), "{absent}: {text}");
        }
        Ok(())
    }
}
