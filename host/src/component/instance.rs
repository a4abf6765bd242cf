//! The thread of one component: `create`, `handle` and `destroy` are called here and nowhere else.
//!
//! It reads its session's socket, calls the component and writes the answer, without handing
//! anything to another thread on the way.

use std::io;
use std::sync::Arc;
use std::thread;

use super::border::{Handled, Instance, NotCreated};
use super::clock;
use super::load::Library;
use super::seat::{Order, Seat, Served};
use crate::runtime::connection::Patience;

/// Starts the thread of a seat, which creates the instance first.
///
/// # Errors
///
/// When the system has no thread left.
pub fn start(seat: Arc<Seat>, library: Arc<Library>) -> io::Result<()> {
    thread::Builder::new()
        .name(format!("nrih:{}", seat.blueprint.name))
        .spawn(move || run(&seat, &library))
        .map(drop)
}

fn run(seat: &Seat, library: &Arc<Library>) {
    let _guard = HostPanic(seat);
    let mut instance = None;
    loop {
        match seat.next_order() {
            Order::Create => instance = create(seat, library),
            Order::Serve(served) => {
                if let Some(present) = instance.take() {
                    instance = serve(seat, library, present, &served);
                }
            }
            Order::Stop => {
                drop(instance);
                seat.stopped();
                return;
            }
        }
    }
}

fn create(seat: &Seat, library: &Arc<Library>) -> Option<Instance> {
    match Instance::create(library, &seat.blueprint) {
        Ok(instance) => {
            seat.arrive(instance.methods());
            Some(instance)
        }
        Err(why) => {
            seat.not_created(why);
            None
        }
    }
}

/// Serves a session until it ends, or until there is no instance to serve it with.
fn serve(
    seat: &Seat,
    library: &Arc<Library>,
    mut instance: Instance,
    served: &Arc<Served>,
) -> Option<Instance> {
    while let Ok(Some(call)) = served.session.next_call(Patience::Wait) {
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
            instance = create(seat, library)?;
        } else if !in_time {
            seat.arrive(instance.methods());
        }
        if (dead || !in_time) && !seat.is_current(served) {
            break;
        }
    }
    Some(instance)
}

/// A bug of the host on this thread must not look like a component that never comes back.
struct HostPanic<'a>(&'a Seat);

impl Drop for HostPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.not_created(NotCreated::Failed {
                reason: "the host panicked on this component's thread".to_owned(),
                config: Vec::new(),
            });
        }
    }
}
