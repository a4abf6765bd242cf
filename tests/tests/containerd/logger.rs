//! What the logger writes of the life of a real container.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use nri_host_tests::containerd::{self, Container, Containerd, Pod, V2_4};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::tier;
use serde_json::{Value, json};

/// Smaller than the events of one container together.
const ROTATE_BYTES: u64 = 4096;

/// Stands in an annotation that is hidden by default.
const SECRET: (&str, &str) = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "hunter2",
);

/// What happens to a container and its pod, in the order in which containerd tells it.
const LIFE: [&str; 9] = [
    "RunPodSandbox",
    "CreateContainer",
    "PostCreateContainer",
    "StartContainer",
    "PostStartContainer",
    "StopContainer",
    "RemoveContainer",
    "StopPodSandbox",
    "RemovePodSandbox",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_life_of_a_container_is_written_in_order_over_several_files_without_secrets()
-> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let containerd = Containerd::start(V2_4)?;
    let folder = containerd.dir().join("events");
    std::fs::create_dir(&folder)?;
    let config = json!({
        "file": folder.join("events"),
        "rotate_bytes": ROTATE_BYTES,
        "rotate_keep": 100,
        "exclude_namespaces": ["other"],
        "set_env": "FROM_LOGGER",
    });
    let mut host = Host::builder()
        .socket(&containerd.nri_socket())
        .component(Component::new("logger", 90, "libnri_logger.so").config(config))
        .start()?;
    host.wait_state("logger", State::Active).await?;

    let (pod, container) = a_life(&containerd, "default")?;
    a_life(&containerd, "other")?;
    // The end of the instance writes the rest.
    host.stop().await?;

    let (files, text) = read(&folder)?;
    ensure!(files > 1, "{files} file for\n{text}");
    ensure!(!text.contains(SECRET.1), "a hidden annotation in\n{text}");
    // The value of a variable that the container is known to have.
    ensure!(!text.contains("logger-pid-"), "a variable in\n{text}");
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| line.to_owned()))
        .collect::<Result<_>>()?;
    assert_eq!(records[0]["event"], "Synchronize");
    for record in &records[1..] {
        assert_eq!(record["pod"]["id"], pod.id.as_str(), "{record}");
        let name = &record["container"]["name"];
        assert!(
            name.is_null() || *name == container.name.as_str(),
            "{record}"
        );
    }
    let mut events: Vec<&str> = records[1..]
        .iter()
        .filter_map(|record| record["event"].as_str())
        .collect();
    // A runtime may say twice that something stopped.
    events.dedup();
    assert_eq!(events, LIFE);
    let env = records
        .iter()
        .filter_map(|record| record["container"]["env"].as_array());
    ensure!(
        env.flatten().any(|variable| variable == "FROM_LOGGER=***"),
        "no name of the variable in\n{text}"
    );
    Ok(())
}

/// A pod in a namespace, whose container has what the logger gives it, from start to end.
fn a_life(containerd: &Containerd, namespace: &str) -> Result<(Pod, Container)> {
    let pod = containerd.run_pod_in(namespace, "living", &[SECRET])?;
    let container = containerd.run_container(&pod, "main", &["/bin/sleep", "infinity"])?;
    let env = containerd.exec(&container, &["env"])?;
    let has = env
        .lines()
        .any(|line| line.starts_with("FROM_LOGGER=logger-pid-"));
    assert_eq!(has, namespace == "default", "{namespace}: {env}");
    containerd.stop_container(&container)?;
    containerd.remove_container(&container)?;
    containerd.remove_pod(&pod)?;
    Ok((pod, container))
}

/// How many files there are, none of them too long, and all that is in them, oldest first.
fn read(folder: &Path) -> Result<(usize, String)> {
    let files = std::fs::read_dir(folder)?.count();
    let mut all = String::new();
    for n in (0..files).rev() {
        let name = match n {
            0 => "events".to_owned(),
            n => format!("events.{n}"),
        };
        let text = std::fs::read_to_string(folder.join(&name)).with_context(|| name.clone())?;
        let one = text.lines().count() == 1;
        ensure!(
            one || text.len() as u64 <= ROTATE_BYTES,
            "{name} is too long"
        );
        all += &text;
    }
    Ok((files, all))
}
