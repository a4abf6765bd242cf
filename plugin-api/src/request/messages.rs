//! The request messages of the methods, and what is particular to some of them.

use protobuf::Message;

use super::{ContainerView, PodView, Request};
use crate::abi::Method;
use crate::api;
use crate::wire::{self, Malformed};

/// What the fields 1 and 2 of a request message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A pod, and something else.
    Pod,
    /// A pod and a container.
    PodAndContainer,
    /// Any number of pods and of containers.
    Lists,
}

mod sealed {
    /// Only messages of this crate can be requests.
    pub trait Sealed {
        /// What to read from the message.
        const SHAPE: super::Shape;
    }
}

/// The request message of a method.
pub trait RequestMessage: Message + sealed::Sealed {
    /// The message of the answer.
    type Response: Message;

    /// The method.
    const METHOD: Method;
}

/// A request message about one pod.
pub trait PodRequest: RequestMessage {}

/// A request message about one container and its pod.
pub trait ContainerRequest: PodRequest {}

macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident($message:ident) -> $response:ident: $shape:ident;)*) => {$(
        $(#[$doc])*
        pub type $name<'a> = Request<'a, api::$message>;

        impl sealed::Sealed for api::$message {
            const SHAPE: Shape = Shape::$shape;
        }

        impl RequestMessage for api::$message {
            type Response = api::$response;

            const METHOD: Method = Method::$name;
        }

        requests!(@$shape $message);
    )*};
    (@Pod $message:ident) => {
        impl PodRequest for api::$message {}
    };
    (@PodAndContainer $message:ident) => {
        impl PodRequest for api::$message {}
        impl ContainerRequest for api::$message {}
    };
    (@Lists $message:ident) => {};
}

requests! {
    /// A pod was started.
    RunPodSandbox(RunPodSandboxRequest) -> RunPodSandboxResponse: Pod;
    /// The resources of a pod are about to change.
    UpdatePodSandbox(UpdatePodSandboxRequest) -> UpdatePodSandboxResponse: Pod;
    /// The resources of a pod have changed.
    PostUpdatePodSandbox(PostUpdatePodSandboxRequest) -> PostUpdatePodSandboxResponse: Pod;
    /// A pod was stopped.
    StopPodSandbox(StopPodSandboxRequest) -> StopPodSandboxResponse: Pod;
    /// A pod was removed.
    RemovePodSandbox(RemovePodSandboxRequest) -> RemovePodSandboxResponse: Pod;
    /// A container is being created.
    CreateContainer(CreateContainerRequest) -> CreateContainerResponse: PodAndContainer;
    /// A container was created.
    PostCreateContainer(PostCreateContainerRequest) -> PostCreateContainerResponse: PodAndContainer;
    /// A container is about to be started.
    StartContainer(StartContainerRequest) -> StartContainerResponse: PodAndContainer;
    /// A container was started.
    PostStartContainer(PostStartContainerRequest) -> PostStartContainerResponse: PodAndContainer;
    /// The resources of a container are about to change.
    UpdateContainer(UpdateContainerRequest) -> UpdateContainerResponse: PodAndContainer;
    /// The resources of a container have changed.
    PostUpdateContainer(PostUpdateContainerRequest) -> PostUpdateContainerResponse: PodAndContainer;
    /// A container was stopped.
    StopContainer(StopContainerRequest) -> StopContainerResponse: PodAndContainer;
    /// A container was removed.
    RemoveContainer(RemoveContainerRequest) -> RemoveContainerResponse: PodAndContainer;
    /// All plugins have adjusted a container.
    ValidateContainerAdjustment(ValidateContainerAdjustmentRequest) -> ValidateContainerAdjustmentResponse: PodAndContainer;
    /// All pods and containers at once.
    Synchronize(SynchronizeRequest) -> SynchronizeResponse: Lists;
}

/// Decodes a message field that is not worth decoding the whole request for.
fn decode_field<T: Message>(payload: &[u8], number: u32) -> Result<T, Malformed> {
    let bytes = wire::bytes_fields(payload, number)
        .last()
        .unwrap_or_default();
    T::parse_from_bytes(bytes).map_err(|_| Malformed::Message)
}

impl Request<'_, api::UpdateContainerRequest> {
    /// The resources that the container is about to get, decoded at each call.
    ///
    /// # Errors
    ///
    /// They cannot be decoded.
    pub fn linux_resources(&self) -> Result<api::LinuxResources, Malformed> {
        decode_field(self.payload, 3)
    }
}

impl Request<'_, api::UpdatePodSandboxRequest> {
    /// What the pod is about to cost besides its containers, decoded at each call.
    ///
    /// # Errors
    ///
    /// It cannot be decoded.
    pub fn overhead_linux_resources(&self) -> Result<api::LinuxResources, Malformed> {
        decode_field(self.payload, 2)
    }

    /// The resources that the pod is about to get, decoded at each call.
    ///
    /// # Errors
    ///
    /// They cannot be decoded.
    pub fn linux_resources(&self) -> Result<api::LinuxResources, Malformed> {
        decode_field(self.payload, 3)
    }
}

impl Request<'_, api::ValidateContainerAdjustmentRequest> {
    /// What all plugins together want to change, decoded at each call. The updates of other
    /// containers, the owners and the plugins are in [`Request::message`].
    ///
    /// # Errors
    ///
    /// It cannot be decoded.
    pub fn adjustment(&self) -> Result<api::ContainerAdjustment, Malformed> {
        decode_field(self.payload, 3)
    }
}

impl<'a> Request<'a, api::SynchronizeRequest> {
    /// All pods, not decoded.
    pub fn pods(&self) -> impl ExactSizeIterator<Item = PodView<'a>> + Clone {
        self.pods.iter().copied()
    }

    /// All containers, not decoded. [`ContainerView::pod_id`] says where each belongs.
    pub fn containers(&self) -> impl ExactSizeIterator<Item = ContainerView<'a>> + Clone {
        self.containers.iter().copied()
    }
}
