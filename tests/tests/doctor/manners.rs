//! How the doctor behaves: what it runs, what it prints, and what it leaves alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Result;
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::terminal::Terminal;

use crate::node::Node;

#[tokio::test]
async fn a_program_that_others_could_have_changed_is_not_run() -> Result<()> {
    let node = Node::containerd("2.1.4", "");
    let trace = node.path("/trace");
    let node = node.program(
        "/usr/bin/containerd",
        &format!("' ; touch {} ; echo '", trace.display()),
    );
    fs::set_permissions(
        node.path("/usr/bin/containerd"),
        Permissions::from_mode(0o777),
    )?;
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("runtime-version");
    assert_eq!(finding.level, "unknown");
    assert!(
        finding.why().contains("could have changed it"),
        "{finding:#?}"
    );
    assert!(!trace.exists());
    // Whether NRI is on depends on the version, and no file says it.
    assert_eq!(report.the("nri-unknown").level, "unknown");
    Ok(())
}

#[tokio::test]
async fn nothing_on_the_node_is_changed() -> Result<()> {
    let node = Node::containerd("1.7.27", "version = 2\n")
        .with_crio("1.29.0")
        .listening();
    let before = contents(&node.path("/"));
    node.doctor(&node.host()).await?;
    assert_eq!(contents(&node.path("/")), before);
    Ok(())
}

/// Path, time of the last change and size of all that is there.
fn contents(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let changed = metadata.modified().unwrap();
        all.push(format!("{} {changed:?} {}", path.display(), metadata.len()));
        if metadata.is_dir() {
            all.extend(contents(&path));
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn text_has_80_columns_and_no_colours_in_a_pipe() -> Result<()> {
    let node = Node::containerd("1.7.27", "version = 2\n");
    let finished = node.run(&node.host(), &[]).await?;
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let text = finished.stdout;
    assert!(
        text.contains("problem  NRI is off in containerd 1.7.27 [nri-disabled]\n"),
        "{text}"
    );
    assert!(
        text.contains("\n             [plugins.\"io.containerd.nri.v1.nri\"]\n"),
        "{text}"
    );
    assert!(!text.contains('\x1b'));
    // Paths are never cut, so that they can be copied.
    let long = |line: &&str| {
        line.chars().count() > 80 && line.split_whitespace().all(|word| word.len() < 60)
    };
    assert_eq!(text.lines().find(long), None);
    assert!(
        text.lines().last().unwrap().contains(" problems, "),
        "{text}"
    );
    Ok(())
}

#[tokio::test]
async fn a_root_that_is_no_folder_is_a_mistake_on_the_command_line() -> Result<()> {
    let node = Node::empty();
    let finished = node
        .host()
        .run(&["doctor", "--root", "/nowhere/at/all"])
        .await?;
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(64), ""));
    Ok(())
}

#[test]
fn every_finding_has_its_place_in_the_documentation_and_no_other_has() {
    let page = include_str!("../../../docs/doctor.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut documented: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
    documented.sort_unstable();
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/doctor"));
    for code in &documented {
        assert!(
            sources.contains(&format!("\"{code}\"")),
            "no finding is called {code}"
        );
    }
    let mut found = 0;
    for level in ["ok", "unknown", "warning", "problem"] {
        for after in sources.split(&format!("Finding::{level}(")).skip(1) {
            // Others are chosen among several where they are made.
            let Some(literal) = after.trim_start().strip_prefix('"') else {
                continue;
            };
            let code = literal.split('"').next().unwrap();
            assert!(
                documented.binary_search(&code).is_ok(),
                "{code} has no place in docs/doctor.md"
            );
            found += 1;
        }
    }
    assert!(found > 40, "only {found} were found");
}

/// What stands in all source files of a folder, their own tests left aside.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all += &sources(&path);
        } else {
            let text = fs::read_to_string(path).unwrap();
            all += text.split("#[cfg(test)]").next().unwrap();
        }
    }
    all
}

#[tokio::test]
async fn levels_have_colours_on_a_terminal() -> Result<()> {
    let node = Node::empty();
    let mut command = tokio::process::Command::new("setsid");
    command
        .arg("--ctty")
        .arg(artifacts()?.host())
        .args(["--config", "/nowhere.toml", "doctor", "--root"])
        .arg(node.path("/"))
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color");
    let (status, display) = Terminal::run(command)?.ended().await?;
    assert_eq!(status.code(), Some(1), "{display:?}");
    assert!(
        display
            .sent
            .contains("problem\x1b[0m  neither containerd nor CRI-O"),
        "{display:?}"
    );
    Ok(())
}
