//! One connection that is served: the runtime's client and server over it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nri_plugin_api::api;
use protobuf::Message;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use ttrpc::r#async::{Client, MethodHandler, Server};
use ttrpc::{Code, Request, Response};

use super::board::{Board, Unsolicited, UpdateAnswer};
use super::call::{Call, CallError, Failure, Reply, event_bit};
use super::mux::{Limits, Side, Trunk};
use super::rpc;

/// A RegisterPlugin that waits for its answer.
pub(super) struct Registration {
    pub(super) request: api::RegisterPluginRequest,
    pub(super) answer: oneshot::Sender<Response>,
}

/// What Configure's answer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subscription {
    /// As answered.
    pub(super) answered: i32,
    /// With 0 replaced by what it means.
    pub(super) events: i32,
    pub(super) fail_request: bool,
    pub(super) keep_connected: bool,
}

/// What the plugin made of Synchronize.
#[derive(Debug, Clone, Default)]
pub struct Synchronized {
    /// Messages that it took.
    pub messages: usize,
    /// Updates that the last answer asked for.
    pub updates: Vec<api::ContainerUpdate>,
    /// From the first message to the last answer.
    pub took: Duration,
}

pub(super) struct Session {
    /// Number of the connection.
    pub(super) number: usize,
    pub(super) trunk: Trunk,
    /// The plugin with its index.
    pub(super) name: OnceLock<String>,
    pub(super) subscription: OnceLock<Subscription>,
    pub(super) synchronized: OnceLock<Synchronized>,
    /// The plugin did not know a dedicated call, so it gets `StateChange` from now on.
    state_change_only: AtomicBool,
    client: Client,
    /// Serves as long as it lives. The lock only makes it shareable.
    _server: Mutex<Server>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("number", &self.number)
            .field("name", &self.name.get())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Begins to read and to serve.
    pub(super) async fn start(
        board: &Arc<Board>,
        number: usize,
        socket: UnixStream,
        limits: Limits,
    ) -> Result<(Arc<Self>, mpsc::UnboundedReceiver<Registration>)> {
        let (trunk, streams) = Trunk::start(socket, Side::Runtime, limits)?;
        trunk.set_cut(board.state().cut);
        let (registrations, registered) = mpsc::unbounded_channel();
        let methods = HashMap::from([
            ("RegisterPlugin".to_owned(), register_plugin(registrations)),
            (
                "UpdateContainers".to_owned(),
                update_containers(Arc::downgrade(board), number),
            ),
        ]);
        let server = rpc::serve(streams.runtime, rpc::RUNTIME, methods)
            .await
            .context("cannot serve the runtime's service")?;
        let session = Self {
            number,
            trunk,
            name: OnceLock::new(),
            subscription: OnceLock::new(),
            synchronized: OnceLock::new(),
            state_change_only: AtomicBool::new(false),
            client: rpc::client(streams.plugin),
            _server: Mutex::new(server),
        };
        Ok((Arc::new(session), registered))
    }

    /// The plugin with its index; empty before it registered.
    pub(super) fn name(&self) -> &str {
        self.name.get().map_or("", String::as_str)
    }

    /// Whether the plugin wants an event.
    pub(super) fn subscribes_to(&self, event: api::Event) -> bool {
        let events = self
            .subscription
            .get()
            .map_or(0, |subscription| subscription.events);
        events & event_bit(event) != 0
    }

    /// Makes one call with bytes.
    pub(super) async fn call_raw(
        &self,
        method: &str,
        payload: Vec<u8>,
        deadline: Duration,
    ) -> Result<Reply<Vec<u8>>, CallError> {
        let request = Request {
            service: rpc::PLUGIN.to_owned(),
            method: method.to_owned(),
            // 0 would mean that there is no deadline.
            timeout_nano: i64::try_from(deadline.as_nanos())
                .unwrap_or(i64::MAX)
                .max(1),
            payload,
            ..Request::default()
        };
        let start = Instant::now();
        let result = self.client.request(request).await;
        let took = start.elapsed();
        match result {
            Ok(response) => Ok(Reply {
                message: response.payload,
                took,
            }),
            Err(error) => Err(CallError {
                plugin: self.name().to_owned(),
                method: method.to_owned(),
                took,
                failure: self.failure(error, took >= deadline),
            }),
        }
    }

    /// Makes one call with messages.
    pub(super) async fn call_message<R: Message>(
        &self,
        method: &str,
        request: &impl Message,
        deadline: Duration,
    ) -> Result<Reply<R>, CallError> {
        let payload = request
            .write_to_bytes()
            .expect("proto3 messages always encode");
        let Reply { message, took } = self.call_raw(method, payload, deadline).await?;
        match R::parse_from_bytes(&message) {
            Ok(message) => Ok(Reply { message, took }),
            Err(error) => Err(CallError {
                plugin: self.name().to_owned(),
                method: method.to_owned(),
                took,
                failure: Failure::Malformed(error.to_string()),
            }),
        }
    }

    /// Tells an event in the dialect of the runtime and the plugin.
    pub(super) async fn call<C: Call>(
        &self,
        request: &C,
        dedicated: bool,
        deadline: Duration,
    ) -> Result<Reply<C::Reply>, CallError> {
        if !self.subscribes_to(C::EVENT) {
            return Err(CallError {
                plugin: self.name().to_owned(),
                method: C::METHOD.to_owned(),
                took: Duration::ZERO,
                failure: Failure::NotSubscribed,
            });
        }
        let state_change = request.state_change();
        if dedicated && !self.state_change_only.load(Ordering::Relaxed) || state_change.is_none() {
            let result = self.call_message(C::METHOD, request, deadline).await;
            let unknown = matches!(&result, Err(error)
                if matches!(error.failure, Failure::Status { code: Code::UNIMPLEMENTED, .. }));
            if !unknown || state_change.is_none() {
                return result;
            }
            self.state_change_only.store(true, Ordering::Relaxed);
        }
        let change = state_change.expect("the other case has returned");
        let reply: Reply<api::Empty> = self.call_message("StateChange", &change, deadline).await?;
        Ok(Reply {
            message: C::Reply::new(),
            took: reply.took,
        })
    }

    fn failure(&self, error: ttrpc::Error, elapsed: bool) -> Failure {
        match error {
            ttrpc::Error::RpcStatus(status) => Failure::Status {
                code: status.code(),
                message: status.message,
            },
            _ if elapsed => Failure::Timeout,
            ttrpc::Error::Others(text) if self.trunk.end().is_none() => {
                if text.contains("exceed maximum message size") {
                    Failure::TooLarge(text)
                } else {
                    Failure::Malformed(text)
                }
            }
            error => Failure::ConnectionLost(
                self.trunk
                    .end()
                    .map_or_else(|| error.to_string(), |end| end.to_string()),
            ),
        }
    }
}

type Handler = Box<dyn MethodHandler + Send + Sync>;

/// Hands the registration to the handshake and waits for its answer.
fn register_plugin(registrations: mpsc::UnboundedSender<Registration>) -> Handler {
    Box::new(rpc::Method(move |payload: Vec<u8>| -> rpc::Answer {
        let registrations = registrations.clone();
        Box::pin(async move {
            let Ok(request) = api::RegisterPluginRequest::parse_from_bytes(&payload) else {
                return rpc::error(Code::INVALID_ARGUMENT, "malformed request");
            };
            let (answer, answered) = oneshot::channel();
            if registrations
                .send(Registration { request, answer })
                .is_err()
            {
                return rpc::error(Code::FAILED_PRECONDITION, "registered already");
            }
            let closing = || rpc::error(Code::UNAVAILABLE, "the connection is being closed");
            answered.await.unwrap_or_else(|_| closing())
        })
    }))
}

/// Records the updates and answers as the test wants it.
fn update_containers(board: Weak<Board>, number: usize) -> Handler {
    Box::new(rpc::Method(move |payload: Vec<u8>| -> rpc::Answer {
        let board = board.upgrade();
        Box::pin(async move {
            let Some(board) = board else {
                return rpc::error(Code::UNAVAILABLE, "the runtime is gone");
            };
            let Ok(request) = api::UpdateContainersRequest::parse_from_bytes(&payload) else {
                return rpc::error(Code::INVALID_ARGUMENT, "malformed request");
            };
            let mut releases = board.releases.subscribe();
            let answer = board.change(|state| {
                let plugin = state.connections[number - 1]
                    .plugin
                    .clone()
                    .unwrap_or_default();
                state.updates.push(Unsolicited {
                    plugin,
                    request,
                    at: Instant::now(),
                });
                state.update_answer.clone()
            });
            let _turn = match board.settings.serialize_updates {
                true => Some(board.operations.write().await),
                false => None,
            };
            let failed = match answer {
                UpdateAnswer::Applied => Vec::new(),
                UpdateAnswer::Failed(updates) => updates,
                UpdateAnswer::Error(text) => return rpc::error(Code::UNKNOWN, text),
                UpdateAnswer::Held => {
                    // It fails only when the runtime is gone.
                    let _ = releases.changed().await;
                    Vec::new()
                }
            };
            let response = api::UpdateContainersResponse {
                failed,
                ..Default::default()
            };
            rpc::ok(
                response
                    .write_to_bytes()
                    .expect("proto3 messages always encode"),
            )
        })
    }))
}
