//! The folder `mistakes`: a configuration with one mistake after another, and behind each, after `#!`,
//! what an admin is told about it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::patience::patiently;
use tempfile::TempDir;
use tokio::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake/mistakes");
/// Where a file in the folder names that of its own libraries.
const OWN_LIBRARIES: &str = "@LIB@";
/// Where a file in the folder names that of what the tests build.
const BUILT_LIBRARIES: &str = "@BUILT@";

/// Stands for the rest of what is told.
const AND_SO_ON: &str = "...";

/// Lines as `check` prints them, without the folder.
type Lines = BTreeSet<String>;

/// Copies the folder. Returns what is to be told.
fn copy(to: &Path) -> Result<Lines> {
    let built = artifacts()?.library("libnri_faulty.so")?;
    let built = built
        .parent()
        .context("it is in a folder")?
        .display()
        .to_string();
    let own = to.join("lib").display().to_string();
    fs::create_dir_all(to.join("lib"))?;
    fs::write(to.join("lib/libtext.so"), "no library")?;
    fs::create_dir_all(to.join("conf.d"))?;
    let drop_ins = fs::read_dir(Path::new(FOLDER).join("conf.d"))?
        .map(|entry| Ok(format!("conf.d/{}", entry?.file_name().display())))
        .collect::<Result<Vec<_>>>()?;
    let mut told = Lines::new();
    for file in drop_ins.iter().map(String::as_str).chain(["nri-host.toml"]) {
        let text = fs::read_to_string(Path::new(FOLDER).join(file))?;
        let text = text.replace(BUILT_LIBRARIES, &built);
        fs::write(to.join(file), text.replace(OWN_LIBRARIES, &own))?;
        for (line, number) in text.lines().zip(1..) {
            let mistakes = line.split(" #! ").skip(1);
            told.extend(mistakes.map(|mistake| {
                let mistake = mistake.trim_end().replace(OWN_LIBRARIES, "lib");
                format!("{file}:{number}: {mistake}")
            }));
        }
    }
    Ok(told)
}

/// Adds drop-ins that no folder under version control can hold.
fn add_odd_files(folder: &Path) -> Result<Lines> {
    let path = |name: &str| folder.join("conf.d").join(name);
    // Whoever opens it to read waits for a writer.
    mkfifo(&path("91.toml"), Mode::S_IRUSR)?;
    symlink("nowhere", path("92.toml"))?;
    // Root may read every file, but this one nobody can.
    symlink("93.toml", path("93.toml"))?;
    fs::create_dir(path("94.toml"))?;
    fs::write(path("95.toml"), b"name = \"\xff\"")?;
    fs::write(path("96.toml"), " ".repeat((1 << 20) + 1))?;
    let told = [
        "conf.d/91.toml: is not a regular file",
        "conf.d/92.toml: cannot be read: No such file or directory (os error 2)",
        "conf.d/93.toml: cannot be read: Too many levels of symbolic links (os error 40)",
        "conf.d/94.toml: is not a regular file",
        "conf.d/95.toml: is not UTF-8 text from byte 8 on",
        "conf.d/96.toml: is larger than 1048576 bytes",
    ];
    Ok(told.map(str::to_owned).into())
}

/// What a command prints to standard output and to standard error, without the folder.
async fn nri_host(folder: &Path, arguments: &[&str]) -> Result<[String; 2]> {
    let mut command = Command::new(artifacts()?.host());
    for variable in ["NRI_HOST_CONFIG", "NRI_HOST_SOCKET", "NRI_HOST_LOG"] {
        command.env_remove(variable);
    }
    command
        .args(arguments)
        .arg("--config")
        .arg(folder.join("nri-host.toml"));
    let output = patiently("the end of check", command.kill_on_drop(true).output()).await??;
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    let text = |bytes| {
        let text = String::from_utf8(bytes)?;
        anyhow::Ok(text.replace(&format!("{}/", folder.display()), ""))
    };
    Ok([text(output.stdout)?, text(output.stderr)?])
}

/// All that is expected is told, and nothing else.
fn assert_told(expected: &Lines, told: &Lines) {
    let is = |told: &str, expected: &str| match expected.strip_suffix(AND_SO_ON) {
        Some(beginning) => told.starts_with(beginning),
        None => told == expected,
    };
    let missing = expected
        .iter()
        .filter(|line| !told.iter().any(|told| is(told, line)));
    let missing: Vec<_> = missing.collect();
    let unexpected = told
        .iter()
        .filter(|line| !expected.iter().any(|expected| is(line, expected)));
    let unexpected: Vec<_> = unexpected.collect();
    assert!(
        missing.is_empty() && unexpected.is_empty(),
        "missing: {missing:#?}\nunexpected: {unexpected:#?}"
    );
}

/// Whether one of them is a mistake.
fn is_mistake(line: &&str) -> bool {
    line.split_once(':')
        .is_some_and(|(file, _)| file.ends_with(".toml"))
}

#[tokio::test]
async fn each_mistake_of_a_folder_full_of_them_is_told_in_one_run() -> Result<()> {
    let folder = TempDir::new()?;
    let mut expected = copy(folder.path())?;
    expected.extend(add_odd_files(folder.path())?);
    assert!(expected.len() >= 30, "{}", expected.len());

    let [output, _] = nri_host(folder.path(), &["check"]).await?;
    let lines: Vec<_> = output.lines().filter(is_mistake).collect();
    let told: Lines = lines.iter().map(|&line| line.to_owned()).collect();
    assert_told(&expected, &told);
    assert_eq!(lines.len(), told.len(), "something is told twice");
    let summary = format!("2 components OK, {} mistakes, 0 warnings", told.len());
    assert_eq!(output.lines().last(), Some(summary.as_str()));
    Ok(())
}

#[tokio::test]
async fn the_rest_is_shown_while_mistakes_go_to_standard_error() -> Result<()> {
    let folder = TempDir::new()?;
    let expected = copy(folder.path())?;
    let [output, errors] = nri_host(folder.path(), &["check", "--effective"]).await?;
    let told: Lines = errors.lines().map(str::to_owned).collect();
    assert_told(&expected, &told);
    // Standard output is TOML, with what is sound.
    let shown: toml::Table = output.parse()?;
    let components = shown["component"]
        .as_array()
        .context("there are components")?;
    let names = components
        .iter()
        .filter_map(|component| component["name"].as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["text", "twice", "injector", "own-type", "own-key", "good"]
    );
    Ok(())
}
