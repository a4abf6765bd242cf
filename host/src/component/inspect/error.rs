//! Why a file is refused.

use thiserror::Error;

/// Why a library may not be loaded.
#[derive(Debug, Error)]
pub enum InspectError {
    /// The file could not be read, or others may write to it.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it holds is not a component that this host can load.
    #[error(transparent)]
    Elf(#[from] ElfError),
}

/// Why a file is not even read.
#[derive(Debug, Error)]
pub enum FileError {}

/// Why the content of a file is refused.
#[derive(Debug, Error)]
pub enum ElfError {}

/// What is odd about a library that is loaded nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InspectWarning {}
