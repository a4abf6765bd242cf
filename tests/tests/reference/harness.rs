//! The harness itself, with plugins that are not ours.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nri_host_tests::reference::{self, Options, Pace, Reference, Refused};
use nri_host_tests::tier;
use nri_plugin_api::api::{
    Container, CreateContainerRequest, PodSandbox, StartContainerRequest, SynchronizeRequest,
};

const TIER: &str = "reference runtime";

/// A plugin process that ends with this value.
struct Plugin(Child);

impl Plugin {
    fn start(program: &Path, socket: &Path, index: &str, name: &str) -> Self {
        let child = Command::new(program)
            .arg(socket)
            .args([index, name])
            // The reference stub logs each of its steps.
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap_or_else(|error| panic!("{}: {error}", program.display())))
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // Fails only if it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn floor() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_floor"))
}

fn request() -> CreateContainerRequest {
    let mut request = CreateContainerRequest::new();
    request.pod.mut_or_insert_default().id = "pod0".to_owned();
    request.container.mut_or_insert_default().id = "ctr0".to_owned();
    request
}

#[test]
fn plugins_of_others_are_connected_called_and_seen_to_leave() -> anyhow::Result<()> {
    if tier::skipped(TIER, reference::missing()) {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let socket = dir.path().join("nri.sock");
    let runtime = Reference::start(&socket, &Options::default())?;
    let go = reference::programs()?.join("smallest-plugin");
    let _go = Plugin::start(&go, &socket, "10", "go");
    let floor = Plugin::start(floor(), &socket, "20", "floor");
    let connected = runtime.wait_connected(&["10-go", "20-floor"]);
    assert!(connected.iter().all(|event| !event.at.is_zero()));

    let answer = runtime.call(&request())?;
    assert!(
        answer.adjust.annotations.is_empty() && answer.update.is_empty(),
        "{answer:?}"
    );
    runtime.call(&StartContainerRequest::new())?;

    drop(floor);
    runtime.wait("the floor to leave", |events| {
        events
            .iter()
            .any(|e| e.name == "closed" && e.text == "20-floor")
            .then_some(())
    });
    let pace = Pace {
        warmup: 10,
        calls: 100,
        pause: Duration::ZERO,
    };
    let latency = runtime.bench(&request(), pace)?;
    assert!(!latency.p50.is_zero() && latency.p50 <= latency.p90 && latency.p90 <= latency.p99);
    Ok(())
}

#[test]
fn a_state_larger_than_a_message_reaches_a_plugin_in_chunks() -> anyhow::Result<()> {
    if tier::skipped(TIER, reference::missing()) {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let runtime = Reference::new(&dir.path().join("nri.sock"))?;
    let padded = |id: usize| Container {
        id: format!("ctr{id}"),
        pod_sandbox_id: "pod0".to_owned(),
        args: vec!["x".repeat(10_000)],
        ..Container::default()
    };
    let pod = |id: usize| PodSandbox {
        id: format!("pod{id}"),
        ..PodSandbox::default()
    };
    runtime.set_state(&SynchronizeRequest {
        // With few pods the library makes chunks that have none, for ever.
        pods: (0..100).map(pod).collect(),
        containers: (0..1000).map(padded).collect(),
        ..SynchronizeRequest::default()
    })?;
    runtime.listen(&Options::default())?;
    // It answers each chunk with `more`; otherwise the runtime would drop it.
    let _floor = Plugin::start(floor(), runtime.socket(), "20", "floor");
    runtime.wait_connected(&["20-floor"]);
    Ok(())
}

#[test]
fn a_plugin_with_a_bad_index_is_refused() -> anyhow::Result<()> {
    if tier::skipped(TIER, reference::missing()) {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let runtime = Reference::start(&dir.path().join("nri.sock"), &Options::default())?;
    let _floor = Plugin::start(floor(), runtime.socket(), "7", "floor");
    let reason = runtime.wait("a refusal", |events| {
        events
            .iter()
            .find(|event| event.name == "refused")
            .map(|event| event.text.clone())
    });
    assert!(reason.contains("invalid index"), "{reason}");
    Ok(())
}

#[test]
fn what_the_runtime_refuses_is_told_as_an_error() -> anyhow::Result<()> {
    if tier::skipped(TIER, reference::missing()) {
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let runtime = Reference::new(&dir.path().join("nri.sock"))?;
    let error = runtime
        .call(&request())
        .expect_err("it does not listen yet");
    let refused = error.downcast_ref::<Refused>().expect("a refusal");
    assert_eq!(refused.0, "the runtime is not started");
    Ok(())
}
