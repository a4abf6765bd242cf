//! The libraries of the process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use thiserror::Error;

use super::super::inspect::{Digest, Inspected};
use super::private_copy::{CopyError, PrivateCopy};
use super::probe::{Probe, ProbeError};
use super::{Library, MapError, map};
use crate::crash::{library_came, library_comes};
use crate::lock::lock;

/// Why an inspected library could not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no private copy of it.
    #[error("a private copy cannot be made")]
    Copy(#[from] CopyError),
    /// The throw-away process did not load it.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// It could not be loaded here.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Two Go runtimes do not get along in one process.
    #[error(
        "carries a Go runtime, as does what was loaded from {} before: there can be one in a \
         process only, and this version has no processes for components", .first.display()
    )]
    SecondGoRuntime {
        /// The library that was loaded before.
        first: PathBuf,
    },
    /// The library says that it cannot serve two instances, and it serves one.
    #[error("says that it can serve one component only, and it serves one already")]
    OneInstance,
}

impl LoadError {
    /// Whether this says nothing about the library: it was not reached, or the system was short of
    /// something.
    pub fn is_inconclusive(&self) -> bool {
        match self {
            Self::Probe(error) => error.is_inconclusive(),
            Self::Map(error) => error.is_shortage(),
            _ => false,
        }
    }
}

/// The libraries of the process, each loaded once for all its instances.
#[derive(Debug)]
pub struct Libraries {
    state_dir: PathBuf,
    probe: Option<Probe>,
    inner: Mutex<Inner>,
    /// Held while constructors run. The dynamic loader has a lock for that as well, but does not say
    /// who has it.
    constructing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    attempts: BTreeMap<Digest, Arc<Attempt>>,
    /// The library with a Go runtime, if there is one.
    go: Option<PathBuf>,
}

/// Whoever comes while a library is being loaded waits for the outcome. The lock of all libraries
/// is not held meanwhile: others can be tried out, and then wait for the constructors before theirs.
type Attempt = OnceLock<Result<Arc<Library>, Arc<LoadError>>>;

impl Libraries {
    /// No libraries yet. Where the kernel does not let a memory file be executed, private copies
    /// are made in `state_dir`.
    pub fn new(state_dir: PathBuf, probe: Probe) -> Self {
        Self {
            state_dir,
            probe: Some(probe),
            inner: Mutex::default(),
            constructing: Mutex::default(),
        }
    }

    /// The same for a throw-away process: nothing is probed.
    pub fn unprobed(state_dir: PathBuf) -> Self {
        Self {
            state_dir,
            probe: None,
            inner: Mutex::default(),
            constructing: Mutex::default(),
        }
    }

    /// Loads what was inspected, or finds it among what is loaded already. A file that is seen for
    /// the first time is probed first. Its constructors run on the calling thread. Blocks for as
    /// long as a probe may take, and for as long as the constructors do.
    ///
    /// # Errors
    ///
    /// Says why it could not be loaded; the next call tries again. What the dynamic loader has
    /// mapped by then stays mapped.
    pub fn load(&self, inspected: &Inspected) -> Result<Arc<Library>, Arc<LoadError>> {
        self.load_telling(inspected, || ())
    }

    /// The same. Calls `constructing` when nothing is in the way any more of the constructors.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn load_telling(
        &self,
        inspected: &Inspected,
        constructing: impl FnOnce(),
    ) -> Result<Arc<Library>, Arc<LoadError>> {
        let digest = inspected.digest;
        let attempt = Arc::clone(lock(&self.inner).attempts.entry(digest).or_default());
        let outcome =
            attempt.get_or_init(|| self.load_first(inspected, constructing).map_err(Arc::new));
        let mut inner = lock(&self.inner);
        match outcome {
            Ok(library) => {
                let in_use = Arc::strong_count(library) > 1;
                if in_use && library.has_one_place() {
                    return Err(Arc::new(LoadError::OneInstance));
                }
                Ok(Arc::clone(library))
            }
            Err(error) => {
                inner
                    .attempts
                    .retain(|_, other| !Arc::ptr_eq(other, &attempt));
                Err(Arc::clone(error))
            }
        }
    }

    /// Loads what was inspected in a throw-away process only.
    ///
    /// # Errors
    ///
    /// Says why it could not be loaded there.
    pub fn probe(&self, inspected: &Inspected) -> Result<(), LoadError> {
        self.probed_copy(inspected).map(drop)
    }

    fn load_first(
        &self,
        inspected: &Inspected,
        constructing: impl FnOnce(),
    ) -> Result<Arc<Library>, LoadError> {
        let copy = self.probed_copy(inspected)?;
        if inspected.go_runtime {
            let mut inner = lock(&self.inner);
            if let Some(first) = inner.go.clone() {
                return Err(LoadError::SecondGoRuntime { first });
            }
            // Also if loading fails: the runtime may be there by then.
            inner.go = Some(inspected.path.clone());
        }
        let turn = lock(&self.constructing);
        constructing();
        library_comes(&inspected.path);
        let mapped = map(copy.into_file(), &inspected.note);
        library_came();
        drop(turn);
        let mapped = mapped?;
        Ok(Arc::new(Library {
            path: inspected.path.clone(),
            digest: inspected.digest,
            id: inspected.note.id.clone(),
            version: inspected.note.version.clone(),
            flags: inspected.note.flags,
            methods: mapped.methods,
            border: mapped.border,
            taken: AtomicBool::new(false),
        }))
    }

    fn probed_copy(&self, inspected: &Inspected) -> Result<PrivateCopy, LoadError> {
        let copy = PrivateCopy::new(&inspected.path, &inspected.bytes, &self.state_dir)?;
        if let Some(probe) = &self.probe {
            probe.try_out(inspected, &copy)?;
        }
        Ok(copy)
    }
}
