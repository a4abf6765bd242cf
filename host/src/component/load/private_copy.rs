//! A copy of a library that nobody can change.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd as _, OwnedFd};
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

/// How often a copy is sealed before its pages count as busy: memory management, for one, may hold
/// one of them for a moment.
const SEAL_ATTEMPTS: u32 = 5;
/// How often others may take away the name of a copy.
const NAME_ATTEMPTS: u32 = 100;

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
    /// name only while it is empty: nobody else opens it, and it ends with this process.
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

    /// The same copy, for another process.
    pub(super) fn try_clone(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
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
    seal(&file)?;
    let file = OwnedFd::from(file);
    Ok(is_executable(&file, bytes).then_some(file))
}

/// Nobody can change the file from now on, this process included.
fn seal(file: &File) -> io::Result<()> {
    let seals = SealFlag::F_SEAL_WRITE
        | SealFlag::F_SEAL_GROW
        | SealFlag::F_SEAL_SHRINK
        | SealFlag::F_SEAL_SEAL;
    let mut attempts = 1..SEAL_ATTEMPTS;
    loop {
        match fcntl(file, FcntlArg::F_ADD_SEALS(seals)) {
            // The kernel has waited for some 150 ms by then.
            Err(Errno::EBUSY) if attempts.next().is_some() => {}
            sealed => return Ok(sealed.map(drop)?),
        }
    }
}

fn write_on_disk(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<OwnedFd> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut writer = without_name(path)?;
    writer.write_all(bytes)?;
    let reader = File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))?;
    Ok(reader.into())
}

/// A new file that only the caller can open: its name is gone already. Other processes may do the
/// same with that name in the same moment.
fn without_name(path: &Path) -> io::Result<File> {
    let mut attempts = 1..NAME_ATTEMPTS;
    loop {
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o500)
            .open(path);
        // What there is was left behind by a process that was killed, or is in another one's hands.
        let taken = matches!(&created, Err(error) if error.kind() == io::ErrorKind::AlreadyExists);
        if created.is_err() && !taken {
            return created;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if !taken || attempts.next().is_none() {
            return created;
        }
    }
}

fn is_executable(file: &OwnedFd, bytes: &[u8]) -> bool {
    NonZeroUsize::new(bytes.len()).is_some_and(|len| may_be_executed(file, len))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const BYTES: &[u8] = b"any bytes at all";

    fn content(copy: &PrivateCopy) -> Vec<u8> {
        // A memory file was written through the same descriptor.
        let mut bytes = Vec::new();
        File::open(format!("/proc/self/fd/{}", copy.0.as_raw_fd()))
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .expect("the copy can be read");
        bytes
    }

    #[test]
    fn a_copy_in_memory_holds_the_bytes_and_cannot_be_changed() {
        let state_dir = tempfile::tempdir().unwrap();
        let copy = PrivateCopy::new(Path::new("/x/liba.so"), BYTES, state_dir.path()).unwrap();
        let mut file = File::from(copy.0.try_clone().unwrap());
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(1).is_err());
        assert_eq!(content(&copy), BYTES);
    }

    #[test]
    fn a_copy_on_disk_holds_the_bytes_and_leaves_no_name() {
        let state_dir = tempfile::tempdir().unwrap();
        let copy = PrivateCopy::on_disk(BYTES, state_dir.path()).unwrap();
        assert!(
            File::from(copy.0.try_clone().unwrap())
                .write_all(b"x")
                .is_err()
        );
        assert_eq!(content(&copy), BYTES);
        let folder = state_dir.path().join(FOLDER);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }

    #[test]
    fn what_a_killed_process_left_behind_is_no_obstacle() {
        let state_dir = tempfile::tempdir().unwrap();
        let folder = state_dir.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        let stale = folder.join(format!("{}.so", Digest::of(BYTES)));
        fs::write(&stale, "half of it").unwrap();
        fs::set_permissions(&stale, Permissions::from_mode(0o500)).unwrap();
        let copy = PrivateCopy::on_disk(BYTES, state_dir.path()).unwrap();
        assert_eq!(content(&copy), BYTES);
    }

    #[test]
    fn copies_that_are_made_side_by_side_are_whole() {
        let state_dir = tempfile::tempdir().unwrap();
        let bytes = vec![7; 256 << 10];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let copy = PrivateCopy::on_disk(&bytes, state_dir.path()).unwrap();
                        assert!(content(&copy) == bytes, "not all of it");
                    }
                });
            }
        });
    }

    #[test]
    fn where_no_copy_can_be_made_the_place_is_named() {
        let state_dir = tempfile::tempdir().unwrap();
        let file = state_dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = PrivateCopy::on_disk(BYTES, &file).expect_err("a file is no folder");
        assert!(
            error.to_string().contains(file.to_str().unwrap()),
            "{error}"
        );
    }
}
