//! The fake runtime against a plugin made of the `ttrpc` crate's server and client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nri_plugin_api::api;
use protobuf::{Message, MessageField};
use tokio::net::UnixStream;
use tokio::sync::watch;
use ttrpc::r#async::{Client, MethodHandler, Server};
use ttrpc::{Code, Request, Response};

use super::mux::{End, Limits, Side, Trunk, frame};
use super::*;
use crate::patience::patiently;
use crate::pods;

mod calls;
mod faults;
mod handshake;

const METHODS: [&str; 17] = [
    "Configure",
    "Synchronize",
    "Shutdown",
    "RunPodSandbox",
    "UpdatePodSandbox",
    "PostUpdatePodSandbox",
    "StopPodSandbox",
    "RemovePodSandbox",
    "CreateContainer",
    "PostCreateContainer",
    "StartContainer",
    "PostStartContainer",
    "UpdateContainer",
    "PostUpdateContainer",
    "StopContainer",
    "RemoveContainer",
    "StateChange",
];

/// How a plugin answers; `None` is never.
type Behaviour = Arc<dyn Fn(&str, &[u8]) -> Option<Response> + Send + Sync>;

/// A plugin, and the methods that were called.
struct TestPlugin {
    trunk: Trunk,
    client: Client,
    _server: Server,
    called: watch::Sender<Vec<String>>,
}

/// Subscribes to `events`, answers Synchronize as it must, all else with nothing.
fn subscribed_to(events: i32) -> Behaviour {
    Arc::new(move |method, payload| {
        Some(rpc::ok(match method {
            "Configure" => encoded(&api::ConfigureResponse {
                events,
                ..Default::default()
            }),
            "Synchronize" => {
                let request = api::SynchronizeRequest::parse_from_bytes(payload).unwrap();
                encoded(&api::SynchronizeResponse {
                    more: request.more,
                    ..Default::default()
                })
            }
            _ => Vec::new(),
        }))
    })
}

/// As `subscribed_to` all events, but one method is answered otherwise.
fn except(
    method: &'static str,
    answer: impl Fn() -> Option<Response> + Send + Sync + 'static,
) -> Behaviour {
    let usual = subscribed_to(EVENTS_0_10);
    Arc::new(move |called, payload| {
        if called == method {
            answer()
        } else {
            usual(called, payload)
        }
    })
}

fn encoded(message: &impl Message) -> Vec<u8> {
    message.write_to_bytes().unwrap()
}

impl TestPlugin {
    async fn connect(runtime: &FakeRuntime, behaviour: Behaviour) -> Self {
        let socket = UnixStream::connect(runtime.socket()).await.unwrap();
        let (trunk, streams) = Trunk::start(socket, Side::Plugin, Limits::default()).unwrap();
        trunk.set_cut(Cut::HeaderApart);
        let called = watch::Sender::new(Vec::new());
        let methods = METHODS.iter().map(|&method| {
            let (behaviour, called) = (Arc::clone(&behaviour), called.clone());
            let handler = rpc::Method(move |payload: Vec<u8>| -> rpc::Answer {
                called.send_modify(|called| called.push(method.to_owned()));
                let answer = behaviour(method, &payload);
                Box::pin(async {
                    match answer {
                        Some(answer) => answer,
                        None => std::future::pending().await,
                    }
                })
            });
            let handler: Box<dyn MethodHandler + Send + Sync> = Box::new(handler);
            (method.to_owned(), handler)
        });
        let methods: HashMap<_, _> = methods.collect();
        let server = rpc::serve(streams.plugin, rpc::PLUGIN, methods)
            .await
            .unwrap();
        Self {
            trunk,
            client: rpc::client(streams.runtime),
            _server: server,
            called,
        }
    }

    async fn register(&self, index: &str, name: &str) -> ttrpc::Result<()> {
        let request = api::RegisterPluginRequest {
            plugin_name: name.to_owned(),
            plugin_idx: index.to_owned(),
            ..Default::default()
        };
        self.call("RegisterPlugin", &request).await.map(drop)
    }

    async fn call(&self, method: &str, request: &impl Message) -> ttrpc::Result<Vec<u8>> {
        let request = Request {
            service: rpc::RUNTIME.to_owned(),
            method: method.to_owned(),
            payload: encoded(request),
            ..Request::default()
        };
        let response = patiently("an answer of the runtime", self.client.request(request)).await;
        response.unwrap().map(|response| response.payload)
    }

    /// Connects and registers as `10-test`.
    async fn activate(runtime: &FakeRuntime, behaviour: Behaviour) -> (Self, Plugin) {
        let plugin = Self::connect(runtime, behaviour).await;
        plugin.register("10", "test").await.unwrap();
        (plugin, runtime.plugin("10-test").await.unwrap())
    }

    /// Waits for the runtime to end the connection, which a write may notice before a read does.
    async fn cut_off(&self) {
        let end = patiently("the end of the connection", self.trunk.ended()).await;
        let end = end.unwrap();
        assert!(matches!(end, End::ClosedByPeer | End::Io(_)), "{end}");
    }

    /// Waits until a method has been called.
    async fn wait_for(&self, method: &str) {
        let mut calls = self.called.subscribe();
        let is_there = |called: &Vec<String>| called.iter().any(|known| known == method);
        let waited = patiently(method, calls.wait_for(is_there)).await;
        waited.unwrap().unwrap();
    }

    fn called(&self) -> Vec<String> {
        self.called.borrow().clone()
    }
}

fn container() -> (api::PodSandbox, api::Container) {
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    (pod, container)
}
