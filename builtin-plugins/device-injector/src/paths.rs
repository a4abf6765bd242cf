//! Paths that authors of pods write.

use std::fmt;

/// The longest path that Linux takes, in bytes.
const MAX_PATH: usize = 4095;

/// An absolute path that names one place in one way, so that two of them can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clean(String);

impl Clean {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Clean> for String {
    fn from(path: Clean) -> Self {
        path.0
    }
}

/// Why a path cannot be one of a device or mount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("is missing")]
    Missing,
    #[error("{0:?} starts with '-', which would remove something from the container")]
    RemovalMarker(String),
    #[error("expected an absolute path, not {0:?}")]
    Relative(String),
    #[error("{0:?} has \".\" or \"..\" in it")]
    Dots(String),
    #[error("the root of the container cannot be replaced")]
    Root,
    #[error("is no path: it holds NUL, or is longer than {MAX_PATH} bytes")]
    Impossible,
}

/// Checks what all paths must be, on the host and in a container.
pub(crate) fn check_absolute(text: &str) -> Result<(), PathError> {
    if text.is_empty() {
        return Err(PathError::Missing);
    }
    if text.contains('\0') || text.len() > MAX_PATH {
        return Err(PathError::Impossible);
    }
    if !text.starts_with('/') {
        return Err(PathError::Relative(text.to_owned()));
    }
    Ok(())
}

/// Checks a path inside a container. Repeated and trailing slashes are taken away.
pub(crate) fn check_container_path(text: &str) -> Result<Clean, PathError> {
    if text.starts_with('-') {
        return Err(PathError::RemovalMarker(text.to_owned()));
    }
    check_absolute(text)?;
    let mut clean = String::with_capacity(text.len());
    for part in text.split('/').filter(|part| !part.is_empty()) {
        if matches!(part, "." | "..") {
            return Err(PathError::Dots(text.to_owned()));
        }
        clean.push('/');
        clean.push_str(part);
    }
    if clean.is_empty() {
        return Err(PathError::Root);
    }
    Ok(Clean(clean))
}

#[cfg(test)]
mod tests {
    use super::{PathError, check_container_path};

    #[test]
    fn slashes_are_cleaned_up() {
        for text in ["/dev/x", "/dev//x", "/dev/x/", "//dev/x//"] {
            assert_eq!(
                check_container_path(text).unwrap().as_str(),
                "/dev/x",
                "{text}"
            );
        }
    }

    #[test]
    fn other_paths_are_refused() {
        let error = |text: &str| check_container_path(text).unwrap_err();
        assert_eq!(error(""), PathError::Missing);
        assert_eq!(
            error("-/dev/x"),
            PathError::RemovalMarker("-/dev/x".to_owned())
        );
        assert_eq!(error("dev/x"), PathError::Relative("dev/x".to_owned()));
        assert_eq!(error("/dev/../x"), PathError::Dots("/dev/../x".to_owned()));
        assert_eq!(error("/./x"), PathError::Dots("/./x".to_owned()));
        assert_eq!(error("//"), PathError::Root);
        assert_eq!(error("/a\0b"), PathError::Impossible);
        assert_eq!(error(&"/a".repeat(4000)), PathError::Impossible);
    }
}
