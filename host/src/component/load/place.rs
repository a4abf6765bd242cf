//! Which instances of a library there may be at the same time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nri_plugin_api::abi::flags::ONE_INSTANCE;

use super::Library;

/// What an instance has of its library, from before `create` until after `destroy`.
#[derive(Debug)]
pub struct Place(Arc<Library>);

impl Library {
    /// The library says that it cannot serve two instances.
    pub fn has_one_place(&self) -> bool {
        self.flags & ONE_INSTANCE != 0
    }

    /// A place for an instance; `None` if the only one is taken.
    pub fn place(self: &Arc<Self>) -> Option<Place> {
        let was_taken = self.taken.swap(true, Ordering::AcqRel);
        (!was_taken || !self.has_one_place()).then(|| Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}
