//! Seeing the runtime's socket come.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::socket::nearest_folder;

/// Sees new files where the socket will be.
///
/// Watches the nearest folder that exists, and moves on towards the socket as folders come.
#[derive(Debug)]
pub(super) struct SocketWatch {
    path: PathBuf,
    inotify: AsyncFd<Waitable>,
    folder: WatchDescriptor,
}

impl SocketWatch {
    /// Starts to watch.
    ///
    /// # Errors
    ///
    /// When the kernel has no watch left; polling must do then.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let folder = watch_nearest_folder(&inotify, path)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe; `Waitable` owns what it waits on"
        )]
        let inotify = AsyncFd::with_interest(Waitable(inotify), Interest::READABLE)?;
        Ok(Self {
            path: path.to_owned(),
            inotify,
            folder,
        })
    }

    /// Waits until something was created, moved or changed where the socket is, or on the way
    /// there. Cancel-safe.
    ///
    /// # Errors
    ///
    /// When the watch is lost; polling must do then.
    pub(super) async fn changed(&mut self) -> io::Result<()> {
        loop {
            let events = self
                .inotify
                .async_io(Interest::READABLE, |inotify| Ok(inotify.0.read_events()?))
                .await?;
            if events.iter().any(|event| self.is_news(event)) {
                return self.follow();
            }
        }
    }

    fn is_news(&self, event: &InotifyEvent) -> bool {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            return true;
        }
        // Without a name, the watched folder itself went away.
        let on_the_way = |name| self.path.iter().any(|part| part == name);
        event.wd == self.folder && event.name.as_deref().is_none_or(on_the_way)
    }

    /// Watches the folder that is the nearest one now.
    fn follow(&mut self) -> io::Result<()> {
        let inotify = &self.inotify.get_ref().0;
        let folder = watch_nearest_folder(inotify, &self.path)?;
        if folder != self.folder {
            // It fails when the folder is gone, and the watch with it.
            let _ = inotify.rm_watch(self.folder);
            self.folder = folder;
        }
        Ok(())
    }
}

fn watch_nearest_folder(inotify: &Inotify, path: &Path) -> io::Result<WatchDescriptor> {
    let wanted = AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_ATTRIB
        | AddWatchFlags::IN_DELETE_SELF
        | AddWatchFlags::IN_MOVE_SELF
        | AddWatchFlags::IN_ONLYDIR;
    loop {
        let folder = nearest_folder(path);
        match inotify.add_watch(&folder, wanted) {
            // Folders that came before they were watched for were not seen.
            Ok(watch) if nearest_folder(path) == folder => return Ok(watch),
            Ok(watch) => drop(inotify.rm_watch(watch)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => {}
            Err(errno) => return Err(errno.into()),
        }
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
