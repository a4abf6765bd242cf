//! Looks at a component's file without running any of its code.

mod digest;
mod error;
mod note;

use std::path::{Path, PathBuf};

pub use digest::Digest;
pub use error::{ElfError, FileError, InspectError, InspectWarning};
pub use note::ComponentNote;

/// A library that was read and found fit to be loaded.
#[derive(Clone)]
pub struct Inspected {
    /// Canonical path of the file.
    pub path: PathBuf,
    /// The whole file. What is loaded is this, not what the path holds by then.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes`.
    pub digest: Digest,
    /// What the component says about itself.
    pub note: ComponentNote,
    /// Libraries that the dynamic loader will bring along.
    pub needed: Vec<String>,
    /// The newest glibc symbol version that it cannot do without.
    pub glibc: Option<GlibcVersion>,
    /// Whether the file carries a Go runtime, by its note or by the build id of the Go linker.
    pub go_runtime: bool,
    /// What is odd about the file.
    pub warnings: Vec<InspectWarning>,
}

impl std::fmt::Debug for Inspected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspected")
            .field("path", &self.path)
            .field("len", &self.bytes.len())
            .field("digest", &self.digest)
            .field("note", &self.note)
            .field("needed", &self.needed)
            .field("glibc", &self.glibc)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// A version of the GNU C library, or of one of its symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GlibcVersion {
    /// 2 in 2.36.
    pub major: u32,
    /// 36 in 2.36.
    pub minor: u32,
}

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Reads the file at `path` once and checks it.
///
/// # Errors
///
/// Says why the file may not be loaded.
pub fn inspect(path: &Path) -> Result<Inspected, InspectError> {
    let _ = path;
    todo!()
}
