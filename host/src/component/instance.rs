//! The thread of one component: its library is loaded, and `create`, `handle` and `destroy` are
//! called, here and nowhere else.
//!
//! It reads its session's socket, calls the component and writes the answer, without handing
//! anything to another thread on the way.

use std::error::Error;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, iter, thread};

use nix::errno::Errno;

use super::border::{Handled, Instance, NotCreated};
use super::clock;
use super::context::Context;
use super::inspect::inspect;
use super::load::{Libraries, Library, LoadError};
use super::outbox::{MAX_RESULTS, UpdateResult};
use super::policy::{Failure, Outcome};
use super::seat::{Order, Seat, Served};
use crate::runtime::connection::Patience;
use crate::runtime::session::{Call, Incoming};
use crate::{crash, thread_locals};

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
            crash::enter_host_thread();
            thread_locals::make();
            Worker {
                seat: &seat,
                source,
                spare: None,
            }
            .run();
        })
        .map(drop)
}

/// Whether the session goes on, and the instance that there is.
type Step = ControlFlow<Option<Instance>, Instance>;

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
        let created = self.load().and_then(|library| {
            let Seat {
                blueprint,
                outbox,
                health,
                ..
            } = self.seat;
            Instance::create(&library, blueprint, outbox, health, &mut self.spare)
        });
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
        let path = &self.source.path;
        let inspected = inspect(path).map_err(|error| not_loaded(path, &error))?;
        self.seat.has_inspected(inspected.digest);
        for warning in &inspected.warnings {
            tracing::warn!(component = self.seat.plugin, "{warning}");
        }
        let identity = self.seat.blueprint.identity(&inspected.digest);
        let library = crash::during(&identity, crash::Step::Load, || {
            let constructing = || self.seat.constructing();
            self.source.libraries.load_telling(&inspected, constructing)
        })
        .map_err(|error| not_loaded(path, &*error))?;
        Ok(Arc::clone(self.seat.loaded(library)))
    }

    /// Serves a session until it ends, or until there is no instance to serve it with.
    fn serve(&mut self, mut instance: Instance, served: &Arc<Served>) -> Option<Instance> {
        let seat = self.seat;
        instance.serves(served);
        loop {
            match self.step(instance, served) {
                Continue(present) => instance = present,
                Break(left) => {
                    instance = left?;
                    break;
                }
            }
        }
        seat.outbox.session_lost(served.key());
        // A new session goes on with what is left of them.
        for _ in 0..MAX_RESULTS {
            if !seat.is_current(served) || seat.is_stopping() {
                break;
            }
            let Some(result) = seat.result_to_tell() else {
                break;
            };
            match self.tell(instance, served, &result) {
                Continue((present, _)) => instance = present,
                Break(left) => return left,
            }
        }
        Some(instance)
    }

    /// Tells one result that waits, if any, and serves what comes next.
    fn step(&mut self, mut instance: Instance, served: &Arc<Served>) -> Step {
        let seat = self.seat;
        let mut waited = Duration::ZERO;
        let next = if let Some(result) = seat.result_to_tell() {
            (instance, waited) = self.tell(instance, served, &result)?;
            // Only what is there already has waited; and the next result may be there, too.
            served.session.next_if_there()
        } else {
            served.session.next(Patience::Wait)
        };
        match next {
            Ok(Some(Incoming::Call(call))) => self.answer(instance, served, call, waited),
            Ok(Some(Incoming::UpdateAnswer { number, answer })) => {
                seat.outbox.answered(served.key(), number, answer);
                Continue(instance)
            }
            Ok(None) => Continue(instance),
            Err(_) => Break(Some(instance)),
        }
    }

    /// Has the component serve a call, which may have waited for it, and answers.
    fn answer(
        &mut self,
        mut instance: Instance,
        served: &Arc<Served>,
        call: Call,
        waited: Duration,
    ) -> Step {
        let seat = self.seat;
        if seat.quarantine.is_active() {
            let outcome = Outcome::Failed(Failure::Quarantined);
            seat.conclude(served, &call, outcome, Patience::Wait);
            return Continue(instance);
        }
        let time = call.time.saturating_sub(waited);
        let now_ns = clock::now_ns();
        let deadline_ns = clock::later_ns(now_ns, seat.policy().time_for(call.method, time));
        let call = Arc::new(call);
        seat.counters.calls.add_one(call.method);
        served.begin(&call, clock::earlier_ns(now_ns, waited), deadline_ns);
        let Handled { outcome, dead } = instance.handle(&call, deadline_ns);
        let in_time = served.finish(&call);
        if in_time {
            // Before the answer: whoever has that can rely on the figures.
            seat.counters.durations.record(served.waited_ns());
            seat.conclude(served, &call, outcome, Patience::Wait);
        } else {
            let component = seat.plugin.as_str();
            let method = call.method.name();
            tracing::warn!(
                component,
                method,
                "is back from an overdue call; its answer is dropped"
            );
        }
        self.settle(instance, served, dead, in_time)
    }

    /// Tells the component what came of an update. Requests wait meanwhile, for as long as is
    /// returned; those that come after its deadline are the watchdog's.
    fn tell(
        &mut self,
        mut instance: Instance,
        served: &Arc<Served>,
        result: &UpdateResult,
    ) -> ControlFlow<Option<Instance>, (Instance, Duration)> {
        let seat = self.seat;
        let start = Instant::now();
        let time = seat
            .policy()
            .time_for_result(served.session.request_timeout());
        let number = served.begin_result(clock::in_ns(time));
        let told = instance.tell(result);
        let in_time = served.finish_result(number);
        if !in_time {
            let component = seat.plugin.as_str();
            tracing::warn!(component, "is back from an overdue update_result");
        }
        let dead = told.is_err();
        if let Err(failure) = told {
            seat.result_failed(failure, in_time);
        }
        let waited = match in_time && !dead {
            true => start.elapsed(),
            false => Duration::ZERO,
        };
        self.settle(instance, served, dead, in_time)
            .map_continue(|instance| (instance, waited))
    }

    /// Goes on after the component's code was run: with a new instance if this one is dead, and with
    /// its session if that is not another one by now.
    fn settle(
        &mut self,
        mut instance: Instance,
        served: &Arc<Served>,
        dead: bool,
        in_time: bool,
    ) -> Step {
        let seat = self.seat;
        if dead {
            seat.leave();
            // Before its successor is made: both may want the same device or socket.
            drop(instance);
            seat.counters.recreated.add_one();
            match self.create() {
                Some(successor) => {
                    instance = successor;
                    instance.serves(served);
                }
                None => return Break(None),
            }
        } else if !in_time {
            seat.arrive(instance.methods());
        }
        if (dead || !in_time) && !seat.is_current(served) {
            return Break(Some(instance));
        }
        Continue(instance)
    }
}

/// What a library that was not loaded means for the component: a shortage of the system passes, and
/// must not cost it its place for good.
fn not_loaded(path: &Path, error: &(dyn Error + 'static)) -> NotCreated {
    let reason = format!("{}: {}", path.display(), crate::chain(error));
    let inconclusive = error
        .downcast_ref::<LoadError>()
        .is_some_and(LoadError::is_inconclusive);
    match inconclusive || is_shortage(error) {
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
    use super::super::load::{CopyError, Printed, ProbeError};
    use super::*;
    use crate::child::End;

    #[test]
    fn a_shortage_while_loading_is_waited_out_and_a_bad_file_is_not() {
        let path = Path::new("/nowhere/lib.so");
        let copy = |errno: Errno| LoadError::from(CopyError::MemoryFile(errno.into()));
        let probe = |errno: Errno| {
            let start = io::Error::from(errno).into();
            LoadError::from(ProbeError::Start(start))
        };
        for errno in [Errno::EMFILE, Errno::ENOMEM, Errno::EBUSY, Errno::EAGAIN] {
            for error in [copy(errno), probe(errno)] {
                let NotCreated::TryLater(reason) = not_loaded(path, &error) else {
                    panic!("{error}");
                };
                let words = io::Error::from(errno).to_string();
                assert!(reason.contains(&words), "{reason}");
            }
        }
        let killed = ProbeError::Died {
            end: End::Killed(9),
            printed: Printed::default(),
        };
        let killed = not_loaded(path, &LoadError::from(killed));
        assert!(matches!(killed, NotCreated::TryLater(_)), "{killed:?}");
        let missing = inspect(path).unwrap_err();
        let bad: [&(dyn Error + 'static); 3] =
            [&copy(Errno::EINVAL), &probe(Errno::EACCES), &missing];
        for error in bad {
            let not_created = not_loaded(path, error);
            assert!(
                matches!(not_created, NotCreated::Failed { .. }),
                "{not_created:?}"
            );
        }
    }
}
