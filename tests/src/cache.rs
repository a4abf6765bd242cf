//! What takes long to make and is kept across runs, in `NRI_HOST_CACHE`, else in `.cache` of the
//! workspace. Parallel test processes wait for each other there by file locks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folder that keeps what is made, across runs.
pub const CACHE_ENV: &str = "NRI_HOST_CACHE";

/// The folder that holds everything that is kept across runs.
#[must_use]
pub fn dir() -> PathBuf {
    std::env::var_os(CACHE_ENV).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(".cache"),
        PathBuf::from,
    )
}

/// Makes a folder of the cache, unless it is there already, and returns its path. `make` fills a
/// folder that becomes it when all went well.
///
/// # Errors
///
/// Those of `make`, or the file operation that failed.
pub fn once(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let target = dir().join(name);
    let _lock = lock(name)?;
    if target.is_dir() {
        return Ok(target);
    }
    let partial = dir().join(format!("{name}.partial"));
    remove_dir(&partial)?;
    fs::create_dir_all(&partial)?;
    make(&partial)?;
    fs::rename(&partial, &target).with_context(|| format!("completing {}", target.display()))?;
    Ok(target)
}

/// Keeps other processes from what is called so until the file is dropped.
pub(crate) fn lock(name: &str) -> Result<File> {
    let path = dir().join(format!("{}.lock", name.replace('/', "-")));
    fs::create_dir_all(dir())?;
    let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    file.lock()
        .with_context(|| format!("locking {}", path.display()))?;
    Ok(file)
}

fn remove_dir(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            bail!("removing {}: {error}", path.display())
        }
        _ => Ok(()),
    }
}
