//! The calls that a component gets, as a table.

use futures::future::BoxFuture;
use nri_host_tests::fake_runtime::{Call, CallError, Plugin, Reply};
use nri_plugin_api::api::{
    self, Container, CreateContainerRequest, PodSandbox, PostCreateContainerRequest,
    PostStartContainerRequest, PostUpdateContainerRequest, PostUpdatePodSandboxRequest,
    RemoveContainerRequest, RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest,
    StopContainerRequest, StopPodSandboxRequest, UpdateContainerRequest, UpdatePodSandboxRequest,
    ValidateContainerAdjustmentRequest,
};
use protobuf::{Message, MessageField};

type Answer = Result<Reply<Vec<u8>>, CallError>;
type Tell = fn(Plugin, PodSandbox, Container) -> BoxFuture<'static, Answer>;

/// One call.
#[derive(Clone, Copy)]
pub(crate) struct Callback {
    /// Name of its method.
    pub(crate) method: &'static str,
    /// The event that it stands for.
    pub(crate) event: api::Event,
    /// Whether a rejection keeps something from happening.
    pub(crate) decides: bool,
    /// Whether it is about a container, and not about a pod alone.
    pub(crate) has_container: bool,
    tell: Tell,
}

impl Callback {
    /// Makes the call, in the dialect of the runtime.
    pub(crate) async fn tell(
        &self,
        plugin: &Plugin,
        pod: &PodSandbox,
        container: &Container,
    ) -> Answer {
        (self.tell)(plugin.clone(), pod.clone(), container.clone()).await
    }
}

async fn send<C: Call>(plugin: Plugin, request: C) -> Answer {
    let reply = plugin.call(&request).await?;
    let took = reply.took;
    let message = reply
        .message
        .write_to_bytes()
        .expect("proto3 messages always encode");
    Ok(Reply { message, took })
}

macro_rules! callback {
    (pod $request:ident, $decides:literal) => {
        callback!(@ $request, $decides, false, |plugin, pod, _container| {
            let request = $request { pod: MessageField::some(pod), ..Default::default() };
            Box::pin(send(plugin, request))
        })
    };
    (container $request:ident, $decides:literal) => {
        callback!(@ $request, $decides, true, |plugin, pod, container| {
            let request = $request {
                pod: MessageField::some(pod),
                container: MessageField::some(container),
                ..Default::default()
            };
            Box::pin(send(plugin, request))
        })
    };
    (@ $request:ident, $decides:literal, $has_container:literal, $tell:expr) => {
        Callback {
            method: <$request as Call>::METHOD,
            event: <$request as Call>::EVENT,
            decides: $decides,
            has_container: $has_container,
            tell: $tell,
        }
    };
}

/// All fourteen, in the order of a container's life.
pub(crate) const CALLBACKS: [Callback; 14] = [
    callback!(pod RunPodSandboxRequest, true),
    callback!(pod UpdatePodSandboxRequest, false),
    callback!(pod PostUpdatePodSandboxRequest, false),
    callback!(container CreateContainerRequest, true),
    callback!(container PostCreateContainerRequest, false),
    callback!(container StartContainerRequest, true),
    callback!(container PostStartContainerRequest, false),
    callback!(container UpdateContainerRequest, true),
    callback!(container PostUpdateContainerRequest, false),
    callback!(container StopContainerRequest, false),
    callback!(container RemoveContainerRequest, false),
    callback!(container ValidateContainerAdjustmentRequest, true),
    callback!(pod StopPodSandboxRequest, false),
    callback!(pod RemovePodSandboxRequest, false),
];

/// Names of all methods, for the configuration of a component that has no state to lose.
pub(crate) fn all_methods() -> Vec<&'static str> {
    CALLBACKS.iter().map(|callback| callback.method).collect()
}
