//! The files of the node: those of container runtimes, of the service manager, `/proc` and `/sys`.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2, readlinkat};

/// The largest file that is read, in bytes: containerd's whole default configuration has 10 KiB.
const MAX_FILE: u64 = 1 << 20;
/// The longest list of a folder: `/proc` of a large node has some 10,000 entries.
const MAX_ENTRIES: usize = 1 << 17;

/// A node's file system, from its root. Nothing is written, and nothing that lies there can hold up
/// who reads.
#[derive(Debug)]
pub(super) struct Node {
    /// `None`: that of this process.
    root: Option<OwnedFd>,
}

impl Node {
    /// The node whose root folder is seen at `root`; links in it lead to where they do on the node.
    ///
    /// # Errors
    ///
    /// When there is no such folder.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        if root == Path::new("/") {
            return Ok(Self { root: None });
        }
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
        let folder = open_here(root, flags)?;
        Ok(Self {
            root: Some(folder.into()),
        })
    }

    /// Whether it is that of this process.
    pub(super) fn is_own(&self) -> bool {
        self.root.is_none()
    }

    /// Opens a file to be read. Pipes and devices do not hold this up, and are for the caller to
    /// refuse.
    ///
    /// # Errors
    ///
    /// When it is not there, or may not be read.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        self.open_with(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
    }

    fn open_with(&self, path: &Path, flags: OFlag) -> io::Result<File> {
        let Some(root) = &self.root else {
            return open_here(path, flags);
        };
        let how = OpenHow::new()
            .flags(flags | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT);
        Ok(openat2(root, path, how)?.into())
    }

    /// Reads a text file.
    ///
    /// # Errors
    ///
    /// When it is not there, may not be read, is no regular file, or is too large.
    pub(super) fn read(&self, path: &Path) -> io::Result<String> {
        let file = self.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(io::Error::other("is larger than 1 MiB"));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The names in a folder, in order.
    ///
    /// # Errors
    ///
    /// When it is no folder, or may not be listed.
    pub(super) fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let folder = self.open_with(folder, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
        let entries = fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
        let names = entries
            .take(MAX_ENTRIES)
            .map(|entry| Ok(entry?.file_name()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    /// What lies at a path, behind any link.
    ///
    /// # Errors
    ///
    /// When there is nothing, or it cannot be reached.
    pub(super) fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.open_with(path, OFlag::O_PATH)?.metadata()
    }

    /// Where a link leads, as it stands there.
    ///
    /// # Errors
    ///
    /// When there is no link, or it cannot be read.
    pub(super) fn link(&self, path: &Path) -> io::Result<PathBuf> {
        let link = self.open_with(path, OFlag::O_PATH | OFlag::O_NOFOLLOW)?;
        Ok(readlinkat(&link, "")?.into())
    }
}

fn open_here(path: &Path, flags: OFlag) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn links_stay_below_the_root_of_the_node() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("run/nri")).unwrap();
        fs::create_dir(dir.path().join("var")).unwrap();
        symlink("/run", dir.path().join("var/run")).unwrap();
        fs::write(dir.path().join("run/nri/here"), "yes").unwrap();
        symlink("../../../../etc/passwd", dir.path().join("outside")).unwrap();
        let node = Node::new(dir.path()).unwrap();
        let text = node.read(Path::new("/var/run/nri/here")).unwrap();
        assert_eq!(text, "yes");
        assert_eq!(node.list(Path::new("/var/run/nri")).unwrap(), ["here"]);
        assert_eq!(node.link(Path::new("/var/run")).unwrap(), Path::new("/run"));
        let outside = node.read(Path::new("/outside")).unwrap_err();
        assert_eq!(outside.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_file_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        mkfifo(&dir.path().join("pipe"), Mode::S_IRWXU).unwrap();
        File::create(dir.path().join("huge"))
            .and_then(|file| file.set_len(MAX_FILE + 1))
            .unwrap();
        let node = Node::new(dir.path()).unwrap();
        for name in ["pipe", "huge", "/"] {
            node.read(Path::new(name)).expect_err(name);
        }
        Node::new(&dir.path().join("huge")).unwrap_err();
    }
}
