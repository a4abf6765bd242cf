//! Connecting to the runtime's socket, and saying why that does not work.

use std::fmt;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

use crate::admin::status::RuntimeState;

/// Says `1` where SELinux is enforcing.
const SELINUX_ENFORCE: &str = "/sys/fs/selinux/enforce";

/// Why there is no connection to the right runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is nothing at the path. The nearest folder that exists is named.
    Missing(PathBuf),
    /// There is something else at the path.
    NotASocket(&'static str),
    /// There is a socket, and nobody listens on it.
    Refused,
    /// Somebody listens, and does not take the connections that wait already.
    Busy,
    /// We may not.
    Denied {
        /// SELinux is enforcing.
        selinux: bool,
    },
    /// No socket can have the path.
    PathTooLong,
    /// The system or this process has no descriptor or memory left.
    Exhausted(Errno),
    /// Another runtime listens than the one that is configured.
    WrongRuntime {
        /// The name that is configured.
        expected: String,
        /// The name that it gave itself.
        found: String,
    },
    /// Anything else.
    Failed(Errno),
}

impl Trouble {
    /// In one word.
    pub(super) fn state(&self) -> RuntimeState {
        match self {
            Self::Missing(_) => RuntimeState::Missing,
            Self::NotASocket(_) => RuntimeState::NotASocket,
            Self::Refused => RuntimeState::Refused,
            Self::Busy => RuntimeState::Busy,
            Self::Denied { .. } => RuntimeState::Denied,
            Self::PathTooLong => RuntimeState::PathTooLong,
            Self::Exhausted(_) => RuntimeState::Exhausted,
            Self::WrongRuntime { .. } => RuntimeState::WrongRuntime,
            Self::Failed(_) => RuntimeState::Failed,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(nearest) => write!(
                f,
                "there is no socket (the nearest folder is {}): the container runtime is not \
                 running, has NRI disabled (as containerd 1.7 has by default), or uses another path",
                nearest.display()
            ),
            Self::NotASocket(what) => write!(f, "there is {what} instead of the runtime's socket"),
            Self::Refused => f.write_str(
                "nobody listens on the socket: the container runtime has stopped, or the file was \
                 mounted alone and is the one of an earlier run (mount its folder instead)",
            ),
            Self::Busy => f.write_str(
                "somebody listens on the socket and takes no connection, so many wait there: the \
                 container runtime is stuck, or has not begun",
            ),
            Self::Denied { selinux: false } => {
                f.write_str("permission denied: the host must run as root, with root's capabilities")
            }
            Self::Denied { selinux: true } => f.write_str(
                "permission denied, and SELinux is enforcing: the host must run as root and under a \
                 label that may connect to the runtime's socket (the audit log has the denial)",
            ),
            Self::PathTooLong => f.write_str("the path is longer than that of a socket can be"),
            Self::Exhausted(errno) => write!(
                f,
                "no connection can be made for want of descriptors or memory ({})",
                errno.desc()
            ),
            Self::WrongRuntime { expected, found } => write!(
                f,
                "wrong runtime: {found:?} listens instead of {expected:?} (expect_runtime), so no \
                 component is registered"
            ),
            Self::Failed(errno) => write!(f, "cannot connect: {}", errno.desc()),
        }
    }
}

/// Connects without waiting.
///
/// # Errors
///
/// What is in the way.
pub(crate) fn connect_to(path: &Path) -> Result<UnixStream, Trouble> {
    try_connect(path).map_err(|errno| trouble(path, errno))
}

fn try_connect(path: &Path) -> Result<UnixStream, Errno> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(fd.as_raw_fd(), &address)?;
    Ok(UnixStream::from(fd))
}

fn trouble(path: &Path, errno: Errno) -> Trouble {
    match errno {
        Errno::ENOENT | Errno::ENOTDIR => Trouble::Missing(nearest_folder(path)),
        Errno::EACCES | Errno::EPERM => Trouble::Denied {
            selinux: std::fs::read(SELINUX_ENFORCE).is_ok_and(|text| text.starts_with(b"1")),
        },
        Errno::ENAMETOOLONG => Trouble::PathTooLong,
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM | Errno::ENOBUFS => Trouble::Exhausted(errno),
        Errno::EPROTOTYPE => Trouble::NotASocket("a socket of another kind"),
        Errno::ECONNREFUSED => match path.metadata().map(|m| m.file_type()) {
            Ok(kind) if kind.is_dir() => Trouble::NotASocket("a folder"),
            Ok(kind) if kind.is_file() => Trouble::NotASocket("a regular file"),
            Ok(kind) if !kind.is_socket() => Trouble::NotASocket("a special file"),
            _ => Trouble::Refused,
        },
        // The queue of the socket is full.
        Errno::EAGAIN => Trouble::Busy,
        errno => Trouble::Failed(errno),
    }
}

/// The nearest folder above `path` that exists.
pub(super) fn nearest_folder(path: &Path) -> PathBuf {
    path.ancestors()
        .skip(1)
        .find(|folder| folder.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use nix::sys::socket::{Backlog, bind, listen};

    use super::*;

    #[test]
    fn each_obstacle_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        drop(UnixListener::bind(at("stale")).unwrap());
        let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
        let missing = |path: &str| connect_to(&at(path)).unwrap_err();
        assert_eq!(missing("none"), Trouble::Missing(dir.path().to_owned()));
        assert_eq!(missing("a/b/c"), Trouble::Missing(dir.path().to_owned()));
        assert_eq!(missing("file"), Trouble::NotASocket("a regular file"));
        assert_eq!(missing("folder"), Trouble::NotASocket("a folder"));
        assert_eq!(missing("stale"), Trouble::Refused);
        assert_eq!(missing("dangling"), Trouble::Missing(dir.path().to_owned()));
        assert_eq!(
            missing("datagrams"),
            Trouble::NotASocket("a socket of another kind")
        );
        assert_eq!(missing(&"x".repeat(108)), Trouble::PathTooLong);
        // It takes none of those that wait, and there is no room for a second one.
        let address = UnixAddr::new(&at("busy")).unwrap();
        let busy = socket(
            AddressFamily::Unix,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .unwrap();
        bind(busy.as_raw_fd(), &address).unwrap();
        listen(&busy, Backlog::new(0).unwrap()).unwrap();
        let _waits = connect_to(&at("busy")).unwrap();
        assert_eq!(missing("busy"), Trouble::Busy);
        let _listening = UnixListener::bind(at("good")).unwrap();
        connect_to(&at("good")).unwrap();
    }

    #[test]
    fn want_of_descriptors_and_denial_have_words_of_their_own() {
        let path = Path::new("/run/nri/nri.sock");
        for errno in [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM] {
            assert_eq!(trouble(path, errno), Trouble::Exhausted(errno));
        }
        assert!(matches!(
            trouble(path, Errno::EACCES),
            Trouble::Denied { .. }
        ));
        let [root, selinux] = [false, true].map(|selinux| Trouble::Denied { selinux }.to_string());
        assert!(selinux.contains("SELinux") && !root.contains("SELinux"));
    }
}
