//! Finds the file of a component's library.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::mistake::Problem;

/// What `library` may be.
pub(super) const EXPECTED: &str =
    "an absolute path, or a bare file name that is looked for in component_dirs";

/// Whether `library` has the form of one or the other.
pub(super) fn check(library: &str) -> Result<(), Problem> {
    if library.is_empty() {
        return Err(Problem::Empty { expected: EXPECTED });
    }
    if is_bare(library) || Path::new(library).is_absolute() {
        return Ok(());
    }
    Err(Problem::RelativePath {
        found: library.into(),
        expected: EXPECTED,
    })
}

/// Finds a `library` of the right form: at its absolute path, or in the first of `dirs` that has
/// it.
pub(super) fn find(library: &str, dirs: &[PathBuf]) -> Result<PathBuf, Problem> {
    if !is_bare(library) {
        let path = PathBuf::from(library);
        return match fs::metadata(&path) {
            Ok(_) => Ok(path),
            Err(source) => Err(unreachable_at(path, source)),
        };
    }
    let looked_for: Vec<_> = dirs.iter().map(|dir| dir.join(library)).collect();
    for path in &looked_for {
        match fs::metadata(path) {
            Ok(_) => return Ok(path.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(unreachable_at(path.clone(), source)),
        }
    }
    Err(Problem::LibraryNotFound {
        library: library.to_owned(),
        looked_for,
    })
}

fn is_bare(library: &str) -> bool {
    !library.contains('/')
}

fn unreachable_at(library: PathBuf, source: io::Error) -> Problem {
    Problem::LibraryUnreachable {
        library,
        source: source.into(),
    }
}
