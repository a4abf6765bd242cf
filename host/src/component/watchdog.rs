//! One thread that looks after every session whose component is not there to do it.
//!
//! A session's timer is armed when a call starts. When it fires, the seat decides whether the call
//! is overdue; from then on the watchdog reads that session's socket, too, until the component is
//! back. The watchdog never waits for anyone but its epoll.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::seat::{Seat, Served};
use crate::lock::lock;
use crate::runtime::session::End;
use crate::{crash, thread_locals};

/// What an event is about, in the lowest bit of its data.
const TIMER: u64 = 0;
const SOCKET: u64 = 1;

/// Names a watched session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(u64);

#[cfg(test)]
impl Key {
    pub(super) const fn for_tests(number: u64) -> Self {
        Self(number)
    }
}

/// The watchdog. Clones share it.
#[derive(Clone, Debug)]
pub struct Watchdog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    epoll: Epoll,
    next_key: AtomicU64,
    watched: Mutex<HashMap<Key, Watched>>,
}

#[derive(Clone, Debug)]
struct Watched {
    seat: Weak<Seat>,
    served: Weak<Served>,
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system has no thread or descriptor left.
    pub fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            next_key: AtomicU64::new(0),
            watched: Mutex::default(),
        });
        let watchdog = Self { shared };
        let on_thread = watchdog.clone();
        thread::Builder::new()
            .name("nrih-watchdog".to_owned())
            .spawn(move || {
                crash::enter_host_thread();
                thread_locals::make();
                on_thread.run();
            })?;
        Ok(watchdog)
    }

    /// A key for a session to be.
    pub fn key(&self) -> Key {
        Key(self.shared.next_key.fetch_add(1, Ordering::Relaxed))
    }

    /// Looks after the session's timer from now on.
    ///
    /// # Errors
    ///
    /// When the kernel does not take the timer.
    pub fn watch(&self, seat: &Arc<Seat>, served: &Arc<Served>) -> io::Result<()> {
        let key = served.key();
        self.watched().insert(
            key,
            Watched {
                seat: Arc::downgrade(seat),
                served: Arc::downgrade(served),
            },
        );
        let event = EpollEvent::new(EpollFlags::EPOLLIN, key.0 << 1 | TIMER);
        self.shared.epoll.add(served.timer(), event)?;
        Ok(())
    }

    /// Looks after the session's socket, too.
    pub fn serve(&self, served: &Served) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, served.key().0 << 1 | SOCKET);
        match self
            .shared
            .epoll
            .add(served.session.connection().as_fd(), event)
        {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => {
                tracing::error!(%errno, "the watchdog cannot take a socket");
                served
                    .session
                    .end(End::Asked("the watchdog cannot take its socket"));
            }
        }
    }

    /// Leaves the session's socket alone again.
    pub fn unserve(&self, served: &Served) {
        // It fails only when the socket was not served.
        let _ = self
            .shared
            .epoll
            .delete(served.session.connection().as_fd());
    }

    /// The session is gone; its descriptors left the epoll when they were closed.
    pub fn forget(&self, key: Key) {
        self.watched().remove(&key);
    }

    fn run(&self) {
        let _guard = AbortOnPanic;
        let mut events = [EpollEvent::empty(); 16];
        loop {
            let ready = match self.shared.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => continue,
                Err(errno) => panic!("the watchdog's epoll is gone: {errno}"),
            };
            for event in &events[..ready] {
                self.attend(event.data());
            }
        }
    }

    fn attend(&self, data: u64) {
        let watched = self.watched().get(&Key(data >> 1)).cloned();
        let Some((seat, served)) =
            watched.and_then(|w| Some((w.seat.upgrade()?, w.served.upgrade()?)))
        else {
            return;
        };
        match data & 1 {
            TIMER => seat.timer_fired(&served),
            _ => seat.socket_ready(&served),
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Key, Watched>> {
        lock(&self.shared.watched)
    }
}

/// Without its watchdog the host cannot keep its promise: better to be started anew.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}
