//! The host as the DaemonSet runs it: in a pod of the very runtime that it serves.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nri_host_tests::artifacts::{artifacts, c_component};
use nri_host_tests::containerd::{self, Containerd, Image, V2_4};
use nri_host_tests::host::{Host, State, Status};
use nri_host_tests::kubernetes::{Kubelet, Objects, Overlay, RunningPod, manifests_dir};
use nri_host_tests::patience::PATIENCE;
use nri_host_tests::tier;
use serde_json::Value;

use crate::documented::documented;

/// A device that every kernel has and no container gets by itself.
const ANNOTATION: (&str, &str) = (
    "devices.noderesource.dev/container.main",
    "- path: /dev/kmsg",
);

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

/// The components that run, with the vendor's.
const ON: [&str; 3] = ["device-injector", "example", "logger"];

/// Pause between two looks at something that tells nobody when it changes.
const POLL: Duration = Duration::from_millis(20);

/// What an admin switches on.
const LOCAL: &str = r#"
[[component]]
name = "device-injector"
enabled = true
required = true
[component.config]
allow_devices = ["/dev/kmsg"]

[[component]]
name = "logger"
enabled = true
[component.config]
events = ["pod"]
format = "text"
"#;

#[test]
fn the_daemon_set_serves_the_runtime_that_runs_it_and_survives_its_death() -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let mut containerd = start("")?;
    let (_, host) = run_host(&containerd)?;
    host.probe(&containerd, "readinessProbe")?;
    host.probe(&containerd, "livenessProbe")?;
    device_arrives(&containerd, "before")?;
    wait(&host, "the logger's line", || {
        let log = host.container.logs()?;
        Ok(log.contains("RunPodSandbox namespace=default pod=before"))
    })?;

    containerd.kill9()?;
    containerd.restart()?;
    wait_active(&containerd, &host, 2)?;
    device_arrives(&containerd, "after")?;

    let grace = host.grace_seconds().context("a grace period")?;
    let status = containerd.end_container(&host.container, grace)?;
    assert_eq!(status, 0, "{}", host.container.logs()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_on_the_node_are_told_and_a_changed_config_map_is_reloaded() -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let containerd = start("")?;
    let (objects, host) = run_host(&containerd)?;
    let check = || containerd.exec(&host.container, &["nri-host", "check"]);
    check()?;

    // As a package would run it.
    let runtime_dir = Kubelet::new(&containerd).host_path("/run/nri-host");
    let second = Host::builder()
        .socket(&containerd.nri_socket())
        .set("runtime_dir", runtime_dir.display().to_string())
        .run(&["run"])
        .await?;
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(
        second.stderr.contains("another nri-host is running"),
        "{second:?}"
    );

    let vendors = host.volume("vendors")?;
    fs::set_permissions(vendors, Permissions::from_mode(0o777))?;
    fails(check()).context("a folder of libraries that others can write to")?;
    fs::set_permissions(vendors, Permissions::from_mode(0o755))?;
    check()?;

    let volumes = &objects.pod_template()?["spec"]["volumes"];
    let is_it = |volume: &&Value| volume["name"] == "components";
    let volume = volumes.as_array().and_then(|all| all.iter().find(is_it));
    let map = volume.and_then(|volume| volume["configMap"]["name"].as_str());
    let mut data = objects
        .config_map(map.context("the ConfigMap of the components")?)?
        .clone();
    data["99-local.toml"] = LOCAL.replace("required", "require").into();
    host.change_config_map("components", &data)?;
    fails(check()).context("a key that is not there, in the mounted ConfigMap")?;

    data["99-local.toml"] = LOCAL.replace("text", "json").into();
    host.change_config_map("components", &data)?;
    containerd.exec(&host.container, &["nri-host", "reload"])?;
    let status = status(&containerd, &host)?;
    let sessions = ON.map(|name| status.component(name)?.count("sessions"));
    assert_eq!(sessions, [Some(1), Some(1), Some(2)], "{ON:?}: {status}");
    Ok(())
}

#[test]
fn where_plugins_are_required_the_hosts_own_pod_comes_first() -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let tables = documented("required_plugins")?.replace("version = 3\n", "");
    let containerd = start(&tables)?;
    let pod = containerd.run_pod("too-early", &[])?;
    let refused = containerd.run_container(&pod, "main", &SLEEP);
    assert!(refused.is_err_and(|error| format!("{error:#}").contains("device-injector")));

    run_host(&containerd)?;
    device_arrives(&containerd, "with-host")
}

/// A check found a mistake. What it says of it, the CRI does not pass on.
fn fails(check: Result<String>) -> Result<()> {
    let Err(error) = check else {
        bail!("nothing was found")
    };
    let error = format!("{error:#}");
    ensure!(error.contains("exited with 78"), "{error}");
    Ok(())
}

/// Runs the pod of the DaemonSet with what an admin has in an overlay, until all is active.
fn run_host(containerd: &Containerd) -> Result<(Objects, RunningPod)> {
    let overlay = Overlay::new(
        &["built-in-components", "vendor-components"],
        &[("99-local.toml", LOCAL)],
    )?;
    let objects = Objects::build(overlay.path())?;
    let host = Kubelet::new(containerd).run(&objects)?;
    wait_active(containerd, &host, 1)?;
    Ok((objects, host))
}

/// A new pod gets what it asks for.
fn device_arrives(containerd: &Containerd, pod: &str) -> Result<()> {
    let pod = containerd.run_pod(pod, &[ANNOTATION])?;
    let main = containerd.run_container(&pod, "main", &SLEEP)?;
    let stat = containerd.exec(&main, &["stat", "-c", "%F %t:%T", "/dev/kmsg"])?;
    assert_eq!(stat, "character special file 1:b");
    Ok(())
}

/// Waits until all components that are switched on are active in their nth session.
fn wait_active(containerd: &Containerd, host: &RunningPod, session: u64) -> Result<()> {
    let what = format!("all components active in session {session}");
    wait(host, &what, || {
        let status = status(containerd, host)?;
        let active = |name: &&str| {
            status.component(name).is_some_and(|component| {
                component.state == State::Active
                    && component.count("sessions").is_some_and(|n| n >= session)
            })
        };
        ensure!(ON.iter().all(active), "{status}");
        Ok(true)
    })
}

/// Looks again and again, as nothing tells when the time has come.
fn wait(host: &RunningPod, what: &str, look: impl Fn() -> Result<bool>) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let seen = look();
        if matches!(seen, Ok(true)) {
            return Ok(());
        }
        ensure!(
            Instant::now() < until,
            "waited in vain for {what}: {seen:?}\n{}",
            host.container.logs()?
        );
        std::thread::sleep(POLL);
    }
}

/// A containerd with more tables in its configuration that has the images: the host's, put together as
/// for the real one, and a vendor's.
fn start(tables: &str) -> Result<Containerd> {
    let root = tempfile::tempdir()?;
    let built = tempfile::tempdir()?;
    let artifacts = artifacts()?;
    for file in artifacts.libraries().chain([artifacts.host()]) {
        let name = file.file_name().context("a file has a name")?;
        std::os::unix::fs::symlink(file, built.path().join(name))?;
    }
    let deploy = manifests_dir().with_file_name("");
    let output = Command::new(deploy.join("image-root"))
        .args([built.path(), root.path()])
        .output()?;
    ensure!(output.status.success(), "image-root: {output:?}");

    let containerd = Containerd::start_with(V2_4, tables)?;
    let name = "docker.io/library/nri-host:latest";
    let (entrypoint, path) = container_file(&deploy.join("Containerfile"))?;
    containerd.import(name, Image::of_folder(name, root.path(), entrypoint, path)?)?;
    let name = "docker.io/library/example-component:latest";
    let vendor =
        Image::busybox(name)?.with_file("components/libexample.so", &c_component("minimal")?)?;
    containerd.import(name, vendor)?;
    Ok(containerd)
}

/// The program and the `PATH` that the image has.
fn container_file(path: &Path) -> Result<(Vec<String>, String)> {
    let text = fs::read_to_string(path)?;
    let value = |keyword: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(keyword));
        line.with_context(|| format!("no {keyword}in {}", path.display()))
    };
    let entrypoint = serde_json::from_str(value("ENTRYPOINT ")?)?;
    Ok((entrypoint, value("ENV PATH=")?.to_owned()))
}

fn status(containerd: &Containerd, host: &RunningPod) -> Result<Status> {
    let json = containerd.exec(&host.container, &["nri-host", "status", "--json"])?;
    serde_json::from_str(&json).with_context(|| format!("reading {json}"))
}
