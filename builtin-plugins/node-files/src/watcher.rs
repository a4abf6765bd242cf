//! The thread that reads the files again.

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nri_plugin_api::Host;

use crate::watches::Watches;

/// How long nothing must change before the files are read: a file takes several steps to write.
const QUIET: Duration = Duration::from_millis(100);
/// How long a change can wait for that.
const MAX_DELAY: Duration = Duration::from_millis(500);
/// How often the files are read without a change: not all that matters is in the folders.
const RESCAN: Duration = Duration::from_secs(60);
/// The same where the folders cannot be watched.
const POLLING: Duration = Duration::from_secs(1);
/// How soon they are read again because somebody asked for it.
const MIN_ASKED_INTERVAL: Duration = Duration::from_secs(1);

/// Reads files again when something changed in their folders, when it is asked to, and each minute.
///
/// The thread ends when this is dropped, which waits for a read that a dead network mount holds up.
#[derive(Debug)]
pub struct Watcher {
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

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Watcher {
    /// Starts a thread with this name that calls `read` at once and after each change in the
    /// folders, which need not be there. What it logs is the component's.
    ///
    /// # Errors
    ///
    /// The system has no descriptor or thread left.
    pub fn start(
        name: &str,
        host: Host,
        folders: Vec<PathBuf>,
        mut read: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let bell = Arc::new(Bell {
            event: EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?,
            stop: AtomicBool::new(false),
        });
        let rung = Arc::clone(&bell);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let _attached = host.attach();
                watch(&folders, &rung, &mut read);
            })?;
        Ok(Self {
            bell,
            thread: Some(thread),
        })
    }

    /// Has the files read again within a second.
    pub fn look_again(&self) {
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

fn watch(folders: &[PathBuf], bell: &Bell, read: &mut impl FnMut()) {
    let mut is_polling = false;
    while !bell.is_stopped() {
        // First watched, then read: nothing is missed in between.
        let watches = Watches::new(folders);
        if let Err(error) = &watches
            && !is_polling
        {
            tracing::warn!("cannot watch folders, reading them every {POLLING:?}: {error}");
        }
        is_polling = watches.is_err();
        read();
        wait(watches.ok().as_ref(), bell);
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
        if left.is_zero() || bell.is_stopped() {
            return;
        }
        match wait_once(watches, bell, left) {
            Woken::Changed => {
                let now = Instant::now();
                let first = *first_change.get_or_insert(now);
                due = (now + QUIET).min(first + MAX_DELAY).min(regular);
            }
            Woken::Rung => due = due.min(start + MIN_ASKED_INTERVAL),
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
    fds.extend(watches.map(|watches| PollFd::new(watches.as_fd(), PollFlags::POLLIN)));
    match poll(&mut fds, limit) {
        Ok(0) | Err(Errno::EINTR) => return Woken::Nothing,
        Ok(_) => {}
        Err(errno) => {
            // The system has no memory left: on, but without spinning.
            tracing::error!("cannot wait for changes of files: {errno}");
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
