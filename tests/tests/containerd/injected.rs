//! What the device injector brings, as it is seen from inside a container and in what the OCI runtime
//! is told.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nri_host_tests::containerd::{self, Container, Containerd, Release, V2_4};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::tier;
use serde_json::{Value, json};

const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

/// Starts both, or nothing if the test is to be skipped.
async fn start() -> Result<Option<(Containerd, Host)>> {
    start_with(Containerd::start).await
}

async fn start_with(
    containerd: impl FnOnce(Release) -> Result<Containerd>,
) -> Result<Option<(Containerd, Host)>> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(None);
    }
    let containerd = containerd(V2_4)?;
    let shared = containerd.dir().join("shared");
    fs::create_dir(&shared)?;
    fs::write(shared.join("greeting"), "hello")?;
    std::os::unix::fs::symlink("/etc", shared.join("elsewhere"))?;
    let settings = json!({
        "allow_devices": ["/dev/kmsg"],
        "allow_mounts": [fs::canonicalize(&shared)?, "tmpfs"],
        "allow_sysctls": ["kernel.msgmax"],
        "allow_io_priorities": ["IOPRIO_CLASS_BE"],
        "allow_scheduling_policies": ["SCHED_BATCH"],
        "allow_network_devices": ["nrih*"],
        "allow_memory_policies": ["MPOL_BIND"],
    });
    let host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(Component::new("injector", 10, "libnri_device_injector.so").config(settings))
        .start()?;
    host.wait_state("injector", State::Active).await?;
    Ok(Some((containerd, host)))
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_mounts_and_kernel_parameters_are_seen_from_inside() -> Result<()> {
    let Some((containerd, _host)) = start().await? else {
        return Ok(());
    };
    let shared = containerd.dir().join("shared");
    let mounts = format!(
        "- {{source: {}, destination: /given, options: [ro]}}\n\
         - {{destination: /scratch, type: tmpfs, options: [size=64k]}}",
        shared.display()
    );
    let pod = containerd.run_pod(
        "given",
        &[
            (
                "devices.noderesource.dev/container.main",
                "- path: /dev/kmsg",
            ),
            ("mounts.noderesource.dev/container.main", &mounts),
            (
                "sysctl.noderesource.dev/container.main",
                "kernel.msgmax: 4242",
            ),
            (
                "scheduling-policy.noderesource.dev/container.main",
                "{policy: SCHED_BATCH, nice: 3}",
            ),
            (
                "io-priority.noderesource.dev/pod",
                "{class: IOPRIO_CLASS_BE, priority: 6}",
            ),
        ],
    )?;
    let main = containerd.run_container(&pod, "main", &SLEEP)?;
    let inside = |command: &[&str]| containerd.exec(&main, command);
    assert_eq!(
        inside(&["stat", "-c", "%F %t:%T", "/dev/kmsg"])?,
        "character special file 1:b"
    );
    assert_eq!(inside(&["cat", "/given/greeting"])?, "hello");
    assert_eq!(inside(&["cat", "/proc/sys/kernel/msgmax"])?, "4242");
    inside(&["sh", "-c", "echo x > /scratch/file"])?;
    let refused = inside(&["sh", "-c", "echo x > /given/file"]).unwrap_err();
    ensure!(format!("{refused:#}").contains("Read-only"), "{refused:#}");

    let process = &spec(&containerd, &main)?["process"];
    assert_eq!(
        process["scheduler"],
        json!({ "policy": "SCHED_BATCH", "nice": 3 })
    );
    assert_eq!(
        process["ioPriority"],
        json!({ "class": "IOPRIO_CLASS_BE", "priority": 6 })
    );

    let other = containerd.run_container(&pod, "other", &SLEEP)?;
    for path in ["/dev/kmsg", "/given", "/scratch"] {
        ensure!(
            containerd.exec(&other, &["stat", path]).is_err(),
            "{path} is in the other"
        );
    }
    let process = &spec(&containerd, &other)?["process"];
    assert_eq!(process["scheduler"], Value::Null);
    assert_eq!(process["ioPriority"]["priority"], 6);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_what_is_not_allowed_reads_why() -> Result<()> {
    let Some((containerd, _host)) = start().await? else {
        return Ok(());
    };
    let link = containerd.dir().join("shared/elsewhere");
    let link = format!("- {{source: {}, destination: /given}}", link.display());
    for (name, key, value, reason) in [
        (
            "disk",
            "devices.nri.io",
            "- {path: /dev/kmsg, type: b, major: 8, minor: 0}",
            "allow_devices",
        ),
        (
            "link",
            "mounts.noderesource.dev",
            &link,
            "leads to \"/etc\"",
        ),
        (
            "kernel",
            "sysctl.noderesource.dev",
            "kernel.msgmnb: 1",
            "allow_sysctls",
        ),
    ] {
        let pod = containerd.run_pod(name, &[(key, value)])?;
        let refused = containerd.run_container(&pod, "main", &SLEEP).err();
        let refused = format!(
            "{:#}",
            refused.with_context(|| format!("{name} is let in"))?
        );
        // The client quotes the text.
        ensure!(
            refused.replace('\\', "").contains(reason),
            "{name}: {refused}"
        );
        ensure!(refused.contains(key), "{name}: {refused}");
    }
    Ok(())
}

/// A network device of the node that leads nowhere. It goes with the value, or with the network that
/// it was moved to.
struct NetDevice(String);

impl NetDevice {
    /// Of a kind that the kernel has.
    fn new() -> Result<Self> {
        let device = Self(format!("nrih{}", std::process::id()));
        let add = |kind: &str| device.ip(&["add"], &["type", kind]);
        add("dummy").or_else(|_| add("ifb"))?;
        Ok(device)
    }

    fn ip(&self, before: &[&str], after: &[&str]) -> Result<()> {
        let mut command = Command::new("/bin/busybox");
        command.args(["ip", "link"]).args(before);
        let output = command.arg(&self.0).args(after).output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?}: {complaint}");
        Ok(())
    }

    fn is_on_node(&self) -> bool {
        Path::new("/sys/class/net").join(&self.0).exists()
    }
}

impl Drop for NetDevice {
    fn drop(&mut self) {
        if self.is_on_node() {
            let _ = self.ip(&["del"], &[]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn network_devices_and_memory_policies_are_seen_from_inside() -> Result<()> {
    let has_numa = Path::new("/proc/self/numa_maps").exists();
    let missing = (!has_numa).then(|| "this kernel has none".to_owned());
    if tier::skipped("NUMA memory policies", missing) {
        return Ok(());
    }
    let Some((containerd, _host)) = start_with(Containerd::start_with_new_runc).await? else {
        return Ok(());
    };
    let device = NetDevice::new()?;
    let moved = format!("- {{hostIf: {}, name: given0}}", device.0);
    let pod = containerd.run_pod_apart(
        "given",
        &[
            ("network-devices.noderesource.dev/container.main", &moved),
            (
                "memory-policy.noderesource.dev/container.main",
                "{mode: MPOL_BIND, nodes: 0, flags: [MPOL_F_STATIC_NODES]}",
            ),
        ],
    )?;
    let main = containerd.run_container(&pod, "main", &SLEEP)?;
    let inside = |command: &[&str]| containerd.exec(&main, command);
    inside(&["stat", "/sys/class/net/given0"])?;
    ensure!(!device.is_on_node(), "it is on the node as well");
    // Of the pod's process, which is the first one, and of the container's.
    let maps = inside(&["sh", "-c", "cat /proc/[0-9]*/numa_maps"])?;
    ensure!(maps.contains(" bind=static:0 "), "{maps}");
    Ok(())
}

/// The OCI specification that the OCI runtime got for a container.
fn spec(containerd: &Containerd, container: &Container) -> Result<Value> {
    let tasks = containerd
        .dir()
        .join("state/io.containerd.runtime.v2.task/k8s.io");
    let path = tasks.join(&container.id).join("config.json");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_str(&text)?)
}
