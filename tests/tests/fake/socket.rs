//! What may be in the way to the runtime's socket.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;
use nri_host_tests::fake_runtime::{Connection, FakeRuntime, Profile, SocketFile};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::tier::skipped;
use serde_json::json;

const PLUGIN: &str = "10-subject";

fn host(runtime: &FakeRuntime) -> Result<Host> {
    let subject = Component::faulty("subject", 10, json!({ "methods": ["CreateContainer"] }));
    Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .start()
}

#[tokio::test]
async fn a_runtime_that_comes_late_is_found() -> Result<()> {
    let mut runtime = FakeRuntime::builder(Profile::newest()).build()?;
    let host = host(&runtime)?;
    host.wait_state("subject", State::Waiting).await?;
    runtime.listen()?;
    runtime.plugin(PLUGIN).await?;
    Ok(())
}

#[tokio::test]
async fn a_socket_in_a_folder_that_does_not_exist_yet_is_found() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("late-").tempdir()?;
    let socket = folder.path().join("run/nri/nri.sock");
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .socket(&socket)
        .build()?;
    let host = host(&runtime)?;
    host.wait_state("subject", State::Waiting).await?;
    std::fs::create_dir_all(folder.path().join("run/nri"))?;
    runtime.listen()?;
    runtime.plugin(PLUGIN).await?;
    Ok(())
}

#[tokio::test]
async fn a_stale_socket_file_is_waited_at_and_named() -> Result<()> {
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.kill(SocketFile::Left).await?;
    let host = host(&runtime)?;
    let waiting = host.wait_state("subject", State::Waiting).await?;
    assert!(waiting.reason.is_some(), "{waiting:?}");
    runtime.listen()?;
    runtime.plugin(PLUGIN).await?;
    Ok(())
}

/// Waits until the status has this word for the way to the runtime, and returns what is in the way.
async fn trouble(host: &Host, state: &str) -> Result<String> {
    let status = host
        .wait_status(format_args!("runtime: {state}"), |status| {
            status.runtime.state == state
        })
        .await?;
    Ok(status.runtime.trouble.unwrap_or_default())
}

#[tokio::test]
async fn what_is_in_the_way_has_a_state_a_text_and_one_line_in_the_log() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("nri.sock");
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .socket(&socket)
        .build()?;
    let host = host(&runtime)?;
    let text = trouble(&host, "missing").await?;
    assert!(text.contains("NRI disabled"), "{text}");
    let shown = host.run(&["status"]).await?.stdout;
    assert!(shown.contains(&text), "{shown}");
    std::fs::create_dir(&socket)?;
    let text = trouble(&host, "not-a-socket").await?;
    assert!(text.contains("a folder"), "{text}");
    std::fs::remove_dir(&socket)?;
    std::fs::write(&socket, "")?;
    host.logged("there is a regular file").await?;
    assert!(
        trouble(&host, "not-a-socket")
            .await?
            .contains("a regular file")
    );
    std::fs::remove_file(&socket)?;
    drop(std::os::unix::net::UnixListener::bind(&socket)?);
    let text = trouble(&host, "refused").await?;
    assert!(text.contains("nobody listens"), "{text}");
    host.logged("nobody listens on the socket").await?;
    // Each was tried several times by now.
    for told in ["NRI disabled", "a folder instead", "a regular file instead"] {
        assert_eq!(host.log().matches(told).count(), 1, "{told}");
    }
    runtime.listen()?;
    runtime.plugin(PLUGIN).await?;
    assert_eq!(trouble(&host, "connected").await?, "");
    Ok(())
}

#[tokio::test]
async fn a_socket_that_may_not_be_connected_to_is_named_and_found_when_it_may() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let private = folder.path().join("private");
    std::fs::create_dir(&private)?;
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o700))?;
    if skipped("another user", may_give_away(&private).err()) {
        return Ok(());
    }
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .socket(private.join("nri.sock"))
        .build()?;
    runtime.listen()?;
    let subject = Component::faulty("subject", 10, json!({}));
    let host = Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .launcher(&["setpriv", "--bounding-set=-dac_override,-dac_read_search"])
        .start()?;
    let text = trouble(&host, "denied").await?;
    assert!(text.contains("must run as root"), "{text}");
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o755))?;
    std::fs::set_permissions(runtime.socket(), std::fs::Permissions::from_mode(0o666))?;
    runtime.plugin(PLUGIN).await?;
    Ok(())
}

/// Makes a folder another user's, so that a process without the capabilities of root is locked out.
fn may_give_away(folder: &Path) -> Result<(), String> {
    const NOBODY: u32 = 65_534;
    std::os::unix::fs::chown(folder, Some(NOBODY), None).map_err(|error| error.to_string())?;
    let setpriv = std::process::Command::new("setpriv").arg("true").output();
    setpriv
        .map(drop)
        .map_err(|error| format!("no setpriv: {error}"))
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_named() -> Result<()> {
    let subject = Component::faulty("subject", 10, json!({}));
    let long = format!("/{}", "x".repeat(120));
    let host = Host::builder()
        .component(subject)
        .env("NRI_HOST_SOCKET", &long)
        .start()?;
    trouble(&host, "path-too-long").await?;
    Ok(())
}

#[tokio::test]
async fn another_runtime_than_the_expected_one_is_named_and_gets_no_plugin() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("nri.sock");
    let mut wrong = FakeRuntime::builder(Profile::nri_0_9())
        .socket(&socket)
        .build()?;
    wrong.listen()?;
    let mut host = Host::builder()
        .socket(&socket)
        .set_runtime("expect_runtime", "containerd");
    for index in 10..14 {
        host = host.component(Component::faulty("subject", index, json!({})));
    }
    let host = host.start()?;
    let text = trouble(&host, "wrong-runtime").await?;
    assert!(
        text.contains("\"cri-o\"") && text.contains("\"containerd\""),
        "{text}"
    );
    let again = |connection: &Connection| connection.number == 3 && connection.end.is_some();
    wrong.connection("a third attempt", again).await?;
    assert_eq!(wrong.active(), [""; 0]);
    let told = "waiting for the runtime: wrong";
    host.logged(told).await?;
    assert_eq!(host.log().matches(told).count(), 1);
    wrong.kill(SocketFile::Removed).await?;
    let mut right = FakeRuntime::builder(Profile::newest())
        .socket(&socket)
        .build()?;
    right.listen()?;
    for index in 10..14 {
        right.plugin(&format!("{index}-subject")).await?;
    }
    assert_eq!(trouble(&host, "connected").await?, "");
    Ok(())
}

/// Limits the descriptors that the host may open from now on to those below a number.
fn limit_descriptors(host: &Host, below: u32) -> std::io::Result<()> {
    let output = std::process::Command::new("prlimit")
        .arg(format!("--pid={}", host.pid()))
        .arg(format!("--nofile={below}:"))
        .output()?;
    assert!(output.status.success(), "{output:?}");
    Ok(())
}

#[tokio::test]
async fn a_host_out_of_descriptors_says_so_and_recovers() -> Result<()> {
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = host(&runtime)?;
    let mut plugin = runtime.plugin(PLUGIN).await?;
    let missing = limit_descriptors(&host, 1024).err();
    if skipped("prlimit", missing.map(|error| error.to_string())) {
        return Ok(());
    }
    let active = host.settled().await?.descriptors;
    for (spare, said) in [
        (0, "no connection can be made for want of descriptors"),
        // The socket can be made, and the timer of its session cannot.
        (1, "no session could be made"),
    ] {
        runtime.kill(SocketFile::Removed).await?;
        host.wait_resources("no session", |now| now.descriptors + 2 <= active)
            .await?;
        let descriptors = format!("/proc/{}/fd", host.pid());
        let is_free = |number: &u32| !Path::new(&descriptors).join(number.to_string()).exists();
        let free = (0..).find(is_free).unwrap_or_default();
        limit_descriptors(&host, free + spare)?;
        runtime.listen()?;
        host.logged(said).await?;
        limit_descriptors(&host, 1024)?;
        plugin = runtime.reconnected(&plugin).await?;
    }
    let told = "for want of descriptors";
    host.logged(told).await?;
    assert_eq!(host.log().matches(told).count(), 1);
    assert_eq!(trouble(&host, "connected").await?, "");
    Ok(())
}

#[tokio::test]
async fn without_inotify_the_socket_is_found_by_looking_for_it() -> Result<()> {
    // In a user namespace of its own, the host has no inotify at all.
    let none = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"";
    let launcher = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        none,
        "sh",
    ];
    let mut may = std::process::Command::new(launcher[0]);
    let may = may.args(&launcher[1..]).arg("true").output()?;
    let missing = (!may.status.success()).then(|| "no user namespaces here".to_owned());
    if skipped("user namespaces", missing) {
        return Ok(());
    }
    let mut runtime = FakeRuntime::builder(Profile::newest()).build()?;
    let host = Host::builder()
        .socket(runtime.socket())
        .component(Component::faulty("subject", 10, json!({})))
        .launcher(&launcher)
        .start()?;
    host.logged("cannot be watched: polling instead").await?;
    trouble(&host, "missing").await?;
    runtime.listen()?;
    let plugin = runtime.plugin(PLUGIN).await?;
    runtime.kill(SocketFile::Removed).await?;
    trouble(&host, "missing").await?;
    runtime.listen()?;
    runtime.reconnected(&plugin).await?;
    Ok(())
}
