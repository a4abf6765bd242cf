//! What is installed where.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nri_host_tests::debian::{self, install, packages, uninstall};
use nri_host_tests::tier;

/// What only packages have: the forms in which Debian wants licence and changes.
const PACKAGES_ONLY: [&str; 4] = [
    "/usr/share/doc/nri-host/changelog.Debian.gz",
    "/usr/share/doc/nri-host/copyright",
    "/usr/share/doc/nri-host-hook-injector/changelog.Debian.gz",
    "/usr/share/doc/nri-host-hook-injector/copyright",
];

#[test]
fn make_install_installs_the_files_of_the_packages() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let root = tempfile::tempdir()?;
    install("/usr", root.path())?;
    let mut by_make = files_below(root.path())?;
    ensure!(by_make.remove("/usr/share/doc/nri-host/LICENSE"));
    // Debian has a folder of its own for it.
    ensure!(by_make.remove("/usr/share/zsh/site-functions/_nri-host"));
    by_make.insert("/usr/share/zsh/vendor-completions/_nri-host".to_owned());

    let packages = packages()?;
    let mut by_package = files_of(&packages.host()?)?;
    by_package.extend(files_of(&packages.hook_injector()?)?);
    for file in PACKAGES_ONLY {
        ensure!(by_package.remove(file), "{file} is in no package");
    }
    assert_eq!(by_package, by_make);
    Ok(())
}

#[test]
fn without_the_package_of_the_hook_injector_its_code_is_not_there() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let hooks = |files: BTreeSet<String>| {
        files
            .iter()
            .any(|file| file.ends_with("libnri_hook_injector.so"))
    };
    assert!(!hooks(files_of(&packages()?.host()?)?));
    assert!(hooks(files_of(&packages()?.hook_injector()?)?));
    Ok(())
}

#[test]
fn another_prefix_is_used_throughout_and_configuration_stays() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let root = tempfile::tempdir()?;
    install("/opt/nri", root.path())?;
    let config = root.path().join("etc/nri-host/nri-host.toml");
    let unit = root
        .path()
        .join("opt/nri/lib/systemd/system/nri-host.service");
    let unit = fs::read_to_string(unit)?;
    assert!(
        unit.contains("ExecStart=/opt/nri/bin/nri-host run"),
        "{unit}"
    );
    assert!(!unit.contains("/usr/"), "{unit}");
    let line = "component_dirs = [\"/opt/nri/lib/nri-host/components\"]\n";
    let text = fs::read_to_string(&config)?;
    assert!(text.contains(line), "{text}");

    fs::write(&config, format!("{line}# of the admin\n"))?;
    let vendor = root
        .path()
        .join("opt/nri/lib/nri-host/components/libvendor.so");
    fs::write(&vendor, "")?;
    install("/opt/nri", root.path())?;
    uninstall("/opt/nri", root.path())?;

    let mut left = files_below(root.path())?;
    left.retain(|file| !file.starts_with("/etc/nri-host/conf.d/"));
    let expected = [
        "/etc/nri-host/nri-host.toml",
        "/opt/nri/lib/nri-host/components/libvendor.so",
    ];
    assert_eq!(left, expected.map(str::to_owned).into());
    assert_eq!(
        fs::read_to_string(&config)?,
        format!("{line}# of the admin\n")
    );
    Ok(())
}

/// Paths of all files below a folder, as if it were the root.
fn files_below(root: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(format!("/{}", path.strip_prefix(root)?.display()));
            }
        }
    }
    Ok(found)
}

/// Paths of all files in a package.
fn files_of(package: &Path) -> Result<BTreeSet<String>> {
    let output = Command::new("dpkg-deb")
        .arg("--contents")
        .arg(package)
        .output()?;
    ensure!(output.status.success(), "dpkg-deb: {}", output.status);
    let paths = String::from_utf8(output.stdout)?;
    let paths = paths.lines().filter(|line| !line.starts_with('d'));
    paths
        .map(|line| {
            let path = line
                .rsplit(' ')
                .next()
                .and_then(|path| path.strip_prefix('.'));
            Ok(path.with_context(|| line.to_owned())?.to_owned())
        })
        .collect()
}
