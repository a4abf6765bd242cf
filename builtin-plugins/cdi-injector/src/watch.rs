//! Keeps the catalog up to date, on a thread of its own.
//!
//! Each round watches the folders, reads what changed in them, and waits: for a change, for a
//! request to look again, or for the next minute, since a change behind a symbolic link is not seen.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use nri_plugin_api::Host;

use crate::catalog::Catalog;
use crate::health::Reporter;
use crate::index::{Index, is_spec};

/// How long nothing must change before the files are read: writers are not disturbed.
const QUIET: Duration = Duration::from_millis(200);
/// How long a change can wait for that.
const MAX_DELAY: Duration = Duration::from_millis(800);
/// How often the folders are read without a change.
const RESCAN: Duration = Duration::from_secs(60);
/// The same where they cannot be watched.
const POLLING: Duration = Duration::from_secs(5);
/// How soon they are read again because a device was not found.
const MIN_LOOKUP_INTERVAL: Duration = Duration::from_secs(1);

/// The thread. It ends when this is dropped, which waits for a read that a dead network mount holds
/// up.
#[derive(Debug)]
pub(crate) struct Watcher {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

/// Wakes the thread.
#[derive(Debug)]
struct Bell {
    event: EventFd,
    stop: AtomicBool,
}

impl Bell {
    fn ring(&self) {
        // It fails when the counter is full, so when it rings already.
        let _ = self.event.write(1);
    }
}

impl Watcher {
    /// Starts the thread, which reads the folders at once.
    ///
    /// # Errors
    ///
    /// The system has no descriptor or thread left.
    pub(crate) fn start(
        catalog: Arc<Catalog>,
        reporter: Arc<Reporter>,
        host: Host,
    ) -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let bell = Arc::new(Bell {
            event,
            stop: AtomicBool::new(false),
        });
        let rung = Arc::clone(&bell);
        let thread = thread::Builder::new()
            .name("cdi-watch".to_owned())
            .spawn(move || {
                let _attached = host.attach();
                watch(&catalog, &rung, &reporter);
            })?;
        Ok(Self {
            bell,
            thread: Some(thread),
        })
    }

    /// Has the folders read again soon.
    pub(crate) fn look_again(&self) {
        self.bell.ring();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.bell.stop.store(true, Ordering::Release);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is logged where it happened.
            let _ = thread.join();
        }
    }
}

fn watch(catalog: &Catalog, bell: &Bell, reporter: &Reporter) {
    let mut polling = false;
    while !bell.stop.load(Ordering::Acquire) {
        // First watched, then read: nothing is missed in between.
        let watches = Watches::new(&catalog.folders().paths);
        if let Err(error) = &watches
            && !polling
        {
            tracing::warn!("cannot watch for new CDI files: {error}; looking every {POLLING:?}");
        }
        polling = watches.is_err();
        let (old, new) = catalog.scan();
        report(&old, &new);
        reporter.report();
        wait(watches.ok().as_ref(), bell);
    }
}

/// Logs what is new among the problems.
fn report(old: &Index, new: &Index) {
    /// More of them are only counted.
    const MAX_LOGGED: usize = 20;
    let before: HashSet<_> = old.problems().iter().collect();
    let fresh = new
        .problems()
        .iter()
        .filter(|problem| !before.contains(*problem));
    for problem in fresh.clone().take(MAX_LOGGED) {
        tracing::warn!("{problem}");
    }
    let more = fresh.count().saturating_sub(MAX_LOGGED);
    if more > 0 {
        tracing::warn!("and {more} more problems with CDI files");
    }
    let (devices, files) = (new.device_count(), new.file_count());
    if (devices, files) != (old.device_count(), old.file_count()) {
        tracing::info!(devices, files, "CDI files were read");
    }
}

/// Waits until the files are to be read.
fn wait(watches: Option<&Watches>, bell: &Bell) {
    let start = Instant::now();
    let regular = start + watches.map_or(POLLING, |_| RESCAN);
    let mut due = regular;
    let mut first_change = None;
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let woken = wait_once(watches, bell, left);
        if bell.stop.load(Ordering::Acquire) {
            return;
        }
        match woken {
            Woken::Changed => {
                let now = Instant::now();
                let first = *first_change.get_or_insert(now);
                due = (now + QUIET).min(first + MAX_DELAY).min(regular);
            }
            Woken::Rung => due = due.min(start + MIN_LOOKUP_INTERVAL),
            Woken::Nothing => {}
        }
    }
}

/// Why the thread woke up.
enum Woken {
    Changed,
    Rung,
    Nothing,
}

fn wait_once(watches: Option<&Watches>, bell: &Bell, limit: Duration) -> Woken {
    // Rounded up: rounded down, the last millisecond would be spent spinning.
    let limit = PollTimeout::try_from(limit.as_millis() + 1).unwrap_or(PollTimeout::MAX);
    let mut fds = vec![PollFd::new(bell.event.as_fd(), PollFlags::POLLIN)];
    fds.extend(watches.map(|watches| PollFd::new(watches.inotify.as_fd(), PollFlags::POLLIN)));
    match poll(&mut fds, limit) {
        Ok(0) | Err(Errno::EINTR) => return Woken::Nothing,
        Ok(_) => {}
        Err(errno) => {
            // It cannot happen with these descriptors; must it, then without spinning.
            tracing::error!("cannot wait for changes of CDI files: {errno}");
            thread::sleep(POLLING);
            return Woken::Nothing;
        }
    }
    if watches.is_some_and(Watches::has_news) {
        return Woken::Changed;
    }
    match bell.event.read() {
        Ok(_) => Woken::Rung,
        Err(_) => Woken::Nothing,
    }
}

/// Watches the folders, and for folders that are not there yet.
struct Watches {
    inotify: Inotify,
    watched: Vec<(WatchDescriptor, Interest)>,
}

/// What about a watched folder is news.
enum Interest {
    /// All that happens to CDI files in it.
    Files,
    /// That this name appears: it leads to a folder of CDI files.
    Name(OsString),
}

impl Watches {
    fn new(folders: &[PathBuf]) -> nix::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let mut watches = Self {
            inotify,
            watched: Vec::new(),
        };
        for folder in folders {
            watches.watch(folder)?;
        }
        Ok(watches)
    }

    /// Watches a folder, or the nearest one above it that is there.
    fn watch(&mut self, folder: &Path) -> nix::Result<()> {
        /// A folder that is there and cannot be watched must not keep the thread here.
        const MAX_ATTEMPTS: u32 = 8;
        for _ in 0..MAX_ATTEMPTS {
            // What came before its folder was watched for was not seen.
            match self.watch_nearest(folder)? {
                Some(missing) if missing.exists() => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// Returns what was not there, nearest to the folder that is watched.
    fn watch_nearest<'a>(&mut self, folder: &'a Path) -> nix::Result<Option<&'a Path>> {
        let arrivals = AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF
            // A folder that could not be entered may now be open.
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_ONLYDIR
            // A folder can be one of CDI files and above another one.
            | AddWatchFlags::from_bits_retain(libc::IN_MASK_ADD);
        let files = arrivals
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_DELETE;
        let mut missing = None;
        for ancestor in folder.ancestors() {
            let (mask, interest) = match missing.and_then(Path::file_name) {
                None => (files, Interest::Files),
                Some(name) => (arrivals, Interest::Name(name.to_owned())),
            };
            match self.inotify.add_watch(ancestor, mask) {
                Ok(watch) => {
                    self.watched.push((watch, interest));
                    return Ok(missing);
                }
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES) => missing = Some(ancestor),
                Err(errno) => return Err(errno),
            }
        }
        Ok(missing)
    }

    /// Reads the events that there are, and whether they are news.
    fn has_news(&self) -> bool {
        let mut news = false;
        // It fails when there is no event left.
        while let Ok(events) = self.inotify.read_events() {
            news |= events.iter().any(|event| self.is_news(event));
        }
        news
    }

    fn is_news(&self, event: &InotifyEvent) -> bool {
        let Some(name) = event.name.as_deref() else {
            // Events were lost, or something happened to the folder itself.
            return true;
        };
        let mut watched = self.watched.iter().filter(|(watch, _)| *watch == event.wd);
        watched.any(|(_, interest)| match interest {
            Interest::Files => is_spec(name),
            Interest::Name(wanted) => wanted == name,
        })
    }
}
