//! HTTP/1.1 within limits, whatever the requests come in by.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::answer::Sources;
use super::router::{Caller, respond, takes_long};

/// How long a connection may last, and an answer may take.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// The same where the answer is to wait for something to be done: for a reload that is under way, and
/// then for the next, each of which may take two minutes.
pub(super) const LONG_LIMIT: Duration = Duration::from_secs(280);
/// Connections of one listener at the same time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16;
/// Most bytes of a request's head, and most lines in it.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;

/// What requests come in by.
pub(super) trait Listener {
    /// One connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// The next connection, and who is at its other end. Cancel-safe.
    async fn accept(&self) -> io::Result<(Self::Stream, Caller)>;
}

/// Serves for ever. Once nobody takes questions any more, the answer is that the host is stopping.
pub(super) async fn serve(listener: &impl Listener, sources: &Sources) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let accepting = connections.len() < MAX_CONNECTIONS;
        tokio::select! {
            accepted = listener.accept(), if accepting => match accepted {
                Ok((stream, caller)) => {
                    connections.spawn(serve_connection(stream, caller, sources.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "no admin connection can be accepted");
                    // Out of descriptors, most likely: give others time to close some.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    caller: Caller,
    sources: Sources,
) {
    let long = AtomicBool::new(false);
    let service = service_fn(|request| {
        long.fetch_or(takes_long(&request, caller), Ordering::Relaxed);
        async { Ok::<_, Infallible>(respond(request, caller, &sources).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut ended = timeout(LIMIT, &mut connection).await;
    if ended.is_err() && long.load(Ordering::Relaxed) {
        ended = timeout(LONG_LIMIT, &mut connection).await;
    }
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "admin connection"),
        Err(_) => tracing::debug!("admin connection took too long"),
    }
}

#[cfg(test)]
mod tests {
    use super::LONG_LIMIT;

    #[test]
    fn the_unit_lets_a_reload_take_as_long_as_its_client_does() {
        let unit = include_str!("../../../systemd/nri-host.service");
        let mut lines = unit.lines();
        let limit = lines.find_map(|line| line.strip_prefix("TimeoutStartSec="));
        let limit = limit.and_then(|limit| humantime::parse_duration(limit).ok());
        assert!(limit.is_some_and(|limit| limit > LONG_LIMIT), "{limit:?}");
    }
}
