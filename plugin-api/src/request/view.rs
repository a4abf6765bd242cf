//! Pods and containers, read straight from the encoded message.

use protobuf::Message;

use crate::api;
use crate::wire::{self, Fields, Malformed, Value};

/// Field numbers of `PodSandbox` in `proto/nri.proto`.
mod pod_field {
    pub(super) const ID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const UID: u32 = 3;
    pub(super) const NAMESPACE: u32 = 4;
    pub(super) const LABELS: u32 = 5;
    pub(super) const ANNOTATIONS: u32 = 6;
    pub(super) const RUNTIME_HANDLER: u32 = 7;
}

/// Field numbers of `Container` in `proto/nri.proto`.
mod container_field {
    pub(super) const ID: u32 = 1;
    pub(super) const POD_ID: u32 = 2;
    pub(super) const NAME: u32 = 3;
    pub(super) const LABELS: u32 = 5;
    pub(super) const ANNOTATIONS: u32 = 6;
}

/// Where Kubernetes' runtimes keep the name of a container beside the field for it.
const CONTAINER_NAME_LABEL: &str = "io.kubernetes.container.name";

/// Reads the texts with these field numbers, and checks the maps, so that no accessor can fail.
fn read<const N: usize>(
    message: &[u8],
    texts: [u32; N],
    maps: [u32; 2],
) -> Result<[&str; N], Malformed> {
    let mut found = [""; N];
    for field in Fields::new(message) {
        let field = field?;
        let Value::Bytes(bytes) = field.value else {
            continue;
        };
        if maps.contains(&field.number) {
            wire::check_map_entry(bytes)?;
        } else if let Some(i) = texts.iter().position(|number| *number == field.number) {
            found[i] = wire::text(bytes)?;
        }
    }
    Ok(found)
}

/// Iterates over a `map<string, string>`, as bytes.
fn raw_entries(message: &[u8], number: u32) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
    wire::bytes_fields(message, number).map(wire::map_entry)
}

/// Iterates over a `map<string, string>`.
fn map_entries(message: &[u8], number: u32) -> impl Iterator<Item = (&str, &str)> + Clone {
    raw_entries(message, number)
        .map(|(key, value)| (wire::checked_text(key), wire::checked_text(value)))
}

/// Looks up a key; should it be there twice, the later one counts, as in protobuf.
fn map_value<'a>(message: &'a [u8], number: u32, key: &str) -> Option<&'a str> {
    raw_entries(message, number)
        .filter(|(k, _)| *k == key.as_bytes())
        .last()
        .map(|(_, value)| wire::checked_text(value))
}

/// A pod, not decoded. Texts that the runtime did not send are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodView<'a> {
    message: &'a [u8],
    id: &'a str,
    name: &'a str,
    uid: &'a str,
    namespace: &'a str,
    runtime_handler: &'a str,
}

impl<'a> PodView<'a> {
    /// Reads an encoded `PodSandbox`.
    pub(crate) fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        use pod_field::{ANNOTATIONS, ID, LABELS, NAME, NAMESPACE, RUNTIME_HANDLER, UID};
        let texts = [ID, NAME, UID, NAMESPACE, RUNTIME_HANDLER];
        let [id, name, uid, namespace, runtime_handler] =
            read(message, texts, [LABELS, ANNOTATIONS])?;
        Ok(Self {
            message,
            id,
            name,
            uid,
            namespace,
            runtime_handler,
        })
    }

    /// The encoded message.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.message
    }

    /// The annotations as bytes.
    pub(crate) fn raw_annotations(
        &self,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        raw_entries(self.message, pod_field::ANNOTATIONS)
    }

    /// The runtime's id of the pod.
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// The name of the pod in Kubernetes.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The UID of the pod in Kubernetes.
    pub fn uid(&self) -> &'a str {
        self.uid
    }

    /// The Kubernetes namespace of the pod.
    pub fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// The runtime class; empty for the default.
    pub fn runtime_handler(&self) -> &'a str {
        self.runtime_handler
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        map_value(self.message, pod_field::LABELS, key)
    }

    /// All labels as key and value, in no particular order.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        map_entries(self.message, pod_field::LABELS)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        map_value(self.message, pod_field::ANNOTATIONS, key)
    }

    /// All annotations as key and value, in no particular order.
    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        map_entries(self.message, pod_field::ANNOTATIONS)
    }

    /// Decodes the pod, at each call anew.
    ///
    /// # Errors
    ///
    /// A part that no accessor of this view reads is malformed.
    pub fn decode(&self) -> Result<api::PodSandbox, Malformed> {
        api::PodSandbox::parse_from_bytes(self.message).map_err(|_| Malformed::Message)
    }
}

/// A container, not decoded. Texts that the runtime did not send are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContainerView<'a> {
    message: &'a [u8],
    id: &'a str,
    pod_id: &'a str,
    name: &'a str,
}

impl<'a> ContainerView<'a> {
    /// Reads an encoded `Container`.
    pub(crate) fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        use container_field::{ANNOTATIONS, ID, LABELS, NAME, POD_ID};
        let [id, pod_id, name] = read(message, [ID, POD_ID, NAME], [LABELS, ANNOTATIONS])?;
        let name = match name {
            "" => map_value(message, LABELS, CONTAINER_NAME_LABEL).unwrap_or_default(),
            name => name,
        };
        Ok(Self {
            message,
            id,
            pod_id,
            name,
        })
    }

    /// The encoded message.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.message
    }

    /// The runtime's id of the container.
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// The runtime's id of the pod.
    pub fn pod_id(&self) -> &'a str {
        self.pod_id
    }

    /// The name of the container in its pod. CRI-O leaves the field empty in some calls; the name
    /// is then taken from the label `io.kubernetes.container.name`.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        map_value(self.message, container_field::LABELS, key)
    }

    /// All labels as key and value, in no particular order.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        map_entries(self.message, container_field::LABELS)
    }

    /// The value of an annotation of the container. What users write stands at the pod, see
    /// [`PodView::annotation`].
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        map_value(self.message, container_field::ANNOTATIONS, key)
    }

    /// All annotations of the container as key and value, in no particular order.
    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        map_entries(self.message, container_field::ANNOTATIONS)
    }

    /// Decodes the container, at each call anew.
    ///
    /// # Errors
    ///
    /// A part that no accessor of this view reads is malformed.
    pub fn decode(&self) -> Result<api::Container, Malformed> {
        api::Container::parse_from_bytes(self.message).map_err(|_| Malformed::Message)
    }
}
