//! What the conditions of hooks get to see of a container that is being created.

use nri_plugin_api::api::{Container, Mount};
use nri_plugin_api::{CreateContainer, Malformed};

use crate::hook::{Command, Subject};
use crate::settings::BindMounts;

/// Where the kubelet and the runtimes mount something into every container.
const OF_EVERY_CONTAINER: [&str; 9] = [
    "/dev/shm",
    "/dev/termination-log",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/run/.containerenv",
    "/run/secrets",
    "/run/secrets/kubernetes.io/serviceaccount",
    "/var/run/secrets/kubernetes.io/serviceaccount",
];

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
    is_bind && is_requested(&mount.destination)
}

/// Whether a mount with this destination is there because the pod asks for it.
pub(crate) fn is_requested(destination: &str) -> bool {
    let destination = destination.trim_end_matches('/');
    !OF_EVERY_CONTAINER.contains(&destination)
}
