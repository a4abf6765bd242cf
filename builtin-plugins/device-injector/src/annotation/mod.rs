//! From the annotations of a pod to the entries that count for a container.

mod entry;
mod number;
mod yaml;

use nri_plugin_api::CreateContainer;
use nri_plugin_api::annotations::Annotation;

pub(crate) use entry::{Entries, Entry, Fields};

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
}

impl Kind {
    /// In the order in which they are read.
    const ALL: [Self; 3] = [Self::Devices, Self::CdiDevices, Self::Mounts];

    /// The key, and what it was called before.
    fn keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Devices => ("devices.noderesource.dev", "devices.nri.io"),
            Self::CdiDevices => ("cdi-devices.noderesource.dev", "cdi-devices.nri.io"),
            Self::Mounts => ("mounts.noderesource.dev", "mounts.nri.io"),
        }
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
    /// The entries of its list. `None`: it cannot be read, which is then among the problems.
    pub(crate) fn entries(&self, problems: &mut Problems) -> Option<Entries<'a>> {
        let place = Place::annotation(self.key);
        let nodes = match yaml::parse(self.value) {
            Ok(Node::Null) => Vec::new(),
            Ok(Node::List(nodes)) => nodes,
            Ok(other) => {
                problems.add(place, format_args!("expected a list, not {other}"));
                return None;
            }
            Err(error) => {
                problems.add(place, format_args!("this is not valid YAML: {error}"));
                return None;
            }
        };
        if nodes.len() > MAX_ENTRIES {
            problems.add(place, format_args!("has more than {MAX_ENTRIES} entries"));
            return None;
        }
        Some(Entries::new(place, nodes))
    }
}

/// The annotations that count for a container.
#[derive(Debug)]
pub(crate) struct Requested<'a> {
    found: Vec<Found<'a>>,
}

impl<'a> Requested<'a> {
    /// Looks the annotations up. `None`: there are none, and nothing else of the request was read.
    pub(crate) fn find(request: &CreateContainer<'a>) -> Option<Self> {
        let mut annotations = request.pod_view().annotations();
        if !annotations.any(|(key, _)| is_in_domain(key)) {
            return None;
        }
        let found: Vec<_> = Kind::ALL
            .into_iter()
            .filter_map(|kind| {
                let (key, deprecated) = kind.keys();
                let Annotation { key, value } =
                    request.effective_annotation_with_deprecated(key, deprecated)?;
                Some(Found { kind, key, value })
            })
            .collect();
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
