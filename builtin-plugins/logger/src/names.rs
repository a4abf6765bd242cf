//! Pods and containers by their names.

use std::fmt::{self, Display};

use nri_plugin_api::api;
use nri_plugin_api::request::{ContainerView, PodView};
use serde::Serialize;

use crate::format::Word;

/// Longer names and ids are cut. Those of Kubernetes have at most 253 bytes.
const MAX_NAME_BYTES: usize = 253;

/// A pod by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PodName {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    namespace: String,
}

impl PodName {
    fn new(id: &str, name: &str, uid: &str, namespace: &str) -> Self {
        Self {
            id: cut(id),
            name: cut(name),
            uid: cut(uid),
            namespace: cut(namespace),
        }
    }

    /// The size of the texts.
    pub(crate) fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.uid.len() + self.namespace.len()
    }
}

impl From<&api::PodSandbox> for PodName {
    fn from(pod: &api::PodSandbox) -> Self {
        Self::new(&pod.id, &pod.name, &pod.uid, &pod.namespace)
    }
}

impl From<PodView<'_>> for PodName {
    fn from(pod: PodView<'_>) -> Self {
        Self::new(pod.id(), pod.name(), pod.uid(), pod.namespace())
    }
}

/// A container by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ContainerName {
    id: String,
    pod_sandbox_id: String,
    name: String,
}

impl ContainerName {
    fn new(id: &str, pod_sandbox_id: &str, name: &str) -> Self {
        Self {
            id: cut(id),
            pod_sandbox_id: cut(pod_sandbox_id),
            name: cut(name),
        }
    }

    /// The size of the texts.
    pub(crate) fn bytes(&self) -> usize {
        self.id.len() + self.pod_sandbox_id.len() + self.name.len()
    }
}

impl From<&api::Container> for ContainerName {
    fn from(container: &api::Container) -> Self {
        Self::new(&container.id, &container.pod_sandbox_id, &container.name)
    }
}

impl From<ContainerView<'_>> for ContainerName {
    fn from(container: ContainerView<'_>) -> Self {
        Self::new(container.id(), container.pod_id(), container.name())
    }
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Names {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pod: Option<PodName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<ContainerName>,
}

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pod) = &self.pod {
            let (namespace, name, id) = (Word(&pod.namespace), Word(&pod.name), Word(&pod.id));
            write!(f, "namespace={namespace} pod={name} pod_id={id}")?;
        }
        if let Some(container) = &self.container {
            let separator = if self.pod.is_some() { " " } else { "" };
            let (name, id) = (Word(&container.name), Word(&container.id));
            write!(f, "{separator}container={name} container_id={id}")?;
        }
        Ok(())
    }
}

/// The beginning of a name.
fn cut(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned()
}
