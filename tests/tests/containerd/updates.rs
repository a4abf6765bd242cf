//! Updates that components ask for outside requests, in real containers.

use anyhow::{Context, Result, ensure};
use nri_host_tests::containerd::{self, Containerd, Release, V1_7, V2_4};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::tier;
use serde_json::{Value, json};

use crate::log::Log;

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_containerd_1_7_is_pinned_after_its_start() -> Result<()> {
    a_container_is_pinned_after_its_start(V1_7).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_containerd_2_4_is_pinned_after_its_start() -> Result<()> {
    a_container_is_pinned_after_its_start(V2_4).await
}

/// The component asks in a call, in which the runtime holds the lock that an update needs.
async fn a_container_is_pinned_after_its_start(release: Release) -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let containerd = Containerd::start(release)?;
    let record = Log(containerd.dir().join("record.jsonl"));
    // The processor 0, for each container.
    let ask = json!({ "PostStartContainer": { "do": "update", "text": "" } });
    let config = json!({ "methods": ["PostStartContainer"], "on": ask, "record": record.0 });
    let host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(Component::faulty("pinning", 10, config))
        .start()?;
    host.wait_state("pinning", State::Active).await?;

    let pod = containerd.run_pod("pinned", &[])?;
    for n in 1..=3 {
        let name = format!("main-{n}");
        let main = containerd.run_container(&pod, &name, &["/bin/sleep", "infinity"])?;
        let applied = |line: &Value| {
            line["method"] == "update_result"
                && line["container"] == main.id.as_str()
                && line["error"].is_null()
        };
        record.wait("an update without an error", applied).await?;
        let status = containerd.exec(&main, &["cat", "/proc/self/status"])?;
        let mut lines = status.lines();
        let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        ensure!(allowed.context("in the status")?.trim() == "0", "{status}");
    }
    Ok(())
}
