//! The socket between the two.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use anyhow::Result;
use nri_host_tests::tier;

use crate::node::{CONTAINERD_CONFIG, Node};

#[tokio::test]
async fn no_socket_of_a_runtime_with_nri_on_asks_for_its_restart() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n");
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("socket-missing");
    assert_eq!(finding.level, "problem");
    assert!(finding.runs("systemctl restart containerd"), "{finding:#?}");
    Ok(())
}

#[tokio::test]
async fn a_socket_without_a_listener_is_told() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n").stale();
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("socket-refused");
    assert!(finding.says("mount the folder"), "{finding:#?}");
    Ok(())
}

#[tokio::test]
async fn what_is_no_socket_is_told() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n").file("/run/nri/nri.sock", "");
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("socket-not-a-socket");
    assert!(finding.what.contains("a regular file"), "{finding:#?}");
    Ok(())
}

#[tokio::test]
async fn different_paths_are_told_with_the_line_that_makes_them_one() -> Result<()> {
    let nri = "version = 3\n[plugins.\"io.containerd.nri.v1.nri\"]\n";
    let node = Node::containerd(
        "2.1.4",
        &format!("{nri}socket_path = \"/run/elsewhere/nri.sock\"\n"),
    );
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("socket-path-differs");
    assert_eq!(finding.level, "problem");
    assert!(finding.put().0.ends_with("nri-host.toml"));
    finding.advises(
        finding.put().0.to_str().unwrap(),
        "[runtime]\nsocket = \"/run/elsewhere/nri.sock\"",
        "systemctl restart nri-host",
    );
    // Where somebody listens it may be the same one, seen elsewhere.
    let node = node.listening();
    assert_eq!(
        node.doctor(&node.host())
            .await?
            .the("socket-path-differs")
            .level,
        "warning"
    );
    let same = format!("{nri}{}", node.socket_key("socket_path"));
    let node = node.file(CONTAINERD_CONFIG, &same);
    node.doctor(&node.host()).await?.the("socket-path");
    Ok(())
}

#[tokio::test]
async fn a_path_that_no_socket_can_have_is_told() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n");
    let host = node
        .host()
        .set_runtime("socket", format!("/{}", "x".repeat(120)));
    let report = node.doctor(&host).await?;
    assert!(report.the("config-mistake").what.contains("at most 107"));
    Ok(())
}

#[tokio::test]
async fn a_socket_that_may_not_be_reached_is_told_and_selinux_named_where_it_enforces() -> Result<()>
{
    let setpriv = std::process::Command::new("setpriv").arg("true").output();
    let missing = setpriv.err().map(|error| format!("no setpriv: {error}"));
    if tier::skipped("rights", missing) {
        return Ok(());
    }
    let node = Node::containerd("2.1.4", "version = 3\n").listening();
    fs::set_permissions(node.path("/run/nri"), Permissions::from_mode(0o000))?;
    let host = node
        .host()
        .launcher(&["setpriv", "--bounding-set=-dac_override,-dac_read_search"]);
    let report = node.doctor(&host).await?;
    let finding = report.the("socket-denied");
    assert!(finding.says("as root"), "{finding:#?}");
    assert!(!finding.runs("ausearch -m avc -ts recent"));
    let node = node.file("/sys/fs/selinux/enforce", "1");
    assert!(
        node.doctor(&host)
            .await?
            .the("socket-denied")
            .runs("ausearch -m avc -ts recent")
    );
    fs::set_permissions(node.path("/run/nri"), Permissions::from_mode(0o755))?;
    let report = node.doctor(&host).await?;
    assert_eq!(report.the("selinux").level, "unknown");
    Ok(())
}
