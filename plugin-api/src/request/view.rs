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

/// Checks all that an accessor of a view reads: the walk over the fields, the texts, the maps.
fn check(message: &[u8], texts: &[u32], maps: &[u32]) -> Result<(), Malformed> {
    for field in Fields::new(message) {
        let field = field?;
        if let Value::Bytes(bytes) = field.value {
            if maps.contains(&field.number) {
                wire::check_map_entry(bytes)?;
            } else if texts.contains(&field.number) {
                wire::check_text(bytes)?;
            }
        }
    }
    Ok(())
}

/// Iterates over a `map<string, string>`.
fn map_entries(message: &[u8], number: u32) -> impl Iterator<Item = (&str, &str)> + Clone {
    wire::bytes_fields(message, number).map(wire::map_entry)
}

/// Looks up a key; should it be there twice, the later one counts, as in protobuf.
fn map_value<'a>(message: &'a [u8], number: u32, key: &str) -> Option<&'a str> {
    map_entries(message, number)
        .filter(|(k, _)| *k == key)
        .last()
        .map(|(_, value)| value)
}

/// A pod, not decoded. Texts that the runtime did not send are empty.
#[derive(Clone, Copy, Debug)]
pub struct PodView<'a> {
    message: &'a [u8],
}

impl<'a> PodView<'a> {
    /// Checks an encoded `PodSandbox`, so that the accessors cannot fail.
    pub(crate) fn check(message: &[u8]) -> Result<(), Malformed> {
        use pod_field::{ANNOTATIONS, ID, LABELS, NAME, NAMESPACE, RUNTIME_HANDLER, UID};
        let texts = [ID, NAME, UID, NAMESPACE, RUNTIME_HANDLER];
        check(message, &texts, &[LABELS, ANNOTATIONS])
    }

    /// A view of a message for which [`Self::check`] was fine.
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { message }
    }

    /// The encoded message.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.message
    }

    /// The runtime's id of the pod.
    pub fn id(&self) -> &'a str {
        wire::text_field(self.message, pod_field::ID)
    }

    /// The name of the pod in Kubernetes.
    pub fn name(&self) -> &'a str {
        wire::text_field(self.message, pod_field::NAME)
    }

    /// The UID of the pod in Kubernetes.
    pub fn uid(&self) -> &'a str {
        wire::text_field(self.message, pod_field::UID)
    }

    /// The Kubernetes namespace of the pod.
    pub fn namespace(&self) -> &'a str {
        wire::text_field(self.message, pod_field::NAMESPACE)
    }

    /// The runtime class; empty for the default.
    pub fn runtime_handler(&self) -> &'a str {
        wire::text_field(self.message, pod_field::RUNTIME_HANDLER)
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
#[derive(Clone, Copy, Debug)]
pub struct ContainerView<'a> {
    message: &'a [u8],
}

impl<'a> ContainerView<'a> {
    /// Checks an encoded `Container`, so that the accessors cannot fail.
    pub(crate) fn check(message: &[u8]) -> Result<(), Malformed> {
        use container_field::{ANNOTATIONS, ID, LABELS, NAME, POD_ID};
        check(message, &[ID, POD_ID, NAME], &[LABELS, ANNOTATIONS])
    }

    /// A view of a message for which [`Self::check`] was fine.
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { message }
    }

    /// The encoded message.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.message
    }

    /// The runtime's id of the container.
    pub fn id(&self) -> &'a str {
        wire::text_field(self.message, container_field::ID)
    }

    /// The runtime's id of the pod.
    pub fn pod_id(&self) -> &'a str {
        wire::text_field(self.message, container_field::POD_ID)
    }

    /// The name of the container in its pod. CRI-O leaves the field empty in some calls; the name
    /// is then taken from the label `io.kubernetes.container.name`.
    pub fn name(&self) -> &'a str {
        let name = wire::text_field(self.message, container_field::NAME);
        if name.is_empty() {
            self.label(CONTAINER_NAME_LABEL).unwrap_or_default()
        } else {
            name
        }
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
