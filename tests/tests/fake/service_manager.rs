//! What systemd is told, on a socket of the test's own.

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Component, Host};
use nri_host_tests::patience::patiently;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::UnixDatagram;

/// A service manager that listens to one host.
struct Manager {
    socket: UnixDatagram,
    folder: TempDir,
}

impl Manager {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let socket = UnixDatagram::bind(folder.path().join("notify"))?;
        Ok(Self { socket, folder })
    }

    fn path(&self) -> String {
        self.folder.path().join("notify").display().to_string()
    }

    /// Waits for a message that begins so, and returns all that came up to it.
    async fn told(&self, beginning: &str) -> Result<Vec<String>> {
        let mut messages = Vec::new();
        let waiting = async {
            loop {
                let mut buffer = [0; 4096];
                let len = self.socket.recv(&mut buffer).await?;
                let message = String::from_utf8_lossy(&buffer[..len]).into_owned();
                messages.extend(message.lines().map(str::to_owned));
                if messages
                    .last()
                    .is_some_and(|last| last.starts_with(beginning))
                {
                    return anyhow::Ok(());
                }
            }
        };
        patiently(&format!("{beginning:?} for the service manager"), waiting).await??;
        Ok(messages)
    }
}

#[tokio::test]
async fn ready_comes_when_the_required_components_are_active() -> Result<()> {
    let manager = Manager::new()?;
    let mut runtime = FakeRuntime::builder(Profile::newest()).build()?;
    let mut host = Host::builder()
        .socket(runtime.socket())
        .component(Component::faulty("subject", 10, json!({})).set("required", true))
        .env("NOTIFY_SOCKET", &manager.path())
        .start()?;
    let before = manager
        .told("STATUS=0 of 1 components active, no runtime")
        .await?;
    assert!(!before.contains(&"READY=1".to_owned()), "{before:?}");

    runtime.listen()?;
    let told = manager.told("READY=1").await?;
    let status = told.iter().rfind(|line| line.starts_with("STATUS="));
    let status = status.map(String::as_str).unwrap_or_default();
    assert!(
        status.starts_with("STATUS=1 of 1 components active, containerd "),
        "{told:?}"
    );

    host.stop().await?;
    manager.told("STOPPING=1").await?;
    Ok(())
}

#[tokio::test]
async fn ready_comes_at_once_when_nothing_is_required() -> Result<()> {
    let manager = Manager::new()?;
    let _host = Host::builder()
        .component(Component::faulty("subject", 10, json!({})))
        .env("NOTIFY_SOCKET", &manager.path())
        .start()?;
    manager.told("READY=1").await?;
    Ok(())
}

#[tokio::test]
async fn the_watchdog_is_told_that_the_host_is_alive() -> Result<()> {
    let manager = Manager::new()?;
    let _host = Host::builder()
        .component(Component::faulty("subject", 10, json!({})))
        .env("NOTIFY_SOCKET", &manager.path())
        .env("WATCHDOG_USEC", "200000")
        .start()?;
    manager.told("WATCHDOG=1").await?;
    manager.told("WATCHDOG=1").await?;
    Ok(())
}
