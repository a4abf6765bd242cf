//! From the annotations of a pod to the values that count for a container.

mod entry;
mod number;
mod yaml;

use nri_plugin_api::CreateContainer;
use nri_plugin_api::annotations::Annotation;

pub(crate) use entry::{Entry, Fields, Value};

use crate::problems::{Place, Problems};
use yaml::Node;

/// The domains of all keys. Most pods have no annotation in either of them.
const DOMAINS: [&str; 2] = [".noderesource.dev", ".nri.io"];

/// How many entries an annotation may have.
const MAX_ENTRIES: usize = 256;

/// What an annotation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Devices,
    CdiDevices,
    Mounts,
    IoPriority,
    Scheduler,
    NetDevices,
    Sysctl,
    MemoryPolicy,
}

impl Kind {
    /// In the order in which they are read.
    const ALL: [Self; 8] = [
        Self::Devices,
        Self::CdiDevices,
        Self::Mounts,
        Self::IoPriority,
        Self::Scheduler,
        Self::NetDevices,
        Self::Sysctl,
        Self::MemoryPolicy,
    ];

    /// The key.
    const fn key(self) -> &'static str {
        match self {
            Self::Devices => "devices.noderesource.dev",
            Self::CdiDevices => "cdi-devices.noderesource.dev",
            Self::Mounts => "mounts.noderesource.dev",
            Self::IoPriority => "io-priority.noderesource.dev",
            Self::Scheduler => "scheduling-policy.noderesource.dev",
            Self::NetDevices => "network-devices.noderesource.dev",
            Self::Sysctl => "sysctl.noderesource.dev",
            Self::MemoryPolicy => "memory-policy.noderesource.dev",
        }
    }

    /// What the key was called before.
    const fn deprecated_key(self) -> Option<&'static str> {
        match self {
            Self::Devices => Some("devices.nri.io"),
            Self::CdiDevices => Some("cdi-devices.nri.io"),
            Self::Mounts => Some("mounts.nri.io"),
            Self::IoPriority => Some("io-priority.nri.io"),
            Self::Scheduler => Some("scheduling-policy.nri.io"),
            Self::NetDevices => Some("network-devices.nri.io"),
            Self::Sysctl => None,
            Self::MemoryPolicy => Some("memory-policy.nri.io"),
        }
    }

    /// Whether its value is a list, and not a mapping.
    const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Devices | Self::CdiDevices | Self::Mounts | Self::NetDevices
        )
    }

    fn find<'a>(self, request: &CreateContainer<'a>) -> Option<Found<'a>> {
        let annotation = match self.deprecated_key() {
            Some(old) => request.effective_annotation_with_deprecated(self.key(), old),
            None => request.effective_annotation(self.key()),
        };
        let Annotation { key, value } = annotation?;
        Some(Found {
            kind: self,
            key,
            value,
        })
    }
}

/// The annotation of one kind that counts for a container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) kind: Kind,
    /// As the author of the pod wrote it.
    pub(crate) key: &'a str,
    value: &'a str,
}

impl<'a> Found<'a> {
    /// What it asks for. `None`: nothing, or it cannot be read, which is then among the problems.
    pub(crate) fn value(&self, problems: &mut Problems) -> Option<Value<'a>> {
        let place = Place::annotation(self.key);
        let node = match yaml::parse(self.value) {
            Ok(node) => node,
            Err(error) => {
                problems.add(place, format_args!("this is not valid YAML: {error}"));
                return None;
            }
        };
        let len = match &node {
            Node::Null => return None,
            Node::List(entries) if self.kind.is_list() => entries.len(),
            Node::Map(entries) if !self.kind.is_list() => entries.len(),
            other => {
                let expected = if self.kind.is_list() {
                    "list"
                } else {
                    "mapping"
                };
                problems.add(place, format_args!("expected a {expected}, not {other}"));
                return None;
            }
        };
        if len > MAX_ENTRIES {
            problems.add(place, format_args!("has more than {MAX_ENTRIES} entries"));
            return None;
        }
        (len > 0).then(|| Value::new(place, node))
    }
}

/// The annotations that count for a container.
#[derive(Debug)]
pub(crate) struct Requested<'a> {
    found: Vec<Found<'a>>,
}

impl<'a> Requested<'a> {
    /// Looks up the annotations of those kinds that are read. `None`: there are none, and nothing else of the request was read.
    pub(crate) fn find(
        request: &CreateContainer<'a>,
        is_read: impl Fn(Kind) -> bool,
    ) -> Option<Self> {
        let mut annotations = request.pod_view().annotations();
        if !annotations.any(|(key, _)| is_in_domain(key)) {
            return None;
        }
        let kinds = Kind::ALL.into_iter().filter(|kind| is_read(*kind));
        let found: Vec<_> = kinds.filter_map(|kind| kind.find(request)).collect();
        (!found.is_empty()).then_some(Self { found })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Found<'a>> {
        self.found.iter()
    }
}

fn is_in_domain(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    DOMAINS.iter().any(|known| domain.ends_with(known))
}
