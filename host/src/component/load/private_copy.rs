//! A copy of a library that nobody can change.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use thiserror::Error;

use super::super::inspect::Digest;
use super::may_be_executed;

/// Where copies are made when memory files cannot be executed, below the state folder.
const FOLDER: &str = "libraries";

/// Why there is no private copy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The kernel gives no memory file, and not because of a policy.
    #[error("no memory file can be made")]
    MemoryFile(#[source] io::Error),
    /// Memory files may not be executed here, and there is no place for a copy on disk.
    #[error(
        "memory files may not be executed on this system (sysctl vm.memfd_noexec, or a security \
         module), and a copy cannot be made at {}", .path.display()
    )]
    OnDisk {
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Nor may copies on disk.
    #[error(
        "neither memory files nor files in {} may be executed on this system; is it mounted \
         noexec?", .folder.display()
    )]
    NotExecutable {
        /// The folder of copies on disk.
        folder: PathBuf,
    },
}

/// A file without a name, or with one that nobody else can reach, that may be executed.
#[derive(Debug)]
pub(super) struct PrivateCopy(OwnedFd);

impl PrivateCopy {
    /// Copies `bytes`, which were read from `origin`: into a sealed memory file, or into
    /// `state_dir` where a policy forbids to execute those.
    pub(super) fn new(origin: &Path, bytes: &[u8], state_dir: &Path) -> Result<Self, CopyError> {
        if let Some(file) = in_memory(origin, bytes).map_err(CopyError::MemoryFile)? {
            return Ok(Self(file));
        }
        Self::on_disk(bytes, state_dir)
    }

    /// Copies `bytes` into a folder of `state_dir` that only the owner can enter. The copy has a
    /// name only until it is open: nothing is left behind, however the process ends later.
    pub(super) fn on_disk(bytes: &[u8], state_dir: &Path) -> Result<Self, CopyError> {
        let folder = state_dir.join(FOLDER);
        let path = folder.join(format!("{}.so", Digest::of(bytes)));
        let file = write_on_disk(&folder, &path, bytes)
            .map_err(|source| CopyError::OnDisk { path, source })?;
        if !is_executable(&file, bytes) {
            return Err(CopyError::NotExecutable { folder });
        }
        Ok(Self(file))
    }

    pub(super) fn into_file(self) -> OwnedFd {
        self.0
    }
}

/// `None`: the system does not allow such files to be executed.
fn in_memory(origin: &Path, bytes: &[u8]) -> io::Result<Option<OwnedFd>> {
    let name = origin.file_name().unwrap_or_default();
    let usual = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let executable = usual | MFdFlags::from_bits_retain(libc::MFD_EXEC);
    let file = match memfd_create(name, executable) {
        // Before Linux 6.3 the flag was not known, and all of them could be executed.
        Err(Errno::EINVAL) => memfd_create(name, usual),
        file => file,
    };
    let file = match file {
        Err(Errno::EACCES | Errno::EPERM) => return Ok(None),
        file => file?,
    };
    let mut file = File::from(file);
    file.write_all(bytes)?;
    let seals = SealFlag::F_SEAL_WRITE
        | SealFlag::F_SEAL_GROW
        | SealFlag::F_SEAL_SHRINK
        | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    let file = OwnedFd::from(file);
    Ok(is_executable(&file, bytes).then_some(file))
}

fn write_on_disk(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<OwnedFd> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // What a process that was killed has left behind.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut writer = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o500)
        .open(path)?;
    let written = writer.write_all(bytes);
    drop(writer);
    let reader = written.and_then(|()| File::open(path));
    fs::remove_file(path)?;
    Ok(reader?.into())
}

fn is_executable(file: &OwnedFd, bytes: &[u8]) -> bool {
    NonZeroUsize::new(bytes.len()).is_some_and(|len| may_be_executed(file, len))
}
