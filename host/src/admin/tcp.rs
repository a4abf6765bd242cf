//! The metrics and the state of health over TCP, where the configuration asks for it.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};

use super::answer::Sources;
use super::router::Caller;
use super::server::{self, Listener};

/// Time between two tries to listen.
const RETRY: Duration = Duration::from_secs(2);
/// How often it is logged that the address cannot be listened at.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Caller)> {
        let (stream, _) = TcpListener::accept(self).await?;
        Ok((stream, Caller::Network))
    }
}

/// Serves `address` for ever, as soon as it can be listened at: the host does its work without.
pub async fn serve(address: SocketAddr, sources: Sources) -> Infallible {
    let listener = listen(address).await;
    let address = listener.local_addr().unwrap_or(address);
    if address.ip().is_loopback() {
        tracing::info!(%address, "metrics are served");
    } else {
        tracing::warn!(%address, "metrics are served to whoever can reach this address");
    }
    server::serve(&listener, &sources).await
}

async fn listen(address: SocketAddr) -> TcpListener {
    let mut warned: Option<Instant> = None;
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => {
                if warned.is_none_or(|at| at.elapsed() >= WARN_INTERVAL) {
                    tracing::warn!(%address, %error, "metrics cannot be served yet: trying on");
                    warned = Some(Instant::now());
                }
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}
