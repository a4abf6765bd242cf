//! The runtime's socket: connecting to it, saying why that does not work, seeing it come.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Why the socket cannot be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There is nothing at the path. The nearest folder that exists is named.
    Missing(PathBuf),
    /// There is something else at the path.
    NotASocket(&'static str),
    /// There is a socket, and nobody listens on it.
    Refused,
    /// We may not.
    Denied,
    /// Anything else.
    Failed(Errno),
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
            Self::NotASocket(what) => write!(f, "there is {what} instead of a socket"),
            Self::Refused => f.write_str(
                "nobody listens on the socket: the container runtime has stopped, or the file was \
                 mounted alone and is the one of an earlier run (mount its folder instead)",
            ),
            Self::Denied => f.write_str(
                "permission denied: the host must run as root; with SELinux enforcing, also under a \
                 label that may connect to the runtime's socket",
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
pub(super) fn connect_to(path: &Path) -> Result<UnixStream, Trouble> {
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
        Errno::EACCES | Errno::EPERM => Trouble::Denied,
        Errno::ECONNREFUSED => match path.metadata().map(|m| m.file_type()) {
            Ok(kind) if kind.is_dir() => Trouble::NotASocket("a folder"),
            Ok(kind) if kind.is_file() => Trouble::NotASocket("a regular file"),
            Ok(kind) if !kind.is_socket() => Trouble::NotASocket("a special file"),
            _ => Trouble::Refused,
        },
        // The queue of the socket is full: somebody listens who does not get to us.
        Errno::EAGAIN => Trouble::Refused,
        errno => Trouble::Failed(errno),
    }
}

/// The nearest folder above `path` that exists.
fn nearest_folder(path: &Path) -> PathBuf {
    path.ancestors()
        .skip(1)
        .find(|folder| folder.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}

/// Sees new files where the socket will be.
///
/// Watches the nearest folder that exists, and moves on towards the socket as folders come.
#[derive(Debug)]
pub(super) struct SocketWatch {
    path: PathBuf,
    inotify: AsyncFd<Waitable>,
}

impl SocketWatch {
    /// Starts to watch.
    ///
    /// # Errors
    ///
    /// When the kernel has no watch left; polling must do then.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let watch = Self {
            path: path.to_owned(),
            inotify: Self::start(path)?,
        };
        Ok(watch)
    }

    /// Waits until something was created, moved or changed where the socket is, or on the way
    /// there. Cancel-safe.
    ///
    /// # Errors
    ///
    /// When the watch is lost; polling must do then.
    pub(super) async fn changed(&mut self) -> io::Result<()> {
        let on_the_way: Vec<_> = self.path.iter().collect();
        loop {
            let events = self
                .inotify
                .async_io(Interest::READABLE, |inotify| Ok(inotify.0.read_events()?))
                .await?;
            let about_us = events.iter().any(|event| {
                // Without a name: the watched folder itself went away, or events were lost.
                event
                    .name
                    .as_ref()
                    .is_none_or(|name| on_the_way.contains(&name.as_os_str()))
            });
            if about_us {
                self.inotify = Self::start(&self.path)?;
                return Ok(());
            }
        }
    }

    fn start(path: &Path) -> io::Result<AsyncFd<Waitable>> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let wanted = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF
            | AddWatchFlags::IN_ONLYDIR;
        inotify.add_watch(&nearest_folder(path), wanted)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe; `Waitable` owns what it waits on"
        )]
        AsyncFd::with_interest(Waitable(inotify), Interest::READABLE)
    }
}

/// An inotify that tokio can wait on.
#[derive(Debug)]
struct Waitable(Inotify);

impl AsRawFd for Waitable {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn each_obstacle_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        drop(UnixListener::bind(at("stale")).unwrap());
        let missing = |path: &str| connect_to(&at(path)).unwrap_err();
        assert_eq!(missing("none"), Trouble::Missing(dir.path().to_owned()));
        assert_eq!(missing("a/b/c"), Trouble::Missing(dir.path().to_owned()));
        assert_eq!(missing("file"), Trouble::NotASocket("a regular file"));
        assert_eq!(missing("folder"), Trouble::NotASocket("a folder"));
        assert_eq!(missing("stale"), Trouble::Refused);
        let _listening = UnixListener::bind(at("good")).unwrap();
        connect_to(&at("good")).unwrap();
    }

    #[tokio::test]
    async fn a_socket_is_seen_to_come_even_with_its_folders() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nri/deeper/nri.sock");
        let mut watch = SocketWatch::new(&path).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        timeout(Duration::from_secs(20), watch.changed())
            .await
            .unwrap()
            .unwrap();
        let _listening = UnixListener::bind(&path).unwrap();
        timeout(Duration::from_secs(20), watch.changed())
            .await
            .unwrap()
            .unwrap();
    }
}
