//! The thread of one component: its library is loaded, and `create`, `handle` and `destroy` are
//! called, here and nowhere else.
//!
//! It reads its session's socket, calls the component and writes the answer, without handing
//! anything to another thread on the way.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::{io, iter, thread};

use nix::errno::Errno;

use super::border::{Handled, Instance, NotCreated};
use super::clock;
use super::context::Context;
use super::inspect::inspect;
use super::load::{Libraries, Library};
use super::policy::{Failure, Outcome};
use super::seat::{Order, Seat, Served};
use crate::runtime::connection::Patience;

/// Where a component's code comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Where it is loaded, or is already.
    pub libraries: Arc<Libraries>,
}

/// Starts the thread of a seat, which loads the library and creates the instance first.
///
/// # Errors
///
/// When the system has no thread left.
pub fn start(seat: Arc<Seat>, source: Source) -> io::Result<()> {
    thread::Builder::new()
        .name(format!("nrih:{}", seat.blueprint.name))
        .spawn(move || {
            let _guard = HostPanic(&seat);
            Worker {
                seat: &seat,
                source,
                spare: None,
            }
            .run();
        })
        .map(drop)
}

struct Worker<'a> {
    seat: &'a Seat,
    source: Source,
    spare: Option<&'static Context>,
}

impl Worker<'_> {
    fn run(mut self) {
        let mut instance = None;
        loop {
            match self.seat.next_order() {
                Order::Create => instance = self.create(),
                Order::Serve(served) => {
                    if let Some(present) = instance.take() {
                        instance = self.serve(present, &served);
                    }
                }
                Order::Stop => {
                    drop(instance);
                    self.seat.stopped();
                    return;
                }
            }
        }
    }

    fn create(&mut self) -> Option<Instance> {
        let created = self
            .load()
            .and_then(|library| Instance::create(&library, &self.seat.blueprint, &mut self.spare));
        match created {
            Ok(instance) => {
                self.seat.arrive(instance.methods());
                Some(instance)
            }
            Err(why) => {
                self.seat.not_created(why);
                None
            }
        }
    }

    fn load(&self) -> Result<Arc<Library>, NotCreated> {
        if let Some(library) = self.seat.library() {
            return Ok(Arc::clone(library));
        }
        let inspected = inspect(&self.source.path).map_err(|error| not_loaded(&error))?;
        for warning in &inspected.warnings {
            tracing::warn!(component = self.seat.policy.plugin, "{warning}");
        }
        let library = self
            .source
            .libraries
            .load(&inspected)
            .map_err(|error| not_loaded(&error))?;
        Ok(Arc::clone(self.seat.loaded(library)))
    }

    /// Serves a session until it ends, or until there is no instance to serve it with.
    fn serve(&mut self, mut instance: Instance, served: &Arc<Served>) -> Option<Instance> {
        let seat = self.seat;
        while let Ok(Some(call)) = served.session.next_call(Patience::Wait) {
            if seat.quarantine.is_active() {
                let outcome = Outcome::Failed(Failure::Quarantined);
                seat.conclude(served, &call, outcome, Patience::Wait);
                continue;
            }
            let time = seat.policy.time_for(call.method, call.time);
            let deadline_ns = clock::in_ns(time);
            let call = Arc::new(call);
            seat.counters.calls.add_one();
            served.begin(&call, deadline_ns);
            let Handled { outcome, dead } = instance.handle(&call, deadline_ns);
            let in_time = served.finish(&call);
            if in_time {
                seat.conclude(served, &call, outcome, Patience::Wait);
            } else {
                let component = seat.policy.plugin.as_str();
                let method = call.method.name();
                tracing::warn!(
                    component,
                    method,
                    "is back from an overdue call; its answer is dropped"
                );
            }
            if dead {
                seat.leave();
                // Before its successor is made: both may want the same device or socket.
                drop(instance);
                seat.counters.recreated.add_one();
                instance = self.create()?;
            } else if !in_time {
                seat.arrive(instance.methods());
            }
            if (dead || !in_time) && !seat.is_current(served) {
                break;
            }
        }
        Some(instance)
    }
}

/// What a library that was not loaded means for the component: a shortage of the system passes, and
/// must not cost it its place for good.
fn not_loaded(error: &(dyn Error + 'static)) -> NotCreated {
    let reason = crate::chain(error);
    match is_shortage(error) {
        true => NotCreated::TryLater(reason),
        false => NotCreated::Failed {
            reason,
            config: Vec::new(),
        },
    }
}

/// Whether the system was short of something, or busy. `EBUSY`: the kernel seals no memory file
/// while a page of it is looked at, for example by its own memory management.
fn is_shortage(error: &(dyn Error + 'static)) -> bool {
    iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error())
        .any(|errno| {
            matches!(
                Errno::from_raw(errno),
                Errno::EAGAIN
                    | Errno::EBUSY
                    | Errno::EMFILE
                    | Errno::ENFILE
                    | Errno::ENOBUFS
                    | Errno::ENOMEM
                    | Errno::ENOSPC
            )
        })
}

/// A bug of the host on this thread must not look like a component that never comes back.
struct HostPanic<'a>(&'a Seat);

impl Drop for HostPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.thread_failed(NotCreated::Failed {
                reason: "the host panicked on this component's thread".to_owned(),
                config: Vec::new(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::{CopyError, LoadError};
    use super::*;

    #[test]
    fn a_shortage_while_loading_is_waited_out_and_a_bad_file_is_not() {
        let copy = |errno: Errno| LoadError::from(CopyError::MemoryFile(errno.into()));
        for errno in [Errno::EMFILE, Errno::ENOMEM, Errno::EBUSY] {
            let NotCreated::TryLater(reason) = not_loaded(&copy(errno)) else {
                panic!("{errno}");
            };
            assert!(
                reason.contains(&io::Error::from(errno).to_string()),
                "{reason}"
            );
        }
        assert!(matches!(
            not_loaded(&copy(Errno::EINVAL)),
            NotCreated::Failed { .. }
        ));
        let missing = inspect(&PathBuf::from("/nowhere/lib.so")).unwrap_err();
        assert!(matches!(not_loaded(&missing), NotCreated::Failed { .. }));
    }
}
