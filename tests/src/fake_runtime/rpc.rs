//! ttrpc over a mux stream, by the `ttrpc` crate's own client and server.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use ttrpc::r#async::transport::{Listener, Socket};
use ttrpc::r#async::{Client, MethodHandler, Server, Service, TtrpcContext};
use ttrpc::{Code, Request, Response};

use super::mux::MuxStream;

/// Service of the plugin.
pub(super) const PLUGIN: &str = "nri.pkg.api.v1alpha1.Plugin";

/// Service of the runtime.
pub(super) const RUNTIME: &str = "nri.pkg.api.v1alpha1.Runtime";

/// The answer to a call, some time.
pub(super) type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A method that takes and gives bytes.
pub(super) struct Method<F>(pub(super) F);

#[async_trait]
impl<F> MethodHandler for Method<F>
where
    F: Fn(Vec<u8>) -> Answer + Send + Sync,
{
    async fn handler(&self, _: TtrpcContext, request: Request) -> ttrpc::Result<Response> {
        Ok((self.0)(request.payload).await)
    }
}

/// A client that calls over `stream`.
pub(super) fn client(stream: MuxStream) -> Client {
    Client::new(Socket::new(stream))
}

/// Serves one service over `stream` until the server is dropped or the stream ends.
///
/// # Errors
///
/// When the crate refuses to start the server.
pub(super) async fn serve(
    stream: MuxStream,
    service: &str,
    methods: HashMap<String, Box<dyn MethodHandler + Send + Sync>>,
) -> ttrpc::Result<Server> {
    let service = HashMap::from([(
        service.to_owned(),
        Service {
            methods,
            streams: HashMap::new(),
        },
    )]);
    // The listener must never run dry: the server could not be stopped afterwards.
    let connections = stream::iter([Ok(stream)]).chain(stream::pending());
    let mut server = Server::new()
        .add_listener(Listener::new(connections))
        .register_service(service);
    server.start().await?;
    Ok(server)
}

/// A good answer.
pub(super) fn ok(payload: Vec<u8>) -> Response {
    Response {
        payload,
        ..Response::default()
    }
}

/// An answer with an error status.
pub(super) fn error(code: Code, message: impl Into<String>) -> Response {
    let mut response = Response::default();
    response.set_status(ttrpc::get_status(code, message.into()));
    response
}
