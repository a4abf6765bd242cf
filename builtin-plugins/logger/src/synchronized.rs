//! What is kept of Synchronize: it can have tens of megabytes, and one record is written.

use std::collections::HashSet;
use std::fmt::{self, Display};

use nri_plugin_api::Synchronize;
use serde::Serialize;

use crate::names::{ContainerName, PodName};
use crate::selection::Selection;

/// How many pods are named, and how many containers.
const MAX_NAMED: usize = 100;

/// The pods of Synchronize that are selected, and the containers that are not of other pods.
/// The lists are bounded, the counts are whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Synchronized {
    pod_count: usize,
    container_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<PodName>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    containers: Vec<ContainerName>,
}

impl Synchronized {
    /// Reads names and counts, decoding nothing else.
    pub(crate) fn new(request: &Synchronize<'_>, selection: &Selection) -> Self {
        let pods = request.pods().filter(|pod| selection.has(pod));
        let others = request.pods().filter(|pod| !selection.has(pod));
        let others: HashSet<&str> = others.map(|pod| pod.id()).collect();
        let containers = request.containers();
        let containers = containers.filter(|container| !others.contains(container.pod_id()));
        Self {
            pod_count: pods.clone().count(),
            container_count: containers.clone().count(),
            pods: pods.take(MAX_NAMED).map(PodName::from).collect(),
            containers: containers
                .take(MAX_NAMED)
                .map(ContainerName::from)
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
        let pods = self.pods.iter().map(PodName::bytes);
        let containers = self.containers.iter().map(ContainerName::bytes);
        pods.chain(containers).sum()
    }
}

impl Display for Synchronized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pods, containers) = (self.pod_count, self.container_count);
        write!(f, "pod_count={pods} container_count={containers}")
    }
}
