//! What surrounds the host: variables that steer other plugins, and logs that nobody takes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Result;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use nri_host_tests::fake_runtime::{FakeRuntime, Plugin, Profile};
use nri_host_tests::host::{Builder, Component, Host};
use nri_host_tests::pods;
use serde_json::json;

/// Value of a variable that only the container may know.
const SECRET: &str = "correct-horse-battery-staple";

fn subject(builder: Builder) -> Builder {
    builder.component(Component::faulty("subject", 10, json!({})))
}

/// Calls with more lines about them than a pipe and the queue before it have room for.
const FAR_TOO_MANY: usize = 5000;

async fn serves(plugin: &Plugin, calls: usize) -> Result<()> {
    let pod = pods::pod("web").build();
    for number in 0..calls {
        let container = pods::container(&pod, &format!("c{number}")).build();
        plugin.create_container(&pod, &container).await?;
    }
    Ok(())
}

/// A pipe with a name, open for reading. Nobody reads it until the test does.
fn pipe(folder: &Path) -> Result<File> {
    let path = folder.join("log");
    mkfifo(&path, Mode::S_IRWXU)?;
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    Ok(reader)
}

/// A component that logs each call to the host, so that there is much to write.
fn talkative(builder: Builder) -> Builder {
    let logger = Component::new("logger", 90, "libnri_logger.so");
    subject(builder).component(logger.config(json!({ "events": ["all"] })))
}

#[tokio::test]
async fn names_that_other_plugins_take_from_variables_are_not_taken() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let _host = subject(Host::builder().socket(runtime.socket()))
        .env("NRI_PLUGIN_NAME", "other")
        .env("NRI_PLUGIN_IDX", "77")
        .env("NRI_PLUGIN_SOCKET", "3")
        .start()?;
    runtime.plugin("10-subject").await?;
    assert_eq!(runtime.active(), ["10-subject"]);
    Ok(())
}

#[tokio::test]
async fn closed_standard_streams_are_no_obstacle() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut host = talkative(Host::builder().socket(runtime.socket()))
        .env("NRI_HOST_LOG", "trace")
        .launcher(&["sh", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"])
        .start()?;
    serves(&runtime.plugin("10-subject").await?, 100).await?;
    // None of the host's files has become its standard error.
    assert_eq!(host.log(), "");
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn a_log_that_nobody_reads_holds_up_nothing_not_even_the_end() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let reader = pipe(folder.path())?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut host = logs_into(folder.path(), &runtime)?;
    serves(&runtime.plugin("90-logger").await?, FAR_TOO_MANY).await?;
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0));
    drop(reader);
    Ok(())
}

#[tokio::test]
async fn a_log_whose_reader_has_gone_ends_nobody() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let reader = pipe(folder.path())?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut host = logs_into(folder.path(), &runtime)?;
    let plugin = runtime.plugin("90-logger").await?;
    drop(reader);
    serves(&plugin, 100).await?;
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

/// A host that writes its log to the pipe in a folder.
fn logs_into(folder: &Path, runtime: &FakeRuntime) -> Result<Host> {
    let pipe = folder.join("log").display().to_string();
    let script = format!("exec \"$0\" \"$@\" >'{pipe}' 2>&1");
    talkative(Host::builder().socket(runtime.socket()))
        .env("NRI_HOST_LOG", "trace")
        .launcher(&["sh", "-c", &script])
        .start()
}

#[tokio::test]
async fn values_of_variables_reach_no_log_at_any_level() -> Result<()> {
    let pod = pods::pod("web").build();
    let running = pods::container(&pod, "first")
        .env("PASSWORD", SECRET)
        .running();
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .state(vec![pod.clone()], vec![running.build()])
        .build()?;
    runtime.listen()?;
    let host = talkative(Host::builder().socket(runtime.socket()))
        .env("NRI_HOST_LOG", "trace")
        .start()?;
    let plugins = runtime.plugins(&["10-subject", "90-logger"]).await?;
    let container = pods::container(&pod, "second")
        .env("PASSWORD", SECRET)
        .build();
    for plugin in &plugins {
        plugin.create_container(&pod, &container).await?;
    }
    host.logged("second").await?;
    host.logged("PASSWORD").await?;
    assert!(!host.log().contains(SECRET), "{}", host.log());
    Ok(())
}
