//! Where in the files a key was written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, as the host was told to find it.
    pub file: Arc<Path>,
    /// The line, counted from 1; `None` when the file as a whole is meant.
    pub line: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

/// The places of a key and of everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub(super) location: Location,
    pub(super) children: Children,
}

/// What lies below a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Children {
    None,
    Items(Vec<Origin>),
    Keys(BTreeMap<String, Origin>),
}

impl Origin {
    /// A place with nothing known below it.
    pub fn at(location: Location) -> Self {
        Self {
            location,
            children: Children::None,
        }
    }

    /// Where this key was written.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The key of this name directly below this one, if it was written.
    pub(super) fn key(&self, name: &str) -> Option<&Self> {
        match &self.children {
            Children::Keys(keys) => keys.get(name),
            _ => None,
        }
    }

    /// Whether this file, or one in this folder, has a part in it.
    pub fn is_from(&self, file: &Path) -> bool {
        let mut children: Box<dyn Iterator<Item = &Self>> = match &self.children {
            Children::None => Box::new(std::iter::empty()),
            Children::Items(items) => Box::new(items.iter()),
            Children::Keys(keys) => Box::new(keys.values()),
        };
        self.location.file.starts_with(file) || children.any(|child| child.is_from(file))
    }

    /// The place of the key at `path` below this one, or of its nearest ancestor that was written.
    ///
    /// Keys are looked up as they stand, longest first, so that one with a dot in it is found.
    pub fn find(&self, path: &str) -> &Location {
        match self.child(path) {
            Some((child, rest)) => child.find(rest),
            None => &self.location,
        }
    }

    fn child<'p>(&self, path: &'p str) -> Option<(&Self, &'p str)> {
        match &self.children {
            Children::None => None,
            Children::Items(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(index.parse::<usize>().ok()?)?, rest))
            }
            Children::Keys(keys) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                keys.iter()
                    .filter_map(|(key, child)| Some((key, child, path.strip_prefix(key.as_str())?)))
                    .filter(|(_, _, rest)| rest.is_empty() || rest.starts_with(['.', '[']))
                    .max_by_key(|(key, _, _)| key.len())
                    .map(|(_, child, rest)| (child, rest))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, children: Children) -> Origin {
        Origin {
            location: Location {
                file: Path::new("a.toml").into(),
                line: Some(line),
            },
            children,
        }
    }

    fn keys(of: impl IntoIterator<Item = (&'static str, Origin)>) -> Children {
        Children::Keys(of.into_iter().map(|(k, o)| (k.to_owned(), o)).collect())
    }

    #[test]
    fn a_key_or_its_nearest_written_ancestor_is_found() {
        let origin = at(
            1,
            keys([
                (
                    "allow",
                    at(
                        2,
                        Children::Items(vec![at(3, keys([("path", at(4, Children::None))]))]),
                    ),
                ),
                ("a.b/c", at(5, keys([("d", at(6, Children::None))]))),
                ("a", at(7, Children::None)),
            ]),
        );
        for (path, line) in [
            ("", 1),
            ("allow", 2),
            ("allow[0]", 3),
            ("allow[0].path", 4),
            ("allow[0].mode", 3),
            ("allow[1].path", 2),
            ("allow[99999999999999999999]", 2),
            ("allow[", 2),
            ("allowed", 1),
            ("a.b/c.d", 6),
            ("a.b/c", 5),
            ("a.x", 7),
            ("nothing", 1),
            ("?", 1),
        ] {
            assert_eq!(origin.find(path).line, Some(line), "{path:?}");
        }
    }

    #[test]
    fn a_location_reads_as_file_and_line() {
        let mut location = at(12, Children::None).location;
        assert_eq!(location.to_string(), "a.toml:12");
        location.line = None;
        assert_eq!(location.to_string(), "a.toml");
    }
}
