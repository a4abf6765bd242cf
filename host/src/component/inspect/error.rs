//! Why a file is refused, and what is odd about one that is not.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::glibc::GlibcVersion;

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

/// Why a file is not taken as it lies.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads nowhere, or to where the host may not look.
    #[error("{} cannot be opened", .path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A folder, a socket, a device.
    #[error("{} is not a regular file", .path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// Another user owns the file or a folder above it.
    #[error(
        "{} belongs to user {uid}, who could put other code there (expected root or user {own})",
        .path.display()
    )]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// Who owns it.
        uid: u32,
        /// Who runs the host.
        own: u32,
    },
    /// Others may write to the file or to a folder above it.
    #[error(
        "{} can be written by others than its owner (mode {mode:04o}), who could put other code \
         there: chmod go-w",
        .path.display()
    )]
    Writable {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Larger than any sensible library.
    #[error("{} is larger than {limit} bytes", .path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// Reading it failed.
    #[error("{} cannot be read", .path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Why the content of a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElfError {
    /// It does not begin like an ELF file.
    #[error("is not an ELF file")]
    NotElf,
    /// It is for 32-bit processes.
    #[error("is a 32-bit library; this host loads 64-bit ones")]
    WrongClass,
    /// It is for processors of another kind.
    #[error("is for machine {found}; this host runs on {expected}")]
    WrongMachine {
        /// The machine of the file.
        found: String,
        /// The machine of the host.
        expected: &'static str,
    },
    /// It is a program, an object file or a core dump.
    #[error("is {found}, not a shared library")]
    NotSharedLibrary {
        /// What it is.
        found: &'static str,
    },
    /// It ends before something that its headers speak of.
    #[error(
        "is cut off: {what} ends at byte {end}, the file at byte {len}; was it still being copied?"
    )]
    Truncated {
        /// What is not there in full.
        what: &'static str,
        /// Where that would end.
        end: u64,
        /// Where the file ends.
        len: u64,
    },
    /// Its headers contradict themselves, and the dynamic loader would trust them.
    #[error("is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// It would make the stacks of the whole process executable.
    #[error(
        "asks for an executable stack, for the whole process; build it with -z noexecstack \
         (assembler files need a .note.GNU-stack section)"
    )]
    ExecutableStack,
    /// Its code would have to be writable while it is loaded.
    #[error("has text relocations; build it with -fPIC")]
    TextRelocations,
    /// It looks for its libraries beside itself.
    #[error(
        "looks for its libraries in {path}: $ORIGIN does not work, because a component runs from a \
         private copy; link them statically or install them where the system looks"
    )]
    OriginPath {
        /// The path in the file.
        path: String,
    },
    /// It needs a newer C library.
    #[error(
        "needs glibc {needed} or newer; this system has {running}; build it on an older system"
    )]
    GlibcTooOld {
        /// What it needs.
        needed: GlibcVersion,
        /// What there is.
        running: GlibcVersion,
    },
    /// It is built for another C library.
    #[error("is built for musl ({library}); this host runs on glibc")]
    Musl {
        /// The library that it needs.
        library: String,
    },
    /// It does not say that it is a component.
    #[error(
        "has no NRIHOST note: it is not a component for this host, or the section .note.nrih was \
         removed from it"
    )]
    NoNote,
    /// It says so more than once.
    #[error("has {count} NRIHOST notes instead of one; are two components linked into it?")]
    SeveralNotes {
        /// How many.
        count: usize,
    },
    /// The note has not the form that it should have.
    #[error("has an NRIHOST note that cannot be read: {what}")]
    BadNote {
        /// What is wrong.
        what: &'static str,
    },
    /// It speaks another language.
    #[error("is built for ABI {found}; this host has ABI {expected}")]
    WrongAbi {
        /// The major version of the file.
        found: u16,
        /// The major version of the host.
        expected: u16,
    },
    /// It needs something that this host has not got yet.
    #[error("needs a host with ABI {major}.{needed} or newer; this one has {major}.{running}")]
    HostTooOld {
        /// The major version of both.
        major: u16,
        /// The minor version that it needs.
        needed: u16,
        /// The minor version of the host.
        running: u16,
    },
    /// It says something about itself that must be understood.
    #[error("has flags that this host must understand and does not: {unknown:#010x}")]
    UnknownFlags {
        /// The bits that are not known.
        unknown: u32,
    },
    /// It cannot run in the daemon's own process.
    #[error("{why}, so it needs a process of its own, which this version cannot give it")]
    NeedsProcess {
        /// Why it cannot.
        why: &'static str,
    },
    /// The host has nothing to call.
    #[error("exports no symbol {symbol} (in C++ it must be declared inside extern \"C\")")]
    NoDescriptor {
        /// What it should export.
        symbol: &'static str,
    },
    /// It would take over the memory of other components.
    #[error("exports {symbol}; a component must not bring its own allocator for others to use")]
    ExportsAllocator {
        /// What it exports.
        symbol: &'static str,
    },
}

/// What is odd about a library that is loaded nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InspectWarning {
    /// It exports more than its descriptor.
    #[error("exports {count} more symbols than the one it should ({}): hide them", .some.join(", "))]
    MoreExports {
        /// How many.
        count: usize,
        /// The first of them.
        some: Vec<String>,
    },
    /// It takes much of a small reserve that all libraries of the process share.
    #[error(
        "takes {bytes} bytes of static thread-local storage, of which there is little in a \
         process; build it without -ftls-model=initial-exec"
    )]
    StaticTls {
        /// How much.
        bytes: u64,
    },
    /// It brings along a library that is not part of the system.
    #[error(
        "needs {library}: if two components bring different libraries of this name, both get the \
         first one"
    )]
    NeedsLibrary {
        /// Which.
        library: String,
    },
    /// It looks for libraries in a folder of its own.
    #[error("looks for its libraries in {path} first")]
    SearchPath {
        /// Where.
        path: String,
    },
}
