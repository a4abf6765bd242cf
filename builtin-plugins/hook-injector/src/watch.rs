//! Keeps the table of hooks up to date, on a thread of its own.
//!
//! Each round watches the folders anew, reads them, and waits: for a change, or for the next minute,
//! since neither programs nor what links lead to are watched.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use nri_plugin_api::Host;

use crate::loader::Loader;
use crate::report;
use crate::table::Current;

/// How long nothing has to happen before changes are read: a file takes several steps to write.
const QUIET: Duration = Duration::from_millis(100);

/// How long changes wait at most.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// How often the folders are read in any case.
const RESCAN: Duration = Duration::from_secs(60);

/// The same where they cannot be watched.
const POLL: Duration = Duration::from_secs(1);

/// What can make a hook file another one.
const CHANGES: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_MODIFY)
    .union(AddWatchFlags::IN_CLOSE_WRITE)
    .union(AddWatchFlags::IN_ATTRIB)
    .union(AddWatchFlags::IN_MOVE)
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF)
    .union(AddWatchFlags::IN_ONLYDIR);

/// The thread. It ends when this is dropped, which waits for a read that a dead network mount holds
/// up.
#[derive(Debug)]
pub(crate) struct Watcher {
    stop: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

/// The watcher could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the thread that watches hook files")]
pub(crate) struct StartError(#[source] io::Error);

impl Watcher {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system has no descriptor or thread left.
    pub(crate) fn start(
        loader: Loader,
        current: Arc<Current>,
        host: Host,
    ) -> Result<Self, StartError> {
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let stop = Arc::new(stop.map_err(|errno| StartError(errno.into()))?);
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("hook-files".to_owned())
            .spawn(move || {
                let _attached = host.attach();
                watch(loader, &current, &host, &stopped);
            })
            .map_err(StartError)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It fails only if the counter is full, so if it was told before.
        let _ = self.stop.write(1);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is logged where it happened.
            let _ = thread.join();
        }
    }
}

fn watch(mut loader: Loader, current: &Current, host: &Host, stop: &EventFd) {
    let mut is_polling = false;
    loop {
        // Watched first, then read: nothing is missed in between.
        let watches = Watches::new(&loader);
        if let Err(error) = &watches
            && !is_polling
        {
            tracing::warn!("cannot watch hook files, reading them every second: {error}");
        }
        is_polling = watches.is_err();
        let before = current.get();
        let now = current.set(loader.load());
        report::changes(&before, &now, host);
        if wait(watches.ok().as_ref(), stop) == Woken::Stopped {
            return;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Stopped,
    Changed,
    TimedOut,
}

/// Waits until the folders are to be read again.
fn wait(watches: Option<&Watches>, stop: &EventFd) -> Woken {
    let idle = if watches.is_some() { RESCAN } else { POLL };
    let mut woken = wait_once(watches, stop, idle);
    let latest = Instant::now() + MAX_DELAY;
    while woken == Woken::Changed {
        let left = latest.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        woken = wait_once(watches, stop, left.min(QUIET));
    }
    woken
}

/// Waits for one thing.
fn wait_once(watches: Option<&Watches>, stop: &EventFd, limit: Duration) -> Woken {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // Rounded up, so that the loop does not spin through the last millisecond.
        let left = PollTimeout::try_from(left + Duration::from_millis(1));
        let mut fds = vec![PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        if let Some(watches) = watches {
            fds.push(PollFd::new(watches.inotify.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut fds, left.unwrap_or(PollTimeout::MAX)) {
            Ok(0) => return Woken::TimedOut,
            Err(Errno::EINTR) => continue,
            // The system has no memory left: as if nothing could be watched.
            Err(errno) => {
                tracing::error!("waiting for changes of hook files: {errno}");
                thread::sleep(POLL);
                return Woken::TimedOut;
            }
            Ok(_) => {}
        }
        if fds[0].any().unwrap_or(true) {
            return Woken::Stopped;
        }
        if watches.is_some_and(Watches::has_news) {
            return Woken::Changed;
        }
        if Instant::now() >= until {
            return Woken::TimedOut;
        }
    }
}

/// Watches on all folders, or on what is nearest to those that are missing.
#[derive(Debug)]
struct Watches {
    inotify: Inotify,
    /// Everything that happens there counts.
    folders: HashSet<WatchDescriptor>,
    /// There only this name counts.
    awaited: HashSet<(WatchDescriptor, OsString)>,
}

impl Watches {
    fn new(loader: &Loader) -> Result<Self, Errno> {
        let mut watches = Self {
            inotify: Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?,
            folders: HashSet::new(),
            awaited: HashSet::new(),
        };
        for folder in loader.folders_here() {
            watches.add(&folder)?;
        }
        Ok(watches)
    }

    /// Watches a folder, or the nearest one above it that is there.
    fn add(&mut self, folder: &Path) -> Result<(), Errno> {
        /// What is there and no folder must not keep the thread here.
        const MAX_ATTEMPTS: u32 = 8;
        for _ in 0..MAX_ATTEMPTS {
            // What came before the one above it was watched was not seen.
            match self.add_nearest(folder)? {
                Some(missing) if missing.exists() => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// Returns what was not there, nearest to the folder that is watched.
    fn add_nearest<'a>(&mut self, folder: &'a Path) -> Result<Option<&'a Path>, Errno> {
        let mut missing: Option<&Path> = None;
        for nearest in folder.ancestors() {
            match self.inotify.add_watch(nearest, CHANGES) {
                Ok(watch) => {
                    match missing.and_then(Path::file_name) {
                        None => self.folders.insert(watch),
                        Some(name) => self.awaited.insert((watch, name.to_owned())),
                    };
                    return Ok(missing);
                }
                Err(Errno::ENOENT | Errno::ENOTDIR) => missing = Some(nearest),
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::ENOENT)
    }

    /// Takes all events there are, and says whether one of them matters.
    fn has_news(&self) -> bool {
        let mut has_news = false;
        loop {
            match self.inotify.read_events() {
                Ok(events) => has_news |= events.iter().any(|event| self.is_news(event)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return has_news,
                Err(_) => return true,
            }
        }
    }

    fn is_news(&self, event: &InotifyEvent) -> bool {
        match &event.name {
            Some(name) if !self.folders.contains(&event.wd) => {
                self.awaited.contains(&(event.wd, name.clone()))
            }
            // Something in a folder, the folder itself, or more than the kernel can tell.
            _ => true,
        }
    }
}
