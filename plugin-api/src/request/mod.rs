//! What a component is asked: one type for each method, decoded only as far as it is looked at.
//!
//! Names, ids, labels and annotations are read straight from the bytes that the runtime sent.
//! [`Request::pod`], [`Request::container`] and [`Request::message`] decode on first use; a
//! component that looks at two annotations never pays for forty environment variables.

mod messages;
mod view;

use std::cell::OnceCell;

use protobuf::Message;

use crate::annotations::{self, Annotation};
use crate::api;
use crate::wire::{Fields, Malformed, Value};

pub use messages::{
    ContainerRequest, CreateContainer, PodRequest, PostCreateContainer, PostStartContainer,
    PostUpdateContainer, PostUpdatePodSandbox, RemoveContainer, RemovePodSandbox, RequestMessage,
    RunPodSandbox, StartContainer, StopContainer, StopPodSandbox, Synchronize, UpdateContainer,
    UpdatePodSandbox, ValidateContainerAdjustment,
};
pub use view::{ContainerView, PodView};

use messages::Shape;

/// The field of every request message that holds the pod; of `SynchronizeRequest`, all pods.
const POD: u32 = 1;
/// The field of most request messages that holds the container; of `SynchronizeRequest`, all.
const CONTAINER: u32 = 2;

/// A request whose encoded message is `M`.
///
/// Its accessors depend on what the message has: those of a pod, of a container, or lists of both.
/// The methods of [`Component`](crate::Component) name it by aliases such as [`CreateContainer`].
#[derive(Debug)]
pub struct Request<'a, M: RequestMessage> {
    payload: &'a [u8],
    pod: PodView<'a>,
    container: ContainerView<'a>,
    /// For `Synchronize`.
    pods: Vec<PodView<'a>>,
    /// For `Synchronize`.
    containers: Vec<ContainerView<'a>>,
    decoded_pod: OnceCell<Box<api::PodSandbox>>,
    decoded_container: OnceCell<Box<api::Container>>,
    decoded: OnceCell<Box<M>>,
}

impl<'a, M: RequestMessage> Request<'a, M> {
    /// Reads an encoded message as far as the accessors need it.
    ///
    /// # Errors
    ///
    /// The message is malformed, where an accessor would have to read it.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut request = Self::empty(payload);
        for field in Fields::new(payload) {
            let field = field?;
            match (field.number, field.value, M::SHAPE) {
                (POD, Value::Bytes(bytes), Shape::Lists) => {
                    request.pods.push(PodView::read(bytes)?);
                }
                (CONTAINER, Value::Bytes(bytes), Shape::Lists) => {
                    request.containers.push(ContainerView::read(bytes)?);
                }
                (POD, Value::Bytes(bytes), _) => request.pod = PodView::read(bytes)?,
                (CONTAINER, Value::Bytes(bytes), Shape::PodAndContainer) => {
                    request.container = ContainerView::read(bytes)?;
                }
                _ => {}
            }
        }
        Ok(request)
    }

    fn empty(payload: &'a [u8]) -> Self {
        Self {
            payload,
            pod: PodView::default(),
            container: ContainerView::default(),
            pods: Vec::new(),
            containers: Vec::new(),
            decoded_pod: OnceCell::new(),
            decoded_container: OnceCell::new(),
            decoded: OnceCell::new(),
        }
    }

    /// The message as the runtime sent it.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The whole message, decoded on first use.
    ///
    /// # Errors
    ///
    /// The message cannot be decoded.
    pub fn message(&self) -> Result<&M, Malformed> {
        decode_once(&self.decoded, self.payload)
    }
}

/// Fills the cell on first use.
fn decode_once<'c, M: Message>(
    cell: &'c OnceCell<Box<M>>,
    bytes: &[u8],
) -> Result<&'c M, Malformed> {
    if let Some(message) = cell.get() {
        return Ok(message);
    }
    let message = M::parse_from_bytes(bytes).map_err(|_| Malformed::Message)?;
    Ok(cell.get_or_init(|| Box::new(message)))
}

impl<'a, M: PodRequest> Request<'a, M> {
    /// The pod, not decoded.
    pub fn pod_view(&self) -> PodView<'a> {
        self.pod
    }

    /// The pod, decoded on first use.
    ///
    /// # Errors
    ///
    /// The pod cannot be decoded.
    pub fn pod(&self) -> Result<&api::PodSandbox, Malformed> {
        decode_once(&self.decoded_pod, self.pod.bytes())
    }

    /// The runtime's id of the pod.
    pub fn pod_id(&self) -> &'a str {
        self.pod.id()
    }

    /// The name of the pod in Kubernetes.
    pub fn pod_name(&self) -> &'a str {
        self.pod.name()
    }

    /// The UID of the pod in Kubernetes.
    pub fn pod_uid(&self) -> &'a str {
        self.pod.uid()
    }

    /// The Kubernetes namespace of the pod.
    pub fn pod_namespace(&self) -> &'a str {
        self.pod.namespace()
    }

    /// A label of the pod.
    pub fn pod_label(&self, key: &str) -> Option<&'a str> {
        self.pod.label(key)
    }

    /// An annotation of the pod, by its exact key. See also [`Self::effective_annotation`].
    pub fn pod_annotation(&self, key: &str) -> Option<&'a str> {
        self.pod.annotation(key)
    }
}

impl<'a, M: ContainerRequest> Request<'a, M> {
    /// The container, not decoded.
    pub fn container_view(&self) -> ContainerView<'a> {
        self.container
    }

    /// The container, decoded on first use.
    ///
    /// # Errors
    ///
    /// The container cannot be decoded.
    pub fn container(&self) -> Result<&api::Container, Malformed> {
        decode_once(&self.decoded_container, self.container.bytes())
    }

    /// The runtime's id of the container.
    pub fn container_id(&self) -> &'a str {
        self.container.id()
    }

    /// The name of the container in its pod, see [`ContainerView::name`].
    pub fn container_name(&self) -> &'a str {
        self.container.name()
    }

    /// A label of the container.
    pub fn container_label(&self, key: &str) -> Option<&'a str> {
        self.container.label(key)
    }

    /// The pod's annotation that counts for this container, see [`annotations::lookup`].
    pub fn effective_annotation(&self, key: &str) -> Option<Annotation<'a>> {
        annotations::lookup_raw(self.pod.raw_annotations(), self.container_name(), key, None)
    }

    /// The same for a key that has an older name, see [`annotations::lookup_with_deprecated`].
    pub fn effective_annotation_with_deprecated(
        &self,
        key: &str,
        deprecated: &str,
    ) -> Option<Annotation<'a>> {
        let annotations = self.pod.raw_annotations();
        annotations::lookup_raw(annotations, self.container_name(), key, Some(deprecated))
    }
}
