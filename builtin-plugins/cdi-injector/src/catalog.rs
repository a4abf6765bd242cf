//! The index that counts now.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::index::{Folders, Index};

/// Holds the newest index for whoever asks.
#[derive(Debug)]
pub(crate) struct Catalog {
    folders: Folders,
    state: Mutex<State>,
    scanned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    index: Arc<Index>,
    scans: u64,
}

impl Catalog {
    /// A catalog in which there is nothing yet.
    pub(crate) fn new(folders: Folders) -> Self {
        Self {
            folders,
            state: Mutex::default(),
            scanned: Condvar::new(),
        }
    }

    /// Where its files are.
    pub(crate) fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The newest index. Does not wait for a scan.
    pub(crate) fn index(&self) -> Arc<Index> {
        Arc::clone(&self.lock().index)
    }

    /// Whether the folders have been read.
    pub(crate) fn is_scanned(&self) -> bool {
        self.lock().scans > 0
    }

    /// Reads what changed in the folders, puts the new index in the place of the old one, and
    /// returns both.
    pub(crate) fn scan(&self) -> (Arc<Index>, Arc<Index>) {
        let old = self.index();
        // Requests are served from the old one meanwhile.
        let new = Arc::new(old.rescan(&self.folders));
        let mut state = self.lock();
        state.index = Arc::clone(&new);
        state.scans += 1;
        self.scanned.notify_all();
        (old, new)
    }

    /// Waits for the first scan, for a limited time.
    pub(crate) fn wait_scanned(&self, limit: Duration) {
        let end = Instant::now() + limit;
        let mut state = self.lock();
        while state.scans == 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.scanned.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nothing is left half done under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
