//! Finds and reads the files of a configuration.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::OFlag;

use super::mistake::Problem;

/// The folder beside the main file in which drop-ins are looked for.
const DROP_IN_DIR: &str = "conf.d";

/// The largest file that is read, in bytes. Configurations have a few KiB.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The drop-ins of a main file, in name order.
///
/// Names that begin with a dot are left out: editors and package managers put unfinished files
/// there. No folder means no drop-ins.
pub(super) fn drop_ins(main: &Path) -> Result<Vec<Arc<Path>>, Unlisted> {
    let dir = main.with_file_name(DROP_IN_DIR);
    let unlisted = |source: io::Error| Unlisted {
        dir: dir.as_path().into(),
        problem: Problem::Unreadable(source.into()),
    };
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unlisted)?,
    };
    let mut names = entries
        .map(|entry| entry.map(|entry| PathBuf::from(entry.file_name())))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unlisted)?;
    names.retain(|name| is_drop_in(name));
    names.sort();
    Ok(names.iter().map(|name| dir.join(name).into()).collect())
}

/// The folder of drop-ins is there but cannot be listed.
pub(super) struct Unlisted {
    pub(super) dir: Arc<Path>,
    pub(super) problem: Problem,
}

/// Reads a whole file as text. Anything else in its place, such as a pipe or a device, is not read:
/// that could block, or never end.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    let unreadable = |error: io::Error| Problem::Unreadable(error.into());
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path)
        .map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(Problem::NotRegular);
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_SIZE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_SIZE {
        return Err(Problem::TooLarge {
            limit: MAX_FILE_SIZE,
        });
    }
    String::from_utf8(bytes).map_err(|error| Problem::NotText {
        valid_up_to: error.utf8_error().valid_up_to(),
    })
}

fn is_drop_in(name: &Path) -> bool {
    name.extension()
        .is_some_and(|extension| extension == "toml")
        && !name.as_os_str().as_encoded_bytes().starts_with(b".")
}
