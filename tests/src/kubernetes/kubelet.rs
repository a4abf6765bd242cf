//! Runs a pod template as a kubelet does, through the CRI service of a real containerd.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use nix::mount::{MsFlags, mount};
use serde_json::{Map, Value, json};

use super::Objects;
use crate::containerd::{Container, Containerd, Pod};

/// `PROPAGATION_HOST_TO_CONTAINER` of the CRI.
const HOST_TO_CONTAINER: u8 = 1;
/// `SecurityProfile.RuntimeDefault` of the CRI.
const RUNTIME_DEFAULT: u8 = 0;

/// What a node has besides its containerd: the folders that pods mount.
#[derive(Debug)]
pub struct Kubelet<'a> {
    containerd: &'a Containerd,
    folder: PathBuf,
}

/// A pod whose containers were started.
#[derive(Debug)]
pub struct RunningPod {
    pub pod: Pod,
    pub container: Container,
    template: Value,
    volumes: BTreeMap<String, PathBuf>,
}

impl<'a> Kubelet<'a> {
    /// For a containerd.
    #[must_use]
    pub fn new(containerd: &'a Containerd) -> Self {
        let folder = containerd.dir().join("node");
        Self { containerd, folder }
    }

    /// Where the node has what its pods know by this path.
    #[must_use]
    pub fn host_path(&self, path: &str) -> PathBuf {
        match path {
            "/var/run/nri" => self.containerd.nri_socket().with_file_name(""),
            _ => self.folder.join("root").join(path.trim_start_matches('/')),
        }
    }

    /// Runs the pod of the DaemonSet: init containers to their end, then its one container.
    ///
    /// # Errors
    ///
    /// If the template asks for what this cannot do, or the runtime refuses it.
    pub fn run(&self, objects: &Objects) -> Result<RunningPod> {
        let template = objects.pod_template()?.clone();
        let spec = &template["spec"];
        ensure!(
            spec["hostNetwork"] == true,
            "pods have the host's network here"
        );
        let volumes = self.make_volumes(&spec["volumes"], objects)?;
        let annotations = match &template["metadata"]["annotations"] {
            Value::Object(annotations) => annotations.clone(),
            _ => Map::new(),
        };
        let seccomp = json!({ "seccomp": { "profile_type": RUNTIME_DEFAULT } });
        let pod = self
            .containerd
            .run_sandbox("kube-system", "nri-host", &annotations, seccomp)?;
        for init in each(&spec["initContainers"]) {
            let container = self.create(&pod, init, &volumes)?;
            self.containerd.start_container(&container)?;
            self.containerd.wait_exited(&container)?;
            let status = self.containerd.exit_code(&container)?;
            ensure!(
                status == 0,
                "{}: status {status}: {}",
                container.name,
                container.logs()?
            );
        }
        let [main] = each(&spec["containers"]) else {
            bail!("one container was expected");
        };
        let container = self.create(&pod, main, &volumes)?;
        self.containerd.start_container(&container)?;
        Ok(RunningPod {
            pod,
            container,
            template,
            volumes,
        })
    }

    fn create(
        &self,
        pod: &Pod,
        container: &Value,
        volumes: &BTreeMap<String, PathBuf>,
    ) -> Result<Container> {
        let mounts = each(&container["volumeMounts"])
            .iter()
            .map(|mount| cri_mount(mount, volumes))
            .collect::<Result<Vec<_>>>()?;
        let config = json!({
            "image": { "image": container["image"] },
            "command": container["command"],
            "args": container["args"],
            "mounts": mounts,
            "linux": {
                "resources": { "memory_limit_in_bytes": bytes(&container["resources"]["limits"]["memory"])? },
                "security_context": cri_security(&container["securityContext"])?,
            },
        });
        self.containerd
            .create_container_of(pod, text(&container["name"])?, config)
    }

    fn make_volumes(
        &self,
        volumes: &Value,
        objects: &Objects,
    ) -> Result<BTreeMap<String, PathBuf>> {
        let mut made = BTreeMap::new();
        for volume in each(volumes) {
            let name = text(&volume["name"])?;
            let path = if let Some(path) = volume["hostPath"]["path"].as_str() {
                self.provide(path)?
            } else {
                let path = self.folder.join("volumes").join(name);
                make_for_all(&path)?;
                if let Some(map) = volume["configMap"]["name"].as_str() {
                    fill(&path, objects.config_map(map)?)?;
                } else {
                    ensure!(
                        volume["emptyDir"].is_object(),
                        "no such volume here: {volume}"
                    );
                }
                path
            };
            made.insert(name.to_owned(), path);
        }
        Ok(made)
    }

    /// Makes a folder of the node, unless it is there. `/dev` is the machine's, shared with mounts
    /// elsewhere as all mounts of a node are where systemd made them.
    fn provide(&self, path: &str) -> Result<PathBuf> {
        let here = self.host_path(path);
        fs::create_dir_all(&here)?;
        if path == "/dev" {
            let flags = [MsFlags::MS_BIND | MsFlags::MS_REC, MsFlags::MS_SHARED];
            for flags in flags {
                mount(Some(path), &here, None::<&str>, flags, None::<&str>)
                    .with_context(|| format!("mounting {}", here.display()))?;
            }
        }
        Ok(here)
    }
}

impl RunningPod {
    /// Runs the command of a probe once, such as `readinessProbe`.
    ///
    /// # Errors
    ///
    /// If there is no such probe, or it fails.
    pub fn probe(&self, containerd: &Containerd, probe: &str) -> Result<String> {
        let command = &self.template["spec"]["containers"][0][probe]["exec"]["command"];
        let command = command.as_array().with_context(|| format!("no {probe}"))?;
        let command: Vec<_> = command.iter().filter_map(Value::as_str).collect();
        containerd.exec(&self.container, &command)
    }

    /// Where the node has a volume of the pod.
    ///
    /// # Errors
    ///
    /// If there is no such volume.
    pub fn volume(&self, name: &str) -> Result<&Path> {
        let path = self.volumes.get(name);
        path.map(PathBuf::as_path)
            .with_context(|| format!("no volume {name}"))
    }

    /// Gives a ConfigMap that is mounted as a folder other content, as the kubelet does it.
    ///
    /// # Errors
    ///
    /// If there is no such volume.
    pub fn change_config_map(&self, volume: &str, data: &Value) -> Result<()> {
        fill(self.volume(volume)?, data)
    }

    /// How long the pod is given to end.
    #[must_use]
    pub fn grace_seconds(&self) -> Option<u64> {
        self.template["spec"]["terminationGracePeriodSeconds"].as_u64()
    }
}

/// Fills the folder of a ConfigMap: the files are in a folder that a link points to, and are links
/// through it, so that all of them change in one step.
fn fill(folder: &Path, data: &Value) -> Result<()> {
    let generation = fs::read_dir(folder)?.count();
    let files = format!("..{generation}");
    fs::create_dir(folder.join(&files))?;
    let empty = Map::new();
    for (key, content) in data.as_object().unwrap_or(&empty) {
        fs::write(folder.join(&files).join(key), text(content)?)?;
        let link = folder.join(key);
        if fs::symlink_metadata(&link).is_err() {
            symlink(Path::new("..data").join(key), link)?;
        }
    }
    let unfinished = folder.join("..data_tmp");
    symlink(&files, &unfinished)?;
    fs::rename(unfinished, folder.join("..data"))?;
    Ok(())
}

/// Makes a folder with the mode that the kubelet gives those of volumes.
fn make_for_all(path: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
    Ok(())
}

fn cri_mount(mount: &Value, volumes: &BTreeMap<String, PathBuf>) -> Result<Value> {
    let volume = text(&mount["name"])?;
    let mut host_path = volumes.get(volume).context("no such volume")?.clone();
    if let Some(sub_path) = mount["subPath"].as_str() {
        // Resolved when the container is made: it does not follow later changes.
        host_path = fs::canonicalize(host_path.join(sub_path))?;
    }
    let propagation = match mount["mountPropagation"].as_str() {
        None | Some("None") => 0,
        Some("HostToContainer") => HOST_TO_CONTAINER,
        Some(other) => bail!("no such propagation here: {other}"),
    };
    Ok(json!({
        "container_path": mount["mountPath"],
        "host_path": host_path,
        "readonly": mount["readOnly"] == true,
        "propagation": propagation,
    }))
}

fn cri_security(context: &Value) -> Result<Value> {
    ensure!(
        context["seccompProfile"]["type"] == "RuntimeDefault",
        "no other profile is known here"
    );
    Ok(json!({
        "privileged": context["privileged"] == true,
        "no_new_privs": context["allowPrivilegeEscalation"] == false,
        "readonly_rootfs": context["readOnlyRootFilesystem"] == true,
        "capabilities": { "drop_capabilities": context["capabilities"]["drop"] },
        "run_as_user": { "value": context["runAsUser"] },
        "run_as_group": { "value": context["runAsGroup"] },
        "seccomp": { "profile_type": RUNTIME_DEFAULT },
    }))
}

/// A quantity in the one unit that the manifests use.
fn bytes(quantity: &Value) -> Result<u64> {
    let mebibytes = text(quantity)?.strip_suffix("Mi");
    let mebibytes: u64 = mebibytes.context("a quantity in Mi")?.parse()?;
    Ok(mebibytes << 20)
}

fn each(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("no text: {value}"))
}
