//! Pods and containers through the CRI service, as the kubelet makes them.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::{Containerd, config, image};

/// `NamespaceMode` of the CRI: a network of the pod's own, and the host's.
const POD: u8 = 0;
const NODE: u8 = 2;

/// A pod that runs, or ran.
#[derive(Clone, Debug)]
pub struct Pod {
    /// The sandbox's id.
    pub id: String,
    pub name: String,
    /// The sandbox's configuration, which creating a container repeats.
    config: PathBuf,
    logs: PathBuf,
}

/// A container of a pod.
#[derive(Clone, Debug)]
pub struct Container {
    pub id: String,
    pub name: String,
    log: PathBuf,
}

impl Container {
    /// What the container has written so far, without the time and stream that
    /// the runtime puts before each line.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn logs(&self) -> Result<String> {
        let log = fs::read_to_string(&self.log)
            .with_context(|| format!("reading {}", self.log.display()))?;
        let text = log.lines().filter_map(|line| line.splitn(4, ' ').nth(3));
        Ok(text.map(|line| format!("{line}\n")).collect())
    }
}

impl Containerd {
    /// Runs a pod with these annotations in the namespace `default`.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn run_pod(&self, name: &str, annotations: &[(&str, &str)]) -> Result<Pod> {
        self.run_pod_in("default", name, annotations)
    }

    /// Runs a pod with these annotations in a namespace.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn run_pod_in(
        &self,
        namespace: &str,
        name: &str,
        annotations: &[(&str, &str)],
    ) -> Result<Pod> {
        self.run_sandbox(namespace, name, &to_map(annotations), json!({}))
    }

    /// Runs a pod with these annotations in a network of its own, in which there is nothing.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn run_pod_apart(&self, name: &str, annotations: &[(&str, &str)]) -> Result<Pod> {
        let apart = json!({ "namespace_options": { "network": POD } });
        self.run_sandbox("default", name, &to_map(annotations), apart)
    }

    /// Runs a pod with these annotations and these fields of a `LinuxSandboxSecurityContext`, in the
    /// host's network unless they say otherwise.
    pub(crate) fn run_sandbox(
        &self,
        namespace: &str,
        name: &str,
        annotations: &Map<String, Value>,
        mut security: Value,
    ) -> Result<Pod> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let uid = format!("{}-{number}", std::process::id());
        let logs = self.dir().join("logs").join(&uid);
        fs::create_dir_all(&logs)?;
        if security["namespace_options"].is_null() {
            security["namespace_options"] = json!({ "network": NODE });
        }
        let sandbox = json!({
            "metadata": { "name": name, "namespace": namespace, "uid": uid, "attempt": 0 },
            "labels": { "io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": namespace },
            "annotations": annotations,
            "log_directory": logs,
            "linux": {
                "cgroup_parent": config::cgroup_parent(self.dir()),
                "security_context": security,
            },
        });
        let config = logs.join("pod.json");
        fs::write(&config, sandbox.to_string())?;
        let id = self.crictl([OsStr::new("runp"), config.as_os_str()])?;
        Ok(Pod {
            id,
            name: name.to_owned(),
            config,
            logs,
        })
    }

    /// Creates a container that runs `command`, and starts it.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn run_container(&self, pod: &Pod, name: &str, command: &[&str]) -> Result<Container> {
        let container = self.create_container(pod, name, command)?;
        self.start_container(&container)?;
        Ok(container)
    }

    /// Creates a container without starting it.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn create_container(&self, pod: &Pod, name: &str, command: &[&str]) -> Result<Container> {
        let container =
            json!({ "image": { "image": image::NAME }, "command": command, "linux": {} });
        self.create_container_of(pod, name, container)
    }

    /// Creates a container from a `ContainerConfig`, which need not have a name.
    pub(crate) fn create_container_of(
        &self,
        pod: &Pod,
        name: &str,
        mut container: Value,
    ) -> Result<Container> {
        let log = format!("{name}.log");
        container["metadata"] = json!({ "name": name, "attempt": 0 });
        container["labels"] = json!({ "io.kubernetes.container.name": name });
        container["log_path"] = json!(log);
        let config = pod.logs.join(format!("{name}.json"));
        fs::write(&config, container.to_string())?;
        let id = self.crictl([
            OsStr::new("create"),
            OsStr::new(&pod.id),
            config.as_os_str(),
            pod.config.as_os_str(),
        ])?;
        Ok(Container {
            id,
            name: name.to_owned(),
            log: pod.logs.join(log),
        })
    }

    /// Runs a command in a container and returns its standard output.
    ///
    /// # Errors
    ///
    /// If it cannot be run, or ends with another status than 0.
    pub fn exec(&self, container: &Container, command: &[&str]) -> Result<String> {
        let args = ["exec", "--sync", &container.id].into_iter();
        self.crictl(args.chain(command.iter().copied()))
    }

    /// Starts a container that was created.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn start_container(&self, container: &Container) -> Result<()> {
        self.crictl(["start", &container.id]).map(|_| ())
    }

    /// Asks a container to end, as the kubelet does, and returns its exit status.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn end_container(&self, container: &Container, grace_seconds: u64) -> Result<i64> {
        self.crictl([
            "stop",
            "--timeout",
            &grace_seconds.to_string(),
            &container.id,
        ])?;
        self.wait_exited(container)?;
        self.exit_code(container)
    }

    /// The exit status of a container that has ended.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn exit_code(&self, container: &Container) -> Result<i64> {
        let json = self.crictl(["inspect", "--output", "json", &container.id])?;
        let container: Value = serde_json::from_str(&json)?;
        container["status"]["exitCode"]
            .as_i64()
            .with_context(|| format!("no exit status in {json}"))
    }

    /// Kills a container and waits until that is known.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn stop_container(&self, container: &Container) -> Result<()> {
        self.crictl(["stop", "--timeout", "0", &container.id])?;
        self.wait_exited(container)
    }

    /// Waits until the runtime says that a container has ended.
    ///
    /// # Errors
    ///
    /// If it does not within a minute.
    pub fn wait_exited(&self, container: &Container) -> Result<()> {
        let state = || -> Result<String> {
            let json = self.crictl(["inspect", "--output", "json", &container.id])?;
            let container: Value = serde_json::from_str(&json)?;
            Ok(container["status"]["state"]
                .as_str()
                .unwrap_or_default()
                .to_owned())
        };
        self.wait(&format!("the end of {}", container.name), || {
            match state() {
                Ok(state) if state == "CONTAINER_EXITED" => Ok(()),
                Ok(state) => Err(state),
                Err(error) => Err(format!("{error:#}")),
            }
        })
    }

    /// Removes a container that does not run.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn remove_container(&self, container: &Container) -> Result<()> {
        self.crictl(["rm", &container.id]).map(|_| ())
    }

    /// Stops and removes a pod with its containers.
    ///
    /// # Errors
    ///
    /// What the CRI service answered.
    pub fn remove_pod(&self, pod: &Pod) -> Result<()> {
        self.crictl(["rmp", "--force", &pod.id]).map(|_| ())
    }

    /// Stops and removes all pods, if containerd runs.
    pub(super) fn remove_pods(&self) -> Result<()> {
        if self.process.is_none() {
            return Ok(());
        }
        self.crictl(["rmp", "--all", "--force"]).map(|_| ())
    }

    /// Runs crictl and returns what it printed.
    pub(super) fn crictl<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String> {
        let mut command = Command::new(&self.crictl);
        command
            .arg("--config")
            .arg(self.dir().join(config::CRICTL_FILE))
            .args(args);
        let output = command.output().context("starting crictl")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{command:?}: {}: {complaint}",
            output.status
        );
        Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned())
    }
}

fn to_map(annotations: &[(&str, &str)]) -> Map<String, Value> {
    let pairs = annotations.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect()
}
