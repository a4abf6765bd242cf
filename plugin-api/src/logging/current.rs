//! Which instance a thread works for.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::host::Host;

thread_local! {
    static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// The living instances of this library.
static INSTANCES: Mutex<Vec<Host>> = Mutex::new(Vec::new());

/// The list stays usable when a thread panicked with it: every change of it is a single one.
fn instances() -> MutexGuard<'static, Vec<Host>> {
    INSTANCES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn add_instance(host: &Host) {
    instances().push(host.clone());
}

pub(super) fn remove_instance(host: &Host) {
    instances().retain(|other| !other.is_same(host));
}

/// Lets a thread log as an instance until it is dropped, see [`Host::attach`].
#[derive(Debug)]
pub struct Attached {
    before: Option<Host>,
    /// Belongs to the thread that made it.
    thread: PhantomData<*const ()>,
}

pub(crate) fn attach(host: Host) -> Attached {
    let before = CURRENT.replace(Some(host));
    Attached {
        before,
        thread: PhantomData,
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // While a thread ends there is nothing left to restore.
        let _ = CURRENT.try_with(|current| current.replace(self.before.take()));
    }
}

/// The instance that the calling thread is attached to.
pub(super) fn attached() -> Option<Host> {
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}

/// The instance that the calling thread's lines belong to, if that can be told.
pub(super) fn current() -> Option<Host> {
    attached().or_else(|| match instances().as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    })
}
