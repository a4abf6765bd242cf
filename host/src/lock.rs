//! Locking without poison.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a holder of it panicked: what this crate keeps behind mutexes is changed
/// in single steps, so it is in order even then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
