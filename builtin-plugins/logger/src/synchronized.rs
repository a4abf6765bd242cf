//! What is kept of Synchronize: it can have tens of megabytes, and one line is written.

use nri_plugin_api::Synchronize;
use serde::Serialize;

/// How many pods are named, and how many containers.
const MAX_NAMED: usize = 100;

/// Longer names and ids are cut. Those of Kubernetes have at most 253 bytes.
const MAX_NAME_BYTES: usize = 253;

/// A pod by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PodName {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
    pub(crate) namespace: String,
}

impl PodName {
    pub(crate) fn new(id: &str, name: &str, uid: &str, namespace: &str) -> Self {
        Self {
            id: cut(id),
            name: cut(name),
            uid: cut(uid),
            namespace: cut(namespace),
        }
    }
}

/// A container by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ContainerName {
    pub(crate) id: String,
    pub(crate) pod_sandbox_id: String,
    pub(crate) name: String,
}

impl ContainerName {
    pub(crate) fn new(id: &str, pod_sandbox_id: &str, name: &str) -> Self {
        Self {
            id: cut(id),
            pod_sandbox_id: cut(pod_sandbox_id),
            name: cut(name),
        }
    }
}

/// The pods and containers of Synchronize. The lists are bounded, the counts are whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Synchronized {
    pub(crate) pod_count: usize,
    pub(crate) container_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pods: Vec<PodName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) containers: Vec<ContainerName>,
}

impl Synchronized {
    /// Reads names and counts, decoding nothing else.
    pub(crate) fn new(request: &Synchronize<'_>) -> Self {
        let pods = request.pods().take(MAX_NAMED);
        let containers = request.containers().take(MAX_NAMED);
        Self {
            pod_count: request.pods().count(),
            container_count: request.containers().count(),
            pods: pods
                .map(|pod| PodName::new(pod.id(), pod.name(), pod.uid(), pod.namespace()))
                .collect(),
            containers: containers
                .map(|c| ContainerName::new(c.id(), c.pod_id(), c.name()))
                .collect(),
        }
    }

    /// The counts alone.
    pub(crate) fn counts(&self) -> Self {
        Self {
            pods: Vec::new(),
            containers: Vec::new(),
            ..*self
        }
    }

    /// The size of the texts.
    pub(crate) fn bytes(&self) -> usize {
        let pods = self.pods.iter();
        let containers = self.containers.iter();
        pods.map(|pod| pod.id.len() + pod.name.len() + pod.uid.len() + pod.namespace.len())
            .chain(containers.map(|c| c.id.len() + c.pod_sandbox_id.len() + c.name.len()))
            .sum()
    }
}

/// The beginning of a name.
fn cut(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned()
}
