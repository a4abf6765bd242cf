//! A short story: the real host, with real components, comes through a restart of its runtime.
//!
//! The runtime is the fake one of the tests, on a private socket; host and components are what
//! `cargo build` makes. Nothing outside a temporary folder is touched.

mod story;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::fake_runtime::{CallError, FakeRuntime, Plugin, Profile, SocketFile};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::patience::patiently;
use nri_host_tests::pods;
use nri_plugin_api::api::{Container, ContainerAdjustment, ContainerState, PodSandbox};
use serde_json::json;
use story::Story;

/// Devices that containers do not get by themselves; one of them is on any machine.
const DEVICES: [&str; 4] = ["/dev/fuse", "/dev/kvm", "/dev/kmsg", "/dev/full"];
/// What no node admin would allow.
const FORBIDDEN: &str = "/dev/mem";
const INJECTOR: &str = "10-device-injector";
const LOGGER: &str = "90-logger";

#[tokio::main]
async fn main() -> ExitCode {
    let mut story = Story::new();
    match tell(&mut story).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            story.failed(&error);
            ExitCode::FAILURE
        }
    }
}

async fn tell(story: &mut Story) -> Result<()> {
    story.chapter("Building nri-host and its components");
    let built = artifacts()?;
    story.line(&format!("{}", built.host().display()));
    let device = existing_device()?;

    story.chapter("A container runtime starts, and so does nri-host");
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let builder = Host::builder().quiet();
    let events = builder.folder().join("events.jsonl");
    let mut host = builder
        .socket(runtime.socket())
        .component(
            Component::new("device-injector", 10, "libnri_device_injector.so")
                .config(json!({ "allow_devices": [device] })),
        )
        .component(
            Component::new("logger", 90, "libnri_logger.so").config(json!({ "file": events })),
        )
        .start()?;
    let injector = runtime.plugin(INJECTOR).await?;
    runtime.plugin(LOGGER).await?;
    story.line("one process, and the runtime sees two plugins:");
    for plugin in runtime.active() {
        story.item(&plugin);
    }

    story.chapter("A pod asks for a device in an annotation");
    let pod = annotated("web", "nginx", device);
    story.line(&format!(
        "devices.noderesource.dev/container.nginx: - path: {device}"
    ));
    let nginx = pods::container(&pod, "nginx").build();
    let adjustment = created(&injector, &pod, &nginx).await?;
    story.line(&format!("container nginx   {}", devices(&adjustment)));
    ensure!(
        has_device(&adjustment, device),
        "nginx did not get {device}"
    );
    let sidecar = pods::container(&pod, "sidecar").build();
    let adjustment = created(&injector, &pod, &sidecar).await?;
    story.line(&format!("container sidecar {}", devices(&adjustment)));
    ensure!(!has_device(&adjustment, device), "the sidecar got {device}");

    story.chapter("Another pod asks for what is not allowed");
    let greedy = annotated("greedy", "nginx", FORBIDDEN);
    let refused = pods::container(&greedy, "nginx").build();
    let refusal = created(&injector, &greedy, &refused).await;
    let refusal = refusal
        .err()
        .with_context(|| format!("{FORBIDDEN} was not refused"))?;
    story.quote(&format!("{:#}", anyhow::Error::from(refusal)));

    story.chapter("The runtime is killed");
    runtime.set_state(vec![pod.clone()], vec![running(nginx), running(sidecar)]);
    runtime.kill(SocketFile::Removed).await?;
    host.wait_state("device-injector", State::Waiting).await?;
    host.wait_state("logger", State::Waiting).await?;
    story.line("nri-host stays. It says of itself:");
    story.quote(&host.run(&["status"]).await?.stdout);

    story.chapter("The runtime starts again");
    let listening = Instant::now();
    runtime.listen()?;
    let injector = runtime.plugin(INJECTOR).await?;
    runtime.plugin(LOGGER).await?;
    story.line(&format!(
        "both components are back after {:.1} ms, in step with what runs:",
        listening.elapsed().as_secs_f64() * 1000.0
    ));
    let line = patiently(
        "Synchronize in the logger's file",
        synchronized(&events, "nginx"),
    )
    .await??;
    story.line(&format!("the logger wrote: {}", summary(&line)?));

    story.chapter("A new pod gets its device as if nothing had happened");
    let pod = annotated("web-2", "nginx", device);
    let nginx = pods::container(&pod, "nginx").build();
    let adjustment = created(&injector, &pod, &nginx).await?;
    story.line(&format!("container nginx   {}", devices(&adjustment)));
    ensure!(
        has_device(&adjustment, device),
        "the new nginx did not get {device}"
    );
    story.quote(&host.run(&["status"]).await?.stdout);

    story.chapter("nri-host is told to stop");
    let (status, took) = host.stop().await?;
    ensure!(status.success(), "nri-host ended with {status}");
    story.line(&format!("it ended in order after {} ms", took.as_millis()));
    story.end();
    Ok(())
}

fn existing_device() -> Result<&'static str> {
    DEVICES
        .into_iter()
        .find(|device| Path::new(device).exists())
        .with_context(|| format!("none of {DEVICES:?} is on this machine"))
}

/// A pod whose annotation asks for a device for one of its containers.
fn annotated(name: &str, container: &str, device: &str) -> PodSandbox {
    let key = format!("devices.noderesource.dev/container.{container}");
    pods::pod(name)
        .annotation(&key, &format!("- path: {device}"))
        .build()
}

async fn created(
    injector: &Plugin,
    pod: &PodSandbox,
    container: &Container,
) -> Result<ContainerAdjustment, CallError> {
    let reply = injector.create_container(pod, container).await?;
    Ok(reply.message.adjust.unwrap_or_default())
}

/// What the runtime makes of a container that it has created.
fn running(mut container: Container) -> Container {
    container.state = ContainerState::CONTAINER_RUNNING.into();
    container
}

fn has_device(adjustment: &ContainerAdjustment, path: &str) -> bool {
    adjustment
        .linux
        .devices
        .iter()
        .any(|device| device.path == path)
}

fn devices(adjustment: &ContainerAdjustment) -> String {
    let devices = &adjustment.linux.devices;
    if devices.is_empty() {
        return "is left as it is".to_owned();
    }
    let shown: Vec<String> = devices
        .iter()
        .map(|device| {
            format!(
                "{} ({} {}:{})",
                device.path, device.type_, device.major, device.minor
            )
        })
        .collect();
    format!("gets {}", shown.join(", "))
}

/// What a line about Synchronize says, for people.
fn summary(line: &str) -> Result<String> {
    let event: serde_json::Value = serde_json::from_str(line)?;
    let containers = event["containers"]
        .as_array()
        .context("no containers in the line")?;
    let names: Vec<&str> = containers
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    let (pods, count) = (&event["pod_count"], &event["container_count"]);
    Ok(format!(
        "Synchronize, pods: {pods}, containers: {count} ({})",
        names.join(", ")
    ))
}

/// The newest line about Synchronize in the logger's file, once it names a container.
async fn synchronized(events: &Path, container: &str) -> Result<String> {
    loop {
        let written = tokio::fs::read_to_string(events).await.unwrap_or_default();
        let line = written
            .lines()
            .rfind(|line| line.contains("\"Synchronize\"") && line.contains(container));
        if let Some(line) = line {
            return Ok(line.to_owned());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
