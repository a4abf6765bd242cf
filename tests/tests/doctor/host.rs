//! nri-host itself: its configuration, libraries, service and daemon.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use anyhow::Result;
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Component, Host, State};
use serde_json::json;

use crate::node::{Node, Report, UNIT};

fn sound_node() -> Node {
    Node::containerd("2.1.4", "version = 3\n").listening()
}

#[tokio::test]
async fn where_everything_is_right_nothing_is_said_and_the_status_is_0() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let nri = format!(
        "version = 3\n[plugins.\"io.containerd.nri.v1.nri\"]\nsocket_path = \"{}\"\n",
        runtime.socket().display()
    );
    let node = Node::containerd("2.4.2", &nri)
        .file(UNIT, include_str!("../../../systemd/nri-host.service"))
        .link(
            "/etc/systemd/system/multi-user.target.wants/nri-host.service",
            UNIT,
        );
    let host = Host::builder()
        .socket(runtime.socket())
        .component(Component::new("logger", 90, "libnri_logger.so"))
        .start()?;
    host.wait_state("logger", State::Active).await?;
    let node = node.process(
        host.pid(),
        "/usr/bin/nri-host",
        &["run"],
        "0::/system.slice/nri-host.service",
    );
    let root = node.path("/");
    let arguments = ["doctor", "--json", "--root", root.to_str().unwrap()];
    let report = Report::read(&host.run(&arguments).await?)?;
    assert_eq!(
        (report.code, report.bad()),
        (Some(0), vec![]),
        "{report:#?}"
    );
    for code in [
        "config",
        "library",
        "runtime",
        "nri",
        "socket-path",
        "socket",
        "unit",
        "host",
    ] {
        assert_eq!(report.the(code).level, "ok");
    }
    Ok(())
}

#[tokio::test]
async fn each_mistake_in_the_configuration_is_told_with_its_line() -> Result<()> {
    let node = sound_node();
    let host = node
        .host()
        .text("[[component]]\nname = \"a b\"\nindx = 1\n");
    let report = node.doctor(&host).await?;
    let mistakes: Vec<_> = report
        .findings
        .iter()
        .filter(|one| one.code == "config-mistake")
        .collect();
    assert!(mistakes.len() >= 2, "{report:#?}");
    assert!(
        mistakes
            .iter()
            .any(|one| one.what.contains("nri-host.toml:") && one.what.contains("indx"))
    );
    Ok(())
}

#[tokio::test]
async fn folders_of_components_that_are_missing_or_open_to_others_are_told() -> Result<()> {
    let node = sound_node();
    let open = node.path("/open");
    fs::create_dir(&open)?;
    fs::set_permissions(&open, Permissions::from_mode(0o777))?;
    let folders = [node.path("/missing"), open].map(|folder| folder.display().to_string());
    let host = node
        .host()
        .set("component_dirs", folders.to_vec())
        .component(Component::new("off", 1, "none.so").set("enabled", false));
    let report = node.doctor(&host).await?;
    assert!(
        report
            .the("component-dir-missing")
            .what
            .ends_with("/missing, where libraries are looked for")
    );
    assert!(
        report
            .the("component-dir-unsafe")
            .why()
            .contains("chmod go-w")
    );
    report.the("no-components");
    Ok(())
}

#[tokio::test]
async fn a_library_that_is_refused_is_told_with_the_reason() -> Result<()> {
    let node = sound_node().file("/lib/broken.so", "no library");
    let copy = node.path("/lib/open.so");
    fs::copy(artifacts()?.library("libnri_logger.so")?, &copy)?;
    fs::set_permissions(&copy, Permissions::from_mode(0o666))?;
    let host = node
        .host()
        .component(Component::new("logger", 90, "libnri_logger.so"))
        .component(Component::new("broken", 1, node.path("/lib/broken.so")))
        .component(Component::new("open", 2, &*copy));
    let report = node.doctor(&host).await?;
    let refused: Vec<_> = report
        .findings
        .iter()
        .filter(|one| one.code == "library-refused")
        .collect();
    let [broken, open] = refused[..] else {
        panic!("{report:#?}");
    };
    assert_eq!(broken.what, "01-broken cannot be loaded");
    assert!(broken.why().contains("is not an ELF file"), "{broken:#?}");
    assert!(open.why().contains("chmod go-w"), "{open:#?}");
    report.the("library");
    Ok(())
}

#[tokio::test]
async fn a_host_that_runs_as_a_service_and_in_a_pod_is_told() -> Result<()> {
    let node = sound_node()
        .process(
            70,
            "/usr/bin/nri-host",
            &["run"],
            "0::/system.slice/nri-host.service",
        )
        .process(
            71,
            "/usr/bin/nri-host",
            &["run"],
            "0::/kubepods.slice/pod1/x.scope",
        )
        .process(72, "/usr/bin/nri-host", &["doctor"], "0::/user.slice");
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("host-twice");
    assert_eq!(
        finding.what,
        "nri-host runs twice: process 70 of nri-host.service, process 71 in a pod"
    );
    assert!(finding.runs("systemctl disable --now nri-host"));
    report.the("host-silent");
    Ok(())
}

#[tokio::test]
async fn a_service_that_drop_ins_have_broken_is_told() -> Result<()> {
    let node = sound_node()
        .file(
            UNIT,
            "[Unit]\nWants=containerd.service\n[Service]\nType=notify\nRestart=always\n",
        )
        .file(
            "/etc/systemd/system/nri-host.service.d/10.conf",
            "[Unit]\nBindsTo=containerd.service\n[Service]\nUser=nobody\n",
        );
    let report = node.doctor(&node.host()).await?;
    let broken: Vec<_> = report
        .findings
        .iter()
        .filter(|one| one.code == "unit-broken")
        .collect();
    let whats: Vec<_> = broken.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(
        whats,
        [
            "/etc/systemd/system/nri-host.service.d/10.conf says BindsTo=containerd.service",
            "/etc/systemd/system/nri-host.service.d/10.conf says User=nobody",
        ]
    );
    assert!(
        report
            .the("unit-not-enabled")
            .runs("systemctl enable nri-host.service")
    );
    let node = node.link("/etc/systemd/system/nri-host.service", "/dev/null");
    let report = node.doctor(&node.host()).await?;
    assert!(
        report
            .the("unit-masked")
            .runs("systemctl unmask nri-host.service")
    );
    Ok(())
}

#[tokio::test]
async fn memory_files_that_may_not_be_executed_are_told_with_where_copies_go() -> Result<()> {
    let node = sound_node().file("/proc/sys/vm/memfd_noexec", "2\n");
    let host = node.host();
    let report = node.doctor(&host).await?;
    let state = host.folder().join("state").display().to_string();
    assert!(report.the("memfd").what.ends_with(&state), "{report:#?}");
    Ok(())
}

#[tokio::test]
async fn what_a_component_finds_wrong_in_its_own_configuration_is_told_with_its_line() -> Result<()>
{
    let node = sound_node();
    let config = json!({ "allow_devices": ["no path"] });
    let injector = Component::new("devices", 10, "libnri_device_injector.so").config(config);
    let report = node.doctor(&node.host().component(injector)).await?;
    let finding = report.the("component-config");
    assert!(finding.what.contains("nri-host.toml:"), "{finding:#?}");
    assert!(
        finding.what.contains("10-devices: config.allow_devices[0]"),
        "{finding:#?}"
    );
    Ok(())
}

#[tokio::test]
async fn components_that_do_not_work_in_the_running_host_are_told() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::nri_0_8()).await?;
    let updating = json!({ "methods": [], "updates": { "in_create": ["0123"] } });
    let host = Host::builder()
        .socket(runtime.socket())
        .component(Component::faulty(
            "broken",
            10,
            json!({ "create": "error" }),
        ))
        .component(Component::faulty("updating", 20, updating))
        .start()?;
    host.wait_state("broken", State::Failed).await?;
    host.wait_component("updating", "done with an update", |component| {
        component.rest["updates"]["sent"] == 1
    })
    .await?;
    let node = Node::containerd("2.1.4", "version = 3\n");
    let root = node.path("/");
    let arguments = ["doctor", "--json", "--root", root.to_str().unwrap()];
    let report = Report::read(&host.run(&arguments).await?)?;
    let state = report.the("component-state");
    assert_eq!(state.what, "10-broken is failed");
    assert!(state.why().contains("as configured") && state.runs("nri-host reset broken"));
    assert!(
        report
            .the("updates-can-freeze")
            .what
            .starts_with("updating changes"),
        "{report:#?}"
    );
    // Why nothing listens for it is no question where it is connected.
    assert_eq!(report.the("socket").level, "ok");
    Ok(())
}

#[tokio::test]
async fn a_host_without_a_service_is_not_to_be_started_by_it() -> Result<()> {
    let node = sound_node();
    let report = node.doctor(&node.host()).await?;
    assert!(report.the("host-not-running").runs("nri-host run"));
    let node = node.file(UNIT, "");
    let report = node.doctor(&node.host()).await?;
    assert!(
        report
            .the("host-not-running")
            .runs("systemctl enable --now nri-host")
    );
    Ok(())
}
