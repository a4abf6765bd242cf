//! CDI devices as containers see them, applied by containerd and by the component.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use nri_host_tests::containerd::{self, Containerd, Release, V1_7, V2_4};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::tier;
use serde_json::json;

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

#[tokio::test(flavor = "multi_thread")]
async fn cdi_devices_are_applied_by_containerd_2_4() -> Result<()> {
    cdi_devices_are_there(V2_4, "native").await
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi_devices_are_resolved_for_containerd_2_4() -> Result<()> {
    cdi_devices_are_there(V2_4, "resolve").await
}

#[tokio::test(flavor = "multi_thread")]
async fn cdi_devices_are_resolved_for_containerd_1_7() -> Result<()> {
    cdi_devices_are_there(V1_7, "resolve").await
}

/// A variable, a mount and a device node of one CDI device, in a container that asks for it and in
/// no other one.
async fn cdi_devices_are_there(release: Release, mode: &str) -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let containerd = Containerd::start(release)?;
    // The folder of containerd's own settings: its device counts in native mode.
    let folder = containerd.dir().join("cdi");
    fs::create_dir_all(&folder)?;
    let shown = containerd.dir().join("shown");
    fs::create_dir(&shown)?;
    fs::write(shown.join("file"), "of the device")?;
    fs::write(folder.join("acme.json"), spec(&shown).to_string())?;
    let host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(
            Component::new("cdi", 15, "libnri_cdi_injector.so").config(json!({
                "mode": mode,
                "spec_dirs": [folder],
                "allow": [{ "namespaces": ["default"], "devices": ["acme.com/gpu"] }],
            })),
        )
        .start()?;
    host.wait_state("cdi", State::Active).await?;

    let key = "cdi-devices.noderesource.dev/container.main";
    let pod = containerd.run_pod("asking", &[(key, "[acme.com/gpu=0]")])?;
    let main = containerd.run_container(&pod, "main", &SLEEP)?;
    let other = containerd.run_container(&pod, "other", &SLEEP)?;
    let seen = |command: &[&str]| containerd.exec(&main, command);
    let variables = seen(&["env"])?;
    assert!(
        variables.lines().any(|variable| variable == "GPU=0"),
        "{variables}"
    );
    assert_eq!(seen(&["cat", "/opt/acme/file"])?, "of the device");
    assert_eq!(
        seen(&["stat", "-c", "%F %t:%T %a", "/dev/acme0"])?,
        "character special file 1:b 640"
    );
    seen(&["sh", "-c", ": > /dev/acme0"]).context("the device may be opened")?;
    for path in ["/dev/acme0", "/opt/acme"] {
        assert!(containerd.exec(&other, &["stat", path]).is_err(), "{path}");
    }

    let foreign = containerd.run_pod_in("default-2", "foreign", &[(key, "[acme.com/gpu=0]")])?;
    let refused = containerd.create_container(&foreign, "main", &SLEEP);
    let error = format!("{:#}", refused.expect_err("the namespace is not allowed"));
    assert!(
        error.contains("acme.com/gpu=0 is not allowed in namespace"),
        "{error}"
    );
    let unknown = containerd.run_pod("unknown", &[(key, "[acme.com/gpu=1]")])?;
    let refused = containerd.create_container(&unknown, "main", &SLEEP);
    let error = format!("{:#}", refused.expect_err("there is no such device"));
    assert!(error.contains("acme.com/gpu=1"), "{error}");
    Ok(())
}

fn spec(shown: &Path) -> serde_json::Value {
    json!({
        "cdiVersion": "0.6.0",
        "kind": "acme.com/gpu",
        "devices": [{
            "name": "0",
            "containerEdits": {
                "env": ["GPU=0"],
                "mounts": [{
                    "hostPath": shown,
                    "containerPath": "/opt/acme",
                    "options": ["ro", "rbind"],
                }],
                // A device that every kernel has and no container gets by itself.
                "deviceNodes": [{ "path": "/dev/acme0", "hostPath": "/dev/kmsg", "fileMode": 0o640 }],
            },
        }],
    })
}
