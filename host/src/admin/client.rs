//! The commands' side of the admin socket.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::HOST;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::log::{Log, LogQuery};
use super::reset::ResetRequest;
use super::server::{LIMIT, LONG_LIMIT};
use super::status::Status;
use crate::config::HostConfig;
use crate::supervisor::{Report, Reset};

/// Largest answer that a command reads, in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Why a command got no answer from the daemon.
#[derive(Debug, Error)]
pub enum AskError {
    /// There is no daemon.
    #[error("the daemon {}: {} cannot be connected to", absence(source), path.display())]
    Connect {
        /// Path of the admin socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The daemon did not answer in time.
    #[error("the daemon does not answer")]
    Timeout,
    /// The connection broke.
    #[error("the connection to the daemon broke")]
    Http(#[from] hyper::Error),
    /// The answer broke off or is too large.
    #[error("the answer of the daemon cannot be read")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The daemon says no.
    #[error("{text}")]
    Refused {
        /// The kind of refusal.
        status: StatusCode,
        /// The reason, for a person.
        text: String,
    },
    /// The answer is not what it should be: another version, perhaps.
    #[error("the answer of the daemon is not understood")]
    Json(#[from] serde_json::Error),
}

/// What it means for the daemon that its socket cannot be connected to.
fn absence(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => "is not running",
        // The folder and the socket are root's.
        io::ErrorKind::PermissionDenied => "can be asked by root only",
        _ => "cannot be reached",
    }
}

/// Asks the daemon for its status.
///
/// # Errors
///
/// When there is no daemon, or no answer of its.
pub async fn ask_status(host: &HostConfig) -> Result<Status, AskError> {
    exchange(host, Method::GET, "/status", Vec::new(), LIMIT).await
}

/// Asks the daemon for what it logged of a component after a time, in microseconds since 1970.
/// `component`: its name, alone or with its index before it.
///
/// # Errors
///
/// As [`ask_reset`].
pub async fn ask_log(host: &HostConfig, component: &str, after_us: u64) -> Result<Log, AskError> {
    let component = component.to_owned();
    let query = LogQuery {
        component,
        after_us,
    };
    let path = format!("/log?{}", query.encoded());
    exchange(host, Method::GET, &path, Vec::new(), LIMIT).await
}

/// Asks the daemon to forget what keeps a component from being called. `component`: its name, alone
/// or with its index before it.
///
/// # Errors
///
/// When there is no daemon, or no answer of its. [`AskError::Refused`] with the status "not found":
/// it runs no component of that name.
pub async fn ask_reset(host: &HostConfig, component: String) -> Result<Vec<Reset>, AskError> {
    let body = serde_json::to_vec(&ResetRequest { component }).expect("its keys are strings");
    exchange(host, Method::POST, "/reset", body, LIMIT).await
}

/// Has the daemon bring about what the files say by now, and waits until that is done.
///
/// # Errors
///
/// When there is no daemon, or no answer of its. [`AskError::Refused`] with the status "unprocessable":
/// the configuration cannot be used, and nothing was changed.
pub async fn ask_reload(host: &HostConfig) -> Result<Report, AskError> {
    exchange(host, Method::POST, "/reload", Vec::new(), LONG_LIMIT).await
}

async fn exchange<T: DeserializeOwned>(
    host: &HostConfig,
    method: Method,
    path: &str,
    body: Vec<u8>,
    limit: Duration,
) -> Result<T, AskError> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "nri-host")
        .body(Full::from(body))
        .expect("the request is well-formed");
    timeout(limit, send(host.admin_socket(), request))
        .await
        .map_err(|_| AskError::Timeout)?
}

async fn send<T: DeserializeOwned>(
    socket: PathBuf,
    request: Request<Full<Bytes>>,
) -> Result<T, AskError> {
    let stream = UnixStream::connect(&socket)
        .await
        .map_err(|source| AskError::Connect {
            path: socket,
            source,
        })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let answer = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER)
            .collect()
            .await
            .map_err(AskError::Body)?
            .to_bytes();
        if status != StatusCode::OK {
            let text = String::from_utf8_lossy(&body).trim_end().to_owned();
            return Err(AskError::Refused { status, text });
        }
        Ok(serde_json::from_slice(&body)?)
    };
    let (answer, _) = tokio::join!(answer, connection);
    answer
}
