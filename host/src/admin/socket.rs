//! The daemon's side of the admin socket, `nri-host.sock` in the runtime folder, for root alone.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{self as net, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::unistd::Uid;
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};

pub use super::answer::Sources;
use super::router::Caller;
use super::server::{self, Listener};
use crate::config::HostConfig;

/// Whoever holds the lock on this file in the runtime folder is the host.
const LOCK_NAME: &str = "nri-host.lock";

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

/// Serves the socket for ever.
pub async fn serve(socket: AdminSocket, sources: Sources) -> Infallible {
    server::serve(&socket.listener, &sources).await
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Caller)> {
        let (stream, _) = UnixListener::accept(self).await?;
        let caller = match stream.peer_cred() {
            Ok(peer) => caller(peer.uid(), Uid::effective().as_raw()),
            Err(_) => Caller::Onlooker,
        };
        Ok((stream, caller))
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
