//! Which folders are watched, and what there is news.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

/// What is watched for above a folder that is not there, or cannot be entered: that it comes, or is
/// opened.
const ARRIVALS: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_ATTRIB)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF)
    .union(AddWatchFlags::IN_ONLYDIR)
    // A folder can be one of those to be watched and above another one.
    .union(AddWatchFlags::from_bits_retain(libc::IN_MASK_ADD));

/// What can make a file in a folder another one.
const CHANGES: AddWatchFlags = ARRIVALS
    .union(AddWatchFlags::IN_MODIFY)
    .union(AddWatchFlags::IN_CLOSE_WRITE)
    .union(AddWatchFlags::IN_MOVED_FROM)
    .union(AddWatchFlags::IN_DELETE);

/// Watches on all folders, or on what is nearest to those that are missing.
#[derive(Debug)]
pub(crate) struct Watches {
    inotify: Inotify,
    /// Everything that happens there counts.
    folders: HashSet<WatchDescriptor>,
    /// There only this name counts.
    awaited: HashSet<(WatchDescriptor, OsString)>,
}

impl Watches {
    /// Watches folders that may be there or not.
    ///
    /// # Errors
    ///
    /// The system has no watches left.
    pub(crate) fn new(folders: &[PathBuf]) -> nix::Result<Self> {
        let mut watches = Self {
            inotify: Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?,
            folders: HashSet::new(),
            awaited: HashSet::new(),
        };
        for folder in folders {
            watches.add(folder)?;
        }
        Ok(watches)
    }

    /// Watches a folder, or the nearest one above it that is there.
    fn add(&mut self, folder: &Path) -> nix::Result<()> {
        /// A folder that is there and cannot be watched must not keep the thread here.
        const MAX_ATTEMPTS: u32 = 8;
        for _ in 0..MAX_ATTEMPTS {
            // What came before its folder was watched for was not seen.
            match self.add_nearest(folder)? {
                Some(missing) if missing.exists() => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// Returns what was not there, nearest to the folder that is watched.
    fn add_nearest<'a>(&mut self, folder: &'a Path) -> nix::Result<Option<&'a Path>> {
        let mut missing: Option<&Path> = None;
        for nearest in folder.ancestors() {
            let name = missing.and_then(Path::file_name);
            let mask = if name.is_some() { ARRIVALS } else { CHANGES };
            match self.inotify.add_watch(nearest, mask) {
                Ok(watch) => {
                    match name {
                        None => self.folders.insert(watch),
                        Some(name) => self.awaited.insert((watch, name.to_owned())),
                    };
                    return Ok(missing);
                }
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES) => missing = Some(nearest),
                Err(errno) => return Err(errno),
            }
        }
        Ok(missing)
    }

    /// Takes all events there are, and says whether one of them matters.
    pub(crate) fn has_news(&self) -> bool {
        let mut has_news = false;
        loop {
            match self.inotify.read_events() {
                Ok(events) => has_news |= events.iter().any(|event| self.is_news(event)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return has_news,
                Err(_) => return true,
            }
        }
    }

    fn is_news(&self, event: &InotifyEvent) -> bool {
        match &event.name {
            Some(name) if !self.folders.contains(&event.wd) => {
                self.awaited.contains(&(event.wd, name.clone()))
            }
            // Something in a folder, the folder itself, or more than the kernel can tell.
            _ => true,
        }
    }
}

impl AsFd for Watches {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Watches;

    #[test]
    fn only_what_concerns_the_folders_is_news() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("there/deeper")).unwrap();
        let folders = [at("there"), at("there/deeper/absent/below")];
        let watches = Watches::new(&folders).unwrap();
        assert!(!watches.has_news());
        for (path, is_news) in [
            ("there/file", true),
            ("beside", false),
            ("there/deeper/other", false),
            ("there/deeper/absent", true),
        ] {
            fs::create_dir(at(path)).unwrap();
            assert_eq!(watches.has_news(), is_news, "{path}");
        }
        assert!(!watches.has_news());
        let watches = Watches::new(&folders).unwrap();
        fs::remove_dir(at("there/deeper/absent")).unwrap();
        assert!(watches.has_news());
    }
}
