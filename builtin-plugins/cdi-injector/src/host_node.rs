//! Completes device nodes from those of the host.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nri_node_files::on_host;
use nri_plugin_api::DeviceKind;

use crate::spec::DeviceNode;

/// The permission bits of a mode.
const PERMISSION_BITS: u32 = 0o7777;

/// A device node of which everything is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompleteNode {
    pub(crate) kind: DeviceKind,
    pub(crate) major: i64,
    pub(crate) minor: i64,
    pub(crate) file_mode: Option<u32>,
}

/// Why a node cannot be completed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostNodeError {
    #[error("nothing can be said of {}: {error}", .path.display())]
    Missing { path: PathBuf, error: io::Error },
    #[error("{} is no device node", .0.display())]
    NoDevice(PathBuf),
    #[error("type \"u\" needs its numbers, major and minor: the host does not tell them")]
    NoNumbers,
    #[error("{} is not of type {expected:?}", .path.display())]
    OtherType { path: PathBuf, expected: String },
    #[error("{0:?} is no absolute path on the host")]
    Relative(String),
}

/// Takes from the host's node what the file does not say. Symbolic links are not followed, as in
/// the runtimes. Looked up each time, since devices get other numbers.
///
/// # Errors
///
/// Type and numbers are not all there, and the host has no such node.
pub(crate) fn complete(node: &DeviceNode, host_root: &Path) -> Result<CompleteNode, HostNodeError> {
    let said = DeviceKind::from_letter(&node.kind);
    let enough = said.filter(|kind| node.major != 0 || *kind == DeviceKind::Fifo);
    let found = look_up(node, host_root);
    if let Some(kind) = enough {
        let host_mode = found.ok().map(|(_, metadata)| permissions(&metadata));
        return Ok(CompleteNode {
            kind,
            major: node.major,
            minor: node.minor,
            file_mode: node.file_mode.or(host_mode),
        });
    }
    let (kind, metadata) = found?;
    // The host says "c" of what is "u".
    if node.kind == "u" {
        return Err(HostNodeError::NoNumbers);
    }
    if said.is_some_and(|said| said != kind) {
        return Err(HostNodeError::OtherType {
            path: on_host(host_root, Path::new(node.path_on_host())),
            expected: node.kind.clone(),
        });
    }
    let device = metadata.rdev();
    let (major, minor) = match node.major {
        0 => (libc::major(device).into(), libc::minor(device).into()),
        major => (major, node.minor),
    };
    Ok(CompleteNode {
        kind,
        major,
        minor,
        file_mode: node.file_mode.or(Some(permissions(&metadata))),
    })
}

fn look_up(node: &DeviceNode, host_root: &Path) -> Result<(DeviceKind, Metadata), HostNodeError> {
    let said = Path::new(node.path_on_host());
    if !said.is_absolute() {
        return Err(HostNodeError::Relative(node.path_on_host().to_owned()));
    }
    let path = on_host(host_root, said);
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) => return Err(HostNodeError::Missing { path, error }),
    };
    let kind = match metadata.file_type() {
        file if file.is_char_device() => DeviceKind::Character,
        file if file.is_block_device() => DeviceKind::Block,
        file if file.is_fifo() => DeviceKind::Fifo,
        _ => return Err(HostNodeError::NoDevice(path)),
    };
    Ok((kind, metadata))
}

fn permissions(metadata: &Metadata) -> u32 {
    metadata.mode() & PERMISSION_BITS
}
