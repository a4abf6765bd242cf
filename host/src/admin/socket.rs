//! HTTP/1.1 on the admin socket, `nri-host.sock` in the runtime folder, for root alone.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{self as net, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::unistd::Uid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::status::Status;
use crate::config::HostConfig;
use crate::supervisor::{Question, Reset};

/// Whoever holds the lock on this file in the runtime folder is the host.
const LOCK_NAME: &str = "nri-host.lock";
/// How long a connection may last, and an answer may take.
const LIMIT: Duration = Duration::from_secs(5);
/// Connections at the same time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16;
/// Largest request that the daemon reads, in bytes.
const MAX_REQUEST: usize = 4 << 10;
/// Largest answer that a command reads, in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Why there is no admin socket.
#[derive(Debug, Error)]
pub enum BindError {
    /// Another host has it.
    #[error("another nri-host is running with the same runtime_dir, {}", .0.display())]
    Running(PathBuf),
    /// The folder or the socket cannot be made.
    #[error("{} cannot be made", path.display())]
    Make {
        /// What cannot be made.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Why a command got no answer from the daemon.
#[derive(Debug, Error)]
pub enum AskError {
    /// There is no daemon.
    #[error("nri-host is not running: {} cannot be connected to", path.display())]
    Connect {
        /// Path of the admin socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The daemon did not answer in time.
    #[error("nri-host does not answer")]
    Timeout,
    /// The connection broke.
    #[error("the connection to nri-host broke")]
    Http(#[from] hyper::Error),
    /// The answer broke off or is too large.
    #[error("the answer of nri-host cannot be read")]
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
    #[error("the answer of nri-host is not understood")]
    Json(#[from] serde_json::Error),
}

/// The daemon's side of the socket. It is this host's alone while this lives.
#[derive(Debug)]
pub struct AdminSocket {
    listener: UnixListener,
    _lock: Flock<File>,
}

/// Makes the socket, for root alone.
///
/// # Errors
///
/// When another host is running, or the socket cannot be made.
pub fn bind(host: &HostConfig) -> Result<AdminSocket, BindError> {
    let folder = &host.runtime_dir;
    let path = host.admin_socket();
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| BindError::Make { path, source }
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed(folder))?;
    let lock_path = folder.join(LOCK_NAME);
    let lock = File::create(&lock_path).map_err(failed(&lock_path))?;
    let lock =
        Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
            Errno::EWOULDBLOCK => BindError::Running(folder.clone()),
            errno => failed(&lock_path)(errno.into()),
        })?;
    let listener = listen(&path).map_err(failed(&path))?;
    Ok(AdminSocket {
        listener,
        _lock: lock,
    })
}

/// Nobody can connect before the mode is right: the socket listens only then.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = net::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    net::bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    net::listen(&socket, Backlog::MAXCONN)?;
    UnixListener::from_std(socket.into())
}

/// Serves the socket for ever. Once nobody takes questions any more, it says that the host is
/// stopping.
pub async fn serve(socket: AdminSocket, questions: mpsc::Sender<Question>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let accepting = connections.len() < MAX_CONNECTIONS;
        tokio::select! {
            accepted = socket.listener.accept(), if accepting => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, questions.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "the admin socket does not accept");
                    // Out of descriptors, most likely: give others time to close some.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(stream: UnixStream, questions: mpsc::Sender<Question>) {
    let may_change = stream
        .peer_cred()
        .is_ok_and(|peer| may_change(peer.uid(), Uid::effective().as_raw()));
    let service = service_fn(|request| {
        let questions = questions.clone();
        async move { Ok::<_, Infallible>(respond(request, may_change, &questions).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(LIMIT, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "admin connection"),
        Err(_) => tracing::debug!("admin connection took too long"),
    }
}

/// Who may change something: root, and the user that the daemon itself runs as. The mode of the
/// socket says so too, but an admin may widen it for those who want to see the state.
fn may_change(peer: u32, own: u32) -> bool {
    peer == 0 || peer == own
}

type Answer = Response<Full<Bytes>>;

async fn respond(
    request: Request<Incoming>,
    may_change: bool,
    questions: &mpsc::Sender<Question>,
) -> Answer {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/status") => match ask(questions, Question::Status).await {
            Some(status) => json(&status),
            None => stopping(),
        },
        (&Method::POST, "/reset") if !may_change => refuse(
            StatusCode::FORBIDDEN,
            "only root and the user that nri-host runs as may do this",
        ),
        (&Method::POST, "/reset") => reset(request.into_body(), questions).await,
        (_, "/status") => refuse(StatusCode::METHOD_NOT_ALLOWED, "GET only"),
        (_, "/reset") => refuse(StatusCode::METHOD_NOT_ALLOWED, "POST only"),
        _ => refuse(StatusCode::NOT_FOUND, "there are /status and /reset"),
    }
}

async fn reset(body: Incoming, questions: &mpsc::Sender<Question>) -> Answer {
    let body = match Limited::new(body, MAX_REQUEST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let ResetRequest { component } = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let question = |to| Question::Reset {
        name: component,
        to,
    };
    match ask(questions, question).await {
        Some(Ok(resets)) => json(&resets),
        Some(Err(error)) => refuse(StatusCode::NOT_FOUND, &error.to_string()),
        None => stopping(),
    }
}

/// `None`: the supervisor is stopping.
async fn ask<T>(
    questions: &mpsc::Sender<Question>,
    question: impl FnOnce(oneshot::Sender<T>) -> Question,
) -> Option<T> {
    let (to, answer) = oneshot::channel();
    questions.send(question(to)).await.ok()?;
    answer.await.ok()
}

fn json(answer: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(answer).expect("its keys are strings");
    let mut response = Response::new(Full::from(body));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn refuse(status: StatusCode, text: &str) -> Answer {
    let mut response = Response::new(Full::from(format!("{text}\n")));
    *response.status_mut() = status;
    response
}

fn stopping() -> Answer {
    refuse(StatusCode::SERVICE_UNAVAILABLE, "nri-host is stopping")
}

/// Asks the daemon for its status.
///
/// # Errors
///
/// When there is no daemon, or no answer of its.
pub async fn ask_status(host: &HostConfig) -> Result<Status, AskError> {
    exchange(host, Method::GET, "/status", Vec::new()).await
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
    exchange(host, Method::POST, "/reset", body).await
}

/// What is sent to `/reset`.
#[derive(Serialize, Deserialize)]
struct ResetRequest {
    component: String,
}

async fn exchange<T: DeserializeOwned>(
    host: &HostConfig,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<T, AskError> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "nri-host")
        .body(Full::from(body))
        .expect("the request is well-formed");
    timeout(LIMIT, send(host.admin_socket(), request))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_and_the_daemon_s_own_user_may_change_something() {
        assert!(may_change(0, 0) && may_change(0, 990) && may_change(990, 990));
        assert!(!may_change(65534, 0) && !may_change(991, 990));
    }
}
