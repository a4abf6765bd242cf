//! Looks at a component's file without running any of its code.
//!
//! The dynamic loader runs constructors before anybody can object, and trusts headers: a file that
//! was cut off ends the process inside `dlopen`. So the file is read once, as a whole, and what it
//! says is checked; [`load`](super::load) then loads those very bytes.

mod digest;
mod error;
mod exports;
mod file;
mod glibc;
mod image;
mod needs;
mod note;
mod tables;

use std::fmt;
use std::path::{Path, PathBuf};

pub use digest::Digest;
pub use error::{ElfError, FileError, InspectError, InspectWarning};
pub(crate) use file::check_folder;
pub use glibc::GlibcVersion;
use image::Image;
use needs::Needs;
pub use note::ComponentNote;
use note::Notes;

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

impl Inspected {
    /// Whether all that it brings along is of the system. Other libraries can change without it.
    pub fn needs_only_the_system(&self) -> bool {
        self.needed
            .iter()
            .all(|library| needs::is_of_the_system(library))
    }
}

/// Without the bytes.
impl fmt::Debug for Inspected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspected")
            .field("path", &self.path)
            .field("len", &self.bytes.len())
            .field("digest", &self.digest)
            .field("note", &self.note)
            .field("needed", &self.needed)
            .field("glibc", &self.glibc)
            .field("go_runtime", &self.go_runtime)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// What the bytes of a library say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// See [`Inspected::note`].
    pub note: ComponentNote,
    /// See [`Inspected::needed`].
    pub needed: Vec<String>,
    /// See [`Inspected::glibc`].
    pub glibc: Option<GlibcVersion>,
    /// See [`Inspected::go_runtime`].
    pub go_runtime: bool,
    /// See [`Inspected::warnings`].
    pub warnings: Vec<InspectWarning>,
}

/// Reads the file at `path` once and checks it.
///
/// # Errors
///
/// Says why the file may not be loaded.
pub fn inspect(path: &Path) -> Result<Inspected, InspectError> {
    let (path, bytes) = file::read(path)?;
    let contents = inspect_bytes(&bytes)?;
    Ok(Inspected {
        path,
        digest: Digest::of(&bytes),
        bytes,
        note: contents.note,
        needed: contents.needed,
        glibc: contents.glibc,
        go_runtime: contents.go_runtime,
        warnings: contents.warnings,
    })
}

/// Checks the bytes of a library, of whatever origin.
///
/// # Errors
///
/// Says why they may not be loaded.
pub fn inspect_bytes(bytes: &[u8]) -> Result<Contents, ElfError> {
    inspect_for(bytes, super::load::running_glibc())
}

/// The same for a system with another glibc. What it is comes first, what it needs after that: so
/// the reason given is the one that matters.
fn inspect_for(bytes: &[u8], running: Option<GlibcVersion>) -> Result<Contents, ElfError> {
    let image = Image::parse(bytes)?;
    let notes = Notes::of(&image);
    let note = notes.component()?;
    note::check(&note)?;
    let mut warnings = Vec::new();
    needs::check_manners(&image, &mut warnings)?;
    let needs = Needs::of(&image)?;
    needs.check(running, &mut warnings)?;
    exports::check(&image, &mut warnings)?;
    Ok(Contents {
        go_runtime: notes.go || note.flags & nri_plugin_api::abi::flags::GO_RUNTIME != 0,
        note,
        needed: needs.needed,
        glibc: needs.glibc,
        warnings,
    })
}
