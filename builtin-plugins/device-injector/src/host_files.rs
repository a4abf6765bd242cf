//! Looks at the host's files, as pods name them.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use nri_plugin_api::DeviceKind;

/// How many symbolic links a path may lead through, as in the kernel.
const MAX_LINKS: u32 = 40;

/// How many paths are looked at for one glob: far more than a `/dev` has.
const MAX_MATCHES: usize = 65_536;

/// The highest numbers that Linux gives to devices.
pub(crate) const MAX_MAJOR: u32 = (1 << 12) - 1;
pub(crate) const MAX_MINOR: u32 = (1 << 20) - 1;

/// What a device is to the kernel. Its path is only a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeviceNode {
    pub(crate) kind: DeviceKind,
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl DeviceNode {
    fn from_metadata(metadata: &Metadata) -> Option<Self> {
        let kind = match metadata.file_type() {
            file if file.is_char_device() => DeviceKind::Character,
            file if file.is_block_device() => DeviceKind::Block,
            _ => return None,
        };
        let device = metadata.rdev();
        Some(Self {
            kind,
            major: libc::major(device),
            minor: libc::minor(device),
        })
    }
}

impl fmt::Display for DeviceNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{}", self.kind.letter(), self.major, self.minor)
    }
}

/// The host's file system. All paths are those of the host, wherever its root is for this process.
#[derive(Debug)]
pub(crate) struct HostFiles {
    root: PathBuf,
}

impl HostFiles {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where an absolute path of the host is for this process.
    fn here(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The device node that is at this path, or that it leads to.
    pub(crate) fn device_at(&self, path: &Path) -> Option<DeviceNode> {
        let path = self.resolve(path).ok()?;
        let metadata = fs::symlink_metadata(self.here(&path)).ok()?;
        DeviceNode::from_metadata(&metadata)
    }

    /// Follows `..` and symbolic links, as the host would.
    ///
    /// # Errors
    ///
    /// There is nothing at the path, or it leads in circles.
    pub(crate) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut resolved = PathBuf::from("/");
        let mut pending = Vec::new();
        push_components(&mut pending, path);
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if name == ".." {
                resolved.pop();
                continue;
            }
            resolved.push(&name);
            match fs::read_link(self.here(&resolved)) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(io::Error::from_raw_os_error(libc::ELOOP));
                    }
                    resolved.pop();
                    if target.is_absolute() {
                        resolved = PathBuf::from("/");
                    }
                    push_components(&mut pending, &target);
                }
                // It is there, and no link.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                Err(error) => return Err(error),
            }
        }
        Ok(resolved)
    }

    /// The paths that fit a glob. Folders behind symbolic links are not searched by `**`.
    pub(crate) fn matching(&self, pattern: &str) -> impl Iterator<Item = PathBuf> {
        let options = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let root = self.root.to_str().unwrap_or_default();
        let root = Pattern::escape(root.trim_end_matches('/'));
        // The pattern was checked when it was read; folders that cannot be read hold nothing.
        let paths = glob::glob_with(&format!("{root}{pattern}"), options);
        paths
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .take(MAX_MATCHES)
            .filter_map(|path| {
                let path = path.strip_prefix(&self.root).ok()?;
                Some(Path::new("/").join(path))
            })
    }
}

/// Puts the components of a path on top, the first one uppermost.
fn push_components(pending: &mut Vec<OsString>, path: &Path) {
    let components = path.components().rev();
    pending.extend(components.filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::{DeviceNode, HostFiles};
    use nri_plugin_api::DeviceKind;

    fn host() -> (tempfile::TempDir, HostFiles) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("srv/data/inner")).unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/passwd"), "").unwrap();
        let host = HostFiles::new(root.path().to_owned());
        (root, host)
    }

    fn resolved(host: &HostFiles, path: &str) -> PathBuf {
        host.resolve(Path::new(path)).unwrap()
    }

    #[test]
    fn links_and_dots_are_followed_within_the_root_of_the_host() {
        let (root, host) = host();
        let link = |target: &str, at: &str| symlink(target, root.path().join(at)).unwrap();
        link("/etc", "srv/data/absolute");
        link("../../etc", "srv/data/relative");
        link("../../../../../../../../etc", "srv/data/climbing");
        link("relative/passwd", "srv/data/twice");
        for (path, expected) in [
            ("/srv/data", "/srv/data"),
            ("/srv//data/./inner/", "/srv/data/inner"),
            ("/srv/data/../../etc/passwd", "/etc/passwd"),
            ("/../../etc", "/etc"),
            ("/srv/data/absolute/passwd", "/etc/passwd"),
            ("/srv/data/relative", "/etc"),
            ("/srv/data/climbing", "/etc"),
            ("/srv/data/twice", "/etc/passwd"),
            ("/srv/data/absolute/../srv", "/srv"),
        ] {
            assert_eq!(resolved(&host, path), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn what_is_not_there_and_circles_are_errors() {
        let (root, host) = host();
        symlink("circle", root.path().join("circle")).unwrap();
        symlink("/nowhere", root.path().join("dangling")).unwrap();
        let error = |path: &str| host.resolve(Path::new(path)).unwrap_err().raw_os_error();
        assert_eq!(error("/circle"), Some(libc::ELOOP));
        assert_eq!(error("/dangling"), Some(libc::ENOENT));
        assert_eq!(error("/absent/../etc"), Some(libc::ENOENT));
        assert_eq!(error("/etc/passwd/more"), Some(libc::ENOTDIR));
    }

    #[test]
    fn device_nodes_are_told_by_their_numbers() {
        let host = HostFiles::new(PathBuf::from("/"));
        let null = DeviceNode {
            kind: DeviceKind::Character,
            major: 1,
            minor: 3,
        };
        assert_eq!(host.device_at(Path::new("/dev/null")), Some(null));
        assert_eq!(host.device_at(Path::new("/dev/../dev/null")), Some(null));
        assert_eq!(host.device_at(Path::new("/dev")), None);
        assert_eq!(host.device_at(Path::new("/dev/absent")), None);
        assert_eq!(null.to_string(), "c 1:3");
    }

    #[test]
    fn globs_are_looked_up_below_the_root_of_the_host() {
        let (_root, host) = host();
        let mut found: Vec<PathBuf> = host.matching("/*").collect();
        found.sort();
        assert_eq!(found, [Path::new("/etc"), Path::new("/srv")]);
        assert_eq!(host.matching("/s*/*").count(), 1);
        assert_eq!(host.matching("/nothing/*").count(), 0);
    }
}
