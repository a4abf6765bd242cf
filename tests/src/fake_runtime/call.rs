//! The calls that a runtime makes, and what may come of them.

use std::ops::Deref;
use std::time::Duration;

use nri_plugin_api::api;
use protobuf::{EnumOrUnknown, Message};
use thiserror::Error;
use ttrpc::Code;

/// A request of the plugin's service that stands for an event.
pub trait Call: Message + Clone {
    /// The answer to it.
    type Reply: Message;
    /// Name of the method.
    const METHOD: &'static str;
    /// The event, whose bit in the plugin's mask decides whether the call is made.
    const EVENT: api::Event;

    /// The same event for runtimes that have no call of its own for it.
    fn state_change(&self) -> Option<api::StateChangeEvent>;
}

/// Implements [`Call`]: `event` where older runtimes send `StateChange`, `call` where all have a
/// call of its own. Fields in parentheses go into the `StateChange`.
macro_rules! calls {
    ($($kind:ident $method:literal $event:ident: $request:ident -> $reply:ident ($($field:ident),*);)*) => {$(
        impl Call for api::$request {
            type Reply = api::$reply;
            const METHOD: &'static str = $method;
            const EVENT: api::Event = api::Event::$event;

            fn state_change(&self) -> Option<api::StateChangeEvent> {
                calls!(@$kind self ($($field),*))
            }
        }
    )*};
    (@call $self:ident ()) => { None };
    (@event $self:ident ($($field:ident),*)) => {
        Some(api::StateChangeEvent {
            event: EnumOrUnknown::new(Self::EVENT),
            $($field: $self.$field.clone(),)*
            ..api::StateChangeEvent::default()
        })
    };
}

calls! {
    event "RunPodSandbox" RUN_POD_SANDBOX: RunPodSandboxRequest -> RunPodSandboxResponse (pod);
    call "UpdatePodSandbox" UPDATE_POD_SANDBOX: UpdatePodSandboxRequest -> UpdatePodSandboxResponse ();
    event "PostUpdatePodSandbox" POST_UPDATE_POD_SANDBOX: PostUpdatePodSandboxRequest -> PostUpdatePodSandboxResponse (pod);
    event "StopPodSandbox" STOP_POD_SANDBOX: StopPodSandboxRequest -> StopPodSandboxResponse (pod);
    event "RemovePodSandbox" REMOVE_POD_SANDBOX: RemovePodSandboxRequest -> RemovePodSandboxResponse (pod);
    call "CreateContainer" CREATE_CONTAINER: CreateContainerRequest -> CreateContainerResponse ();
    event "PostCreateContainer" POST_CREATE_CONTAINER: PostCreateContainerRequest -> PostCreateContainerResponse (pod, container);
    event "StartContainer" START_CONTAINER: StartContainerRequest -> StartContainerResponse (pod, container);
    event "PostStartContainer" POST_START_CONTAINER: PostStartContainerRequest -> PostStartContainerResponse (pod, container);
    call "UpdateContainer" UPDATE_CONTAINER: UpdateContainerRequest -> UpdateContainerResponse ();
    event "PostUpdateContainer" POST_UPDATE_CONTAINER: PostUpdateContainerRequest -> PostUpdateContainerResponse (pod, container);
    call "StopContainer" STOP_CONTAINER: StopContainerRequest -> StopContainerResponse ();
    event "RemoveContainer" REMOVE_CONTAINER: RemoveContainerRequest -> RemoveContainerResponse (pod, container);
    call "ValidateContainerAdjustment" VALIDATE_CONTAINER_ADJUSTMENT: ValidateContainerAdjustmentRequest -> ValidateContainerAdjustmentResponse ();
}

/// The bit of an event in a mask.
pub fn event_bit(event: api::Event) -> i32 {
    match event as i32 {
        0 => 0,
        number => 1 << (number - 1),
    }
}

/// An answer, and how long it took.
#[derive(Debug, Clone)]
pub struct Reply<T> {
    /// The decoded message.
    pub message: T,
    /// From the request's handing over to the answer.
    pub took: Duration,
}

impl<T> Deref for Reply<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

/// A call without a good answer.
#[derive(Debug, Clone, Error)]
#[error("{method} to {plugin} failed after {took:?}")]
pub struct CallError {
    /// The plugin, with its index.
    pub plugin: String,
    /// The method that was called.
    pub method: String,
    /// From the request's handing over to the failure.
    pub took: Duration,
    /// What happened.
    #[source]
    pub failure: Failure,
}

/// What may happen to a call instead of a good answer.
#[derive(Debug, Clone, Error)]
pub enum Failure {
    /// The plugin answered with an error, which fails the operation.
    #[error("answered with {code:?}: {message}")]
    Status {
        /// Code of the status.
        code: Code,
        /// Its text.
        message: String,
    },
    /// No answer came in time.
    #[error("no answer in time")]
    Timeout,
    /// The connection was gone, or ended while the call was under way.
    #[error("connection lost: {0}")]
    ConnectionLost(String),
    /// The answer cannot be decoded, which fails the operation.
    #[error("malformed answer: {0}")]
    Malformed(String),
    /// The request is too large to be sent, which fails the operation.
    #[error("request too large: {0}")]
    TooLarge(String),
    /// The plugin did not subscribe to the event; no runtime would make the call.
    #[error("the plugin did not subscribe to it")]
    NotSubscribed,
}

impl Failure {
    /// Whether a runtime goes on without the plugin, as if its answer had been empty.
    pub fn is_fatal_to_the_plugin(&self) -> bool {
        matches!(self, Self::Timeout | Self::ConnectionLost(_))
    }
}

impl CallError {
    /// Text of the status that the plugin answered with.
    pub fn status(&self) -> Option<(Code, &str)> {
        match &self.failure {
            Failure::Status { code, message } => Some((*code, message)),
            _ => None,
        }
    }
}
