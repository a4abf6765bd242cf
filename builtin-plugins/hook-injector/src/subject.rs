//! What the conditions of hooks get to see of a container that is being created.

use nri_plugin_api::api::{Container, Mount};
use nri_plugin_api::{CreateContainer, Malformed};

use crate::hook::{Command, Subject};
use crate::settings::BindMounts;

/// Where the token of the service account is, once in each name of the folder.
const TOKENS: [&str; 2] = [
    "/run/secrets/kubernetes.io/serviceaccount",
    "/var/run/secrets/kubernetes.io/serviceaccount",
];

/// What the kubelet and the runtimes mount into every container, and part of the path where they
/// have it. A pod can mount something of its own there, which then has another path.
const OF_EVERY_CONTAINER: [(&str, &[&str]); 9] = [
    ("/dev/shm", RUNTIME),
    ("/dev/termination-log", &["/containers/"]),
    ("/etc/hostname", RUNTIME),
    ("/etc/hosts", &["/etc-hosts", "/sandboxes/", "/userdata/"]),
    ("/etc/resolv.conf", RUNTIME),
    ("/run/.containerenv", RUNTIME),
    ("/run/secrets", RUNTIME),
    (TOKENS[0], TOKEN_VOLUMES),
    (TOKENS[1], TOKEN_VOLUMES),
];

/// The folders of containerd and CRI-O.
const RUNTIME: &[&str] = &["/sandboxes/", "/userdata/"];

const TOKEN_VOLUMES: &[&str] = &[
    "/volumes/kubernetes.io~projected/kube-api-access-",
    "/volumes/kubernetes.io~secret/",
];

/// Where the kubelet has the volumes of a pod, and parts of them.
const VOLUMES: [&str; 2] = ["/volumes/", "/volume-subpaths/"];

/// Reads a request. Where pod and container have the same annotation, that of the pod counts.
///
/// # Errors
///
/// The container cannot be decoded.
pub(crate) fn of_request<'r>(
    request: &'r CreateContainer<'_>,
    bind_mounts: BindMounts,
) -> Result<Subject<'r>, Malformed> {
    let container: &Container = request.container()?;
    let own = request.container_view().annotations();
    let annotations = own.chain(request.pod_view().annotations()).collect();
    let mut mounts = container.mounts.iter();
    Ok(Subject {
        annotations,
        has_bind_mounts: match bind_mounts {
            BindMounts::Requested => mounts.any(is_requested_bind_mount),
            BindMounts::Any => mounts.next().is_some(),
        },
        command: container
            .args
            .first()
            .map_or(Command::Empty, |command| Command::Is(command)),
    })
}

/// NRI shows every mount of a container, that of `/proc` as well.
fn is_requested_bind_mount(mount: &Mount) -> bool {
    let mut options = mount.options.iter();
    let is_bind = mount.type_ == "bind" || options.any(|o| o == "bind" || o == "rbind");
    is_bind && !is_of_every_container(&mount.destination, &mount.source)
}

fn is_of_every_container(destination: &str, source: &str) -> bool {
    let destination = destination.trim_end_matches('/');
    let mut places = OF_EVERY_CONTAINER.iter();
    let Some((_, sources)) = places.find(|(place, _)| *place == destination) else {
        return false;
    };
    // A pod that shares memory with the host.
    if destination == "/dev/shm" && source == "/dev/shm" {
        return true;
    }
    let is_volume = VOLUMES.iter().any(|folder| source.contains(folder));
    is_volume == TOKENS.contains(&destination) && sources.iter().any(|part| source.contains(part))
}

/// Whether a volume mount of a pod is there because its author asks for it.
pub(crate) fn is_requested_volume(destination: &str) -> bool {
    !TOKENS.contains(&destination.trim_end_matches('/'))
}
