//! Pods and containers of the size and shape that a kubelet makes: some forty variables, twenty
//! mounts, the usual labels and annotations, about 8.7 kB together.

use std::sync::atomic::{AtomicU64, Ordering};

use nri_plugin_api::api::{
    Container, ContainerState, LinuxCPU, LinuxContainer, LinuxDevice, LinuxMemory, LinuxNamespace,
    LinuxPodSandbox, LinuxResources, Mount, OptionalInt, OptionalInt64, OptionalUInt64, PodSandbox,
};
use protobuf::{EnumOrUnknown, MessageField};

/// Variables that the kubelet and a typical image give a container.
const VARIABLES: usize = 40;

/// Mounts that a container has before its volumes.
const SYSTEM_MOUNTS: [(&str, &str, &str); 7] = [
    ("/proc", "proc", "proc"),
    ("/dev", "tmpfs", "tmpfs"),
    ("/dev/pts", "devpts", "devpts"),
    ("/dev/mqueue", "mqueue", "mqueue"),
    ("/sys", "sysfs", "sysfs"),
    ("/sys/fs/cgroup", "cgroup", "cgroup"),
    (
        "/dev/shm",
        "bind",
        "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/shm",
    ),
];

/// Volumes of a container: configuration, secrets, the service account's token.
const VOLUMES: usize = 13;

/// An id of 64 hexadecimal digits that nothing else in this process has.
pub fn unique_id() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // Spread over the whole length, as real ids are.
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!(
        "{mixed:016x}{number:016x}{:016x}{:016x}",
        !mixed,
        mixed.rotate_left(32)
    )
}

/// A pod with the given name in the namespace `default`.
pub fn pod(name: &str) -> PodBuilder {
    let id = unique_id();
    let uid = format!(
        "{}-{}-{}-{}-{}",
        &id[..8],
        &id[8..12],
        &id[12..16],
        &id[16..20],
        &id[20..32]
    );
    let mut pod = PodSandbox {
        name: name.to_owned(),
        uid: uid.clone(),
        runtime_handler: "runc".to_owned(),
        pid: 4321,
        ips: vec!["10.88.0.17".to_owned()],
        linux: MessageField::some(LinuxPodSandbox {
            cgroup_parent: format!("/kubepods/burstable/pod{uid}"),
            cgroups_path: format!("/kubepods/burstable/pod{uid}/{id}"),
            namespaces: namespaces(),
            ..LinuxPodSandbox::default()
        }),
        id,
        ..PodSandbox::default()
    };
    for (key, value) in [
        ("app.kubernetes.io/name", name),
        ("app.kubernetes.io/managed-by", "Helm"),
        ("io.kubernetes.pod.name", name),
        ("io.kubernetes.pod.uid", &uid),
        ("pod-template-hash", "6b7c9d8f4"),
    ] {
        pod.labels.insert(key.to_owned(), value.to_owned());
    }
    for (key, value) in [
        (
            "kubernetes.io/config.seen",
            "2025-11-04T09:12:45.123456789Z",
        ),
        ("kubernetes.io/config.source", "api"),
        ("prometheus.io/scrape", "true"),
        ("prometheus.io/port", "9102"),
    ] {
        pod.annotations.insert(key.to_owned(), value.to_owned());
    }
    PodBuilder { pod }.namespace("default")
}

/// A container of `pod`, about to be created.
pub fn container(pod: &PodSandbox, name: &str) -> ContainerBuilder {
    let id = unique_id();
    let mut container = Container {
        pod_sandbox_id: pod.id.clone(),
        name: name.to_owned(),
        state: EnumOrUnknown::new(ContainerState::CONTAINER_UNKNOWN),
        args: ["/usr/bin/server", "--listen=:8080", "--log-level=info"]
            .map(str::to_owned)
            .to_vec(),
        env: variables(),
        mounts: mounts(&pod.uid),
        linux: MessageField::some(linux(&pod.uid, &id)),
        id,
        ..Container::default()
    };
    for (key, value) in [
        ("io.kubernetes.container.name", name),
        ("io.kubernetes.pod.name", &pod.name),
        ("io.kubernetes.pod.namespace", &pod.namespace),
        ("io.kubernetes.pod.uid", &pod.uid),
    ] {
        container.labels.insert(key.to_owned(), value.to_owned());
    }
    for (key, value) in [
        ("io.kubernetes.cri.container-type", "container"),
        (
            "io.kubernetes.cri.image-name",
            "registry.example.com/team/server:1.42.0",
        ),
        ("io.kubernetes.cri.sandbox-id", &pod.id),
        ("io.kubernetes.cri.sandbox-name", &pod.name),
        ("io.kubernetes.container.restartCount", "0"),
        (
            "io.kubernetes.container.terminationMessagePath",
            "/dev/termination-log",
        ),
    ] {
        container
            .annotations
            .insert(key.to_owned(), value.to_owned());
    }
    ContainerBuilder { container }
}

fn namespaces() -> Vec<LinuxNamespace> {
    ["ipc", "network", "uts", "pid", "mount"]
        .into_iter()
        .map(|kind| LinuxNamespace {
            type_: kind.to_owned(),
            path: if kind == "network" {
                "/var/run/netns/cni-5f0e2d9c".to_owned()
            } else {
                String::new()
            },
            ..LinuxNamespace::default()
        })
        .collect()
}

fn variables() -> Vec<String> {
    let mut variables = vec![
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        "HOSTNAME=web-0".to_owned(),
    ];
    variables.extend((variables.len()..VARIABLES).map(|number| {
        format!(
            "SHOP_BACKEND_SERVICE_{number}_PORT_8080_TCP=tcp://shop-backend-{number}.default.svc.cluster.local:{}/v1/objects",
            number + 8000
        )
    }));
    variables
}

fn mounts(pod_uid: &str) -> Vec<Mount> {
    let mount = |destination: &str, kind: &str, source: &str, options: &[&str]| Mount {
        destination: destination.to_owned(),
        type_: kind.to_owned(),
        source: source.to_owned(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        ..Mount::default()
    };
    let mut mounts: Vec<_> = SYSTEM_MOUNTS
        .iter()
        .map(|(destination, kind, source)| {
            mount(
                destination,
                kind,
                source,
                &["nosuid", "noexec", "nodev", "rw"],
            )
        })
        .collect();
    mounts.extend((0..VOLUMES).map(|number| {
        let source = format!(
            "/var/lib/kubelet/pods/{pod_uid}/volumes/kubernetes.io~projected/server-configuration-{number}"
        );
        let destination = format!("/etc/server/configuration/server-configuration-{number}");
        mount(&destination, "bind", &source, &["rbind", "rprivate", "ro"])
    }));
    mounts
}

fn linux(pod_uid: &str, id: &str) -> LinuxContainer {
    LinuxContainer {
        namespaces: namespaces(),
        devices: vec![LinuxDevice {
            path: "/dev/null".to_owned(),
            type_: "c".to_owned(),
            major: 1,
            minor: 3,
            ..LinuxDevice::default()
        }],
        resources: MessageField::some(LinuxResources {
            memory: MessageField::some(LinuxMemory {
                limit: MessageField::some(OptionalInt64 {
                    value: 512 << 20,
                    ..OptionalInt64::default()
                }),
                ..LinuxMemory::default()
            }),
            cpu: MessageField::some(LinuxCPU {
                shares: MessageField::some(OptionalUInt64 {
                    value: 256,
                    ..OptionalUInt64::default()
                }),
                quota: MessageField::some(OptionalInt64 {
                    value: 50_000,
                    ..OptionalInt64::default()
                }),
                period: MessageField::some(OptionalUInt64 {
                    value: 100_000,
                    ..OptionalUInt64::default()
                }),
                ..LinuxCPU::default()
            }),
            ..LinuxResources::default()
        }),
        oom_score_adj: MessageField::some(OptionalInt {
            value: 996,
            ..OptionalInt::default()
        }),
        cgroups_path: format!("/kubepods/burstable/pod{pod_uid}/{id}"),
        ..LinuxContainer::default()
    }
}

/// A pod in the making.
#[derive(Debug, Clone)]
pub struct PodBuilder {
    pod: PodSandbox,
}

impl PodBuilder {
    /// Puts the pod into a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.pod.namespace);
        self.pod.labels.insert(
            "io.kubernetes.pod.namespace".to_owned(),
            namespace.to_owned(),
        );
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.pod
            .annotations
            .insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.pod.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// The pod.
    pub fn build(self) -> PodSandbox {
        self.pod
    }
}

/// A container in the making.
#[derive(Debug, Clone)]
pub struct ContainerBuilder {
    container: Container,
}

impl ContainerBuilder {
    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.container
            .annotations
            .insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.container
            .labels
            .insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.container.env.push(format!("{name}={value}"));
        self
    }

    /// Makes it a running one, as Synchronize lists it.
    #[must_use]
    pub fn running(mut self) -> Self {
        self.container.state = EnumOrUnknown::new(ContainerState::CONTAINER_RUNNING);
        self.container.pid = 5432;
        self
    }

    /// The container.
    pub fn build(self) -> Container {
        self.container
    }
}

#[cfg(test)]
mod tests {
    use protobuf::Message;

    use super::*;

    #[test]
    fn a_pod_and_its_container_have_the_common_size() {
        let pod = pod("web-0").build();
        let container = container(&pod, "server").build();
        let size = pod.compute_size() + container.compute_size();
        assert!((8_000..9_500).contains(&size), "{size} bytes");
    }

    #[test]
    fn ids_are_unique_and_as_long_as_real_ones() {
        let (first, second) = (unique_id(), unique_id());
        assert_ne!(first, second);
        assert_eq!((first.len(), second.len()), (64, 64));
    }
}
