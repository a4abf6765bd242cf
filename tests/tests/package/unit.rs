//! The unit under a real systemd: what it takes away is not missed.

use anyhow::{Context, Result};
use nri_host_tests::debian::{self, Machine, SHARED};
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::{pods, tier};

use crate::{installed, property};

/// A forbidden system call ends the daemon here instead of being refused, so that none goes unseen.
const STRICT: &str = "[Service]
SystemCallErrorNumber=kill
";

const RESTART: &str = "systemctl daemon-reload; systemctl restart nri-host";

const MAIN: &str = r#"
[runtime]
socket = "/shared/nri.sock"
"#;

/// All four components, each with something to do.
const DROP_IN: &str = r#"
[[component]]
name = "device-injector"
enabled = true
[component.config]
allow_devices = ["/dev/full"]
allow_mounts = ["/srv"]
# CDI devices are left to the other one, which reads the same annotation.
on_denied = "drop"

[[component]]
name = "cdi-injector"
enabled = true
[component.config]
allow = [{ namespaces = ["*"], devices = ["acme.com/dev"] }]

[[component]]
name = "hook-injector"
enabled = true

[[component]]
name = "logger"
enabled = true
[component.config]
file = "/var/log/nri-host/events.json"
"#;

const CDI: &str = "{cdiVersion: 0.6.0, kind: acme.com/dev, devices: [{name: d, containerEdits: \
    {deviceNodes: [{path: /dev/zero}]}}]}";

const HOOK: &str = r#"{
    "version": "1.0.0",
    "hook": { "path": "/bin/true" },
    "when": { "always": true },
    "stages": ["createRuntime"]
}"#;

#[tokio::test(flavor = "multi_thread")]
async fn all_built_in_components_work_without_what_the_unit_takes_away() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let mut runtime = FakeRuntime::builder(Profile::nri_0_6())
        .socket(machine.shared().join("nri.sock"))
        .build()?;
    runtime.listen()?;
    configure(&machine).await?;
    machine.must(RESTART).await?;

    let names = [
        "10-device-injector",
        "15-cdi-injector",
        "30-hook-injector",
        "90-logger",
    ];
    runtime.plugins(&names).await?;
    inject(&runtime).await?;
    // The new socket is noticed by a host that can write nowhere near it.
    runtime.restart().await?;
    runtime.plugins(&names).await?;
    inject(&runtime).await?;

    machine.must("systemctl stop nri-host").await?;
    let result = machine
        .must("systemctl show --property Result --property NRestarts nri-host")
        .await?;
    assert_eq!(result, "Result=success\nNRestarts=0\n");
    let events = machine.must("cat /var/log/nri-host/events.json").await?;
    assert_eq!(events.matches("\"CreateContainer\"").count(), 2, "{events}");
    Ok(())
}

/// Each component's part in a creation.
async fn inject(runtime: &FakeRuntime) -> Result<()> {
    let pod = pods::pod("p")
        .namespace("default")
        .annotation("devices.noderesource.dev/pod", "[{path: /dev/full}]")
        .annotation(
            "mounts.noderesource.dev/pod",
            "[{source: /srv, destination: /data, options: [rbind]}]",
        )
        .annotation("cdi-devices.noderesource.dev/pod", "[acme.com/dev=d]")
        .build();
    let container = pods::container(&pod, "c").build();
    let mut devices = Vec::new();
    let mut mounts = 0;
    let mut hooks = 0;
    for (_, reply) in runtime.create_container(&pod, &container).await.replies()? {
        let adjust = reply.message.adjust.unwrap_or_default();
        mounts += adjust.mounts.len();
        hooks += adjust.hooks.create_runtime.len();
        let linux = adjust.linux.unwrap_or_default();
        devices.extend(linux.devices.into_iter().map(|device| device.path));
    }
    assert_eq!(devices, ["/dev/full", "/dev/zero"]);
    assert_eq!((mounts, hooks), (1, 1));
    Ok(())
}

/// Writes a file in the machine.
async fn write(machine: &Machine, path: &str, text: &str) -> Result<()> {
    std::fs::write(machine.shared().join("file"), text)?;
    let install = format!("install -D -m 644 {SHARED}/file {path}");
    machine
        .must(&install)
        .await
        .with_context(|| format!("writing {path}"))?;
    Ok(())
}

async fn configure(machine: &Machine) -> Result<()> {
    for (path, text) in [
        ("/etc/nri-host/nri-host.toml", MAIN),
        ("/etc/nri-host/conf.d/99-local.toml", DROP_IN),
        ("/etc/systemd/system/nri-host.service.d/strict.conf", STRICT),
        ("/etc/cdi/acme.yaml", CDI),
        ("/etc/containers/oci/hooks.d/true.json", HOOK),
    ] {
        write(machine, path, text).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_crashed_comes_back() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .socket(machine.shared().join("nri.sock"))
        .build()?;
    runtime.listen()?;
    configure(&machine).await?;
    machine.must(RESTART).await?;
    let plugin = runtime.plugin("90-logger").await?;

    machine
        .must("systemctl kill --signal=SEGV nri-host")
        .await?;
    runtime.reconnected(&plugin).await?;
    assert_eq!(property(&machine, "NRestarts").await?, "1");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_runs_with_each_of_the_drop_ins() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    // The folder that an example lets be written to.
    machine.must("mkdir /srv/audit").await?;
    let examples = machine
        .must("ls /usr/share/doc/nri-host/examples/systemd")
        .await?;
    assert!(examples.lines().count() > 1, "{examples}");
    let dropins = "/etc/systemd/system/nri-host.service.d";
    for example in examples.lines() {
        let script = format!(
            "install -D -t {dropins} /usr/share/doc/nri-host/examples/systemd/{example}; {RESTART}; \
             nri-host status; rm {dropins}/{example}"
        );
        machine.must(&script).await.context(example.to_owned())?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_brings_a_component_and_fails_where_the_configuration_is_wrong() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .socket(machine.shared().join("nri.sock"))
        .build()?;
    runtime.listen()?;
    write(&machine, "/etc/nri-host/nri-host.toml", MAIN).await?;
    machine.must(RESTART).await?;
    let before = property(&machine, "MainPID").await?;

    write(&machine, "/etc/nri-host/conf.d/99-local.toml", DROP_IN).await?;
    machine.must("systemctl reload nri-host").await?;
    let logger = runtime.plugin("90-logger").await?;
    write(&machine, "/etc/nri-host/nri-host.toml", "[host]\nlog = 7\n").await?;
    let wrong = machine.run("systemctl reload nri-host").await?;

    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(logger.is_connected());
    assert_eq!(property(&machine, "ActiveState").await?, "active");
    assert_eq!(property(&machine, "MainPID").await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_goes_on_when_the_unit_of_the_runtime_stops() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let runtime = "[Service]\nExecStart=sleep infinity\n";
    write(&machine, "/etc/systemd/system/containerd.service", runtime).await?;
    machine.must(RESTART).await?;
    let before = property(&machine, "MainPID").await?;
    // Wanted by the daemon's unit.
    machine.must("systemctl is-active containerd").await?;

    machine
        .must("systemctl stop containerd; systemctl start containerd")
        .await?;
    assert_eq!(property(&machine, "ActiveState").await?, "active");
    assert_eq!(property(&machine, "MainPID").await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_to_be_had_over_tcp_with_the_drop_in_for_it() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let listen = "[host]\nmetrics_listen = \"127.0.0.1:9411\"\n";
    write(&machine, "/etc/nri-host/nri-host.toml", listen).await?;
    let drop_in = "install -D -t /etc/systemd/system/nri-host.service.d \
        /usr/share/doc/nri-host/examples/systemd/metrics-over-tcp.conf";
    machine.must(&format!("{drop_in}; {RESTART}")).await?;

    let ask = r#"bash -c 'exec 3<>/dev/tcp/127.0.0.1/9411
        printf "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" >&3; cat <&3'"#;
    let answer = machine.must(ask).await?;
    assert!(answer.contains("nri_host_build_info{"), "{answer}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daemon_has_no_capability_and_no_network() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let status = machine
        .must("cat /proc/$(systemctl show --value --property MainPID nri-host)/status")
        .await?;
    for line in [
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ] {
        assert!(
            status.lines().any(|other| other == line),
            "{line}: {status}"
        );
    }
    let namespaces = "readlink /proc/1/ns/net /proc/$(systemctl show --value --property MainPID nri-host)/ns/net";
    let namespaces = machine.must(namespaces).await?;
    let namespaces: Vec<_> = namespaces.lines().collect();
    assert_ne!(namespaces[0], namespaces[1]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_not_started_again_and_again() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let script = "printf '[host]\\nlog = 7\\n' >/etc/nri-host/nri-host.toml
        systemctl restart nri-host && exit 1
        systemctl show --property Result --property ExecMainStatus --property NRestarts --property SubState nri-host";
    let shown = machine.must(script).await?;
    assert_eq!(
        shown,
        "Result=exit-code\nNRestarts=0\nExecMainStatus=78\nSubState=failed\n"
    );
    Ok(())
}
