//! OCI hooks that the OCI runtime really runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nri_host_tests::containerd::{self, Containerd, V2_4};
use nri_host_tests::host::{Component, ComponentStatus, Host, State};
use nri_host_tests::patience::PATIENCE;
use nri_host_tests::tier;
use serde_json::json;

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

/// Time between two looks at the trace.
const POLL: Duration = Duration::from_millis(10);

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_when_a_container_comes_and_goes_beside_a_file_that_is_broken() -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let containerd = Containerd::start(V2_4)?;
    let hooks = containerd.dir().join("hooks.d");
    let trace = containerd.dir().join("trace");
    fs::create_dir(&hooks)?;
    write_hook(&hooks, &trace)?;
    fs::write(hooks.join("broken.json"), "{\n\"version\": ]")?;

    let injector = Component::new("hooks", 30, "libnri_hook_injector.so")
        .config(json!({ "hook_dirs": [hooks] }))
        .set("on_failure", "fail");
    let host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(injector)
        .start()?;
    host.wait_state("hooks", State::Active).await?;
    tells_what_is_broken(&host, &hooks).await?;

    let traced = containerd.run_pod("traced", &[("trace.example/on", "yes")])?;
    let plain = containerd.run_pod("plain", &[])?;
    let main = containerd.run_container(&traced, "main", &SLEEP)?;
    let other = containerd.run_container(&plain, "main", &SLEEP)?;
    // The runtime has waited for this one.
    assert_eq!(
        fs::read_to_string(&trace)?,
        format!("createRuntime {} sink\n", main.id)
    );

    for container in [&other, &main] {
        containerd.stop_container(container)?;
        containerd.remove_container(container)?;
    }
    wait_trace(
        &trace,
        &format!("createRuntime {0} sink\npoststop {0} sink\n", main.id),
    )
    .await
}

/// In `status`, and by the component's own command.
async fn tells_what_is_broken(host: &Host, hooks: &Path) -> Result<()> {
    let broken = hooks.join("broken.json");
    let summary = format!("hooks in use: 2 from {}; 1 problem", hooks.display());
    let says_so = |status: &ComponentStatus| {
        let health = &status.rest["health"];
        health["summary"] == summary.as_str()
            && health["problems"][0]["file"] == broken.to_string_lossy().as_ref()
            && health["problems"][0]["line"] == 2
    };
    host.wait_component("hooks", "telling what is broken", says_so)
        .await?;
    let place = format!("{}:2: ", broken.display());
    let table = host.run(&["status"]).await?.stdout;
    assert!(table.contains(&place), "{table}");
    let checked = host.run(&["component", "hooks", "check"]).await?;
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert!(checked.stdout.contains(&place), "{}", checked.stdout);
    Ok(())
}

/// A hook for annotated containers that writes its argument, the container's id, which the OCI runtime
/// tells it on standard input, and its environment into the trace.
fn write_hook(hooks: &Path, trace: &Path) -> Result<()> {
    let script = hooks.join("trace.sh");
    let text = format!(
        "#!/bin/sh\nid=$(sed -n 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/p')\n\
         echo \"$1 $id $SINK\" >> {}\n",
        trace.display()
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    for stage in ["createRuntime", "poststop"] {
        let file = json!({
            "version": "1.0.0",
            "hook": {
                "path": script,
                "args": ["trace.sh", stage],
                "env": ["PATH=/usr/bin:/bin", "SINK=sink"],
                "timeout": 30,
            },
            "when": { "annotations": { "^trace\\.example/on$": "^yes$" } },
            "stages": [stage],
        });
        fs::write(hooks.join(format!("{stage}.json")), file.to_string())?;
    }
    Ok(())
}

async fn wait_trace(trace: &Path, expected: &str) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(trace)?;
        if text == expected {
            return Ok(());
        }
        ensure!(
            Instant::now() < until,
            "waited in vain for\n{expected}in\n{text}"
        );
        tokio::time::sleep(POLL).await;
    }
}
