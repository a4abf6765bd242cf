//! What may be in the way to the runtime's socket.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile, SocketFile};
use nri_host_tests::host::{Component, Host, State};
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
