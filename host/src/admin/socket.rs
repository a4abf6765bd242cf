//! The daemon's side of the admin socket, `nri-host.sock` in the runtime folder, for root alone: it
//! speaks HTTP/1.1, within limits.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{self as net, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::unistd::Uid;
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use super::answer::Sources;
use super::router::{Caller, respond, takes_long};
use crate::config::HostConfig;

/// Whoever holds the lock on this file in the runtime folder is the host.
const LOCK_NAME: &str = "nri-host.lock";
/// How long a connection may last, and an answer may take.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// The same where the answer is to wait for something to be done.
pub(super) const LONG_LIMIT: Duration = Duration::from_secs(180);
/// Connections at the same time; further ones wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16;

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
pub async fn serve(socket: AdminSocket, sources: Sources) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let accepting = connections.len() < MAX_CONNECTIONS;
        tokio::select! {
            accepted = socket.listener.accept(), if accepting => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, sources.clone()));
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

async fn serve_connection(stream: UnixStream, sources: Sources) {
    let caller = match stream.peer_cred() {
        Ok(peer) => caller(peer.uid(), Uid::effective().as_raw()),
        Err(_) => Caller::Onlooker,
    };
    let long = AtomicBool::new(false);
    let service = service_fn(|request| {
        let sources = sources.clone();
        long.fetch_or(takes_long(&request, caller), Ordering::Relaxed);
        async move { Ok::<_, Infallible>(respond(request, caller, &sources).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
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

/// The mode of the socket keeps others away, too, but an admin may widen it for those who want to see
/// the state.
fn caller(peer: u32, own: u32) -> Caller {
    match peer == 0 || peer == own {
        true => Caller::Owner,
        false => Caller::Onlooker,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_and_the_daemon_s_own_user_are_owners() {
        for (peer, own) in [(0, 0), (0, 990), (990, 990)] {
            assert_eq!(caller(peer, own), Caller::Owner);
        }
        for (peer, own) in [(65534, 0), (991, 990)] {
            assert_eq!(caller(peer, own), Caller::Onlooker);
        }
    }
}
