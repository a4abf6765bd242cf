//! What can be wrong in the configuration, and how an admin is told.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::origin::Location;

/// One mistake in the configuration.
///
/// It is shown as `FILE:LINE: KEY: what is wrong`. Values below `[component.config]` never appear
/// in it: they may be secrets.
#[derive(Clone, Debug)]
pub struct Mistake {
    /// What cannot be used because of it.
    pub scope: Scope,
    /// Where it was made.
    pub location: Location,
    /// The key, as in `socket` or `config.allow_devices[0]`; empty when a whole table or file is
    /// meant.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
}

/// The whole line, with the causes that the operating system gave.
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.location, &self.scope, &self.key)?;
        write!(f, "{}", self.problem)?;
        let mut cause = self.problem.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// Something that works but is probably not meant.
#[derive(Clone, Debug)]
pub struct Warning {
    /// What it is about.
    pub scope: Scope,
    /// Where it was written.
    pub location: Location,
    /// The key; empty when a whole table is meant.
    pub key: String,
    /// What is odd.
    pub oddity: Oddity,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.location, &self.scope, &self.key)?;
        write!(f, "{}", self.oddity)
    }
}

fn write_place(
    f: &mut fmt::Formatter<'_>,
    location: &Location,
    scope: &Scope,
    key: &str,
) -> fmt::Result {
    write!(f, "{location}: ")?;
    if let Scope::Component(Some(name)) = scope {
        write!(f, "component {name:?}: ")?;
    }
    if !key.is_empty() {
        write!(f, "{}: ", key.escape_debug())?;
    }
    Ok(())
}

/// What a mistake makes unusable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The daemon: the main file cannot be read, or `[runtime]` or `[host]` is wrong.
    Host,
    /// One component, by its name if it has a readable one.
    Component(Option<String>),
    /// This drop-in, as far as it is not about a component that can be named.
    DropIn(Arc<Path>),
}

/// A component that cannot be run because of mistakes in its configuration.
#[derive(Clone, Debug)]
pub struct BrokenComponent {
    /// Its name, if it has a readable one. For a drop-in of which nothing could be read, `None`.
    pub name: Option<String>,
    /// Its index, if it has a valid one.
    pub index: Option<u8>,
    /// Whether the host is not ready without it.
    pub required: bool,
    /// What is wrong with it; at least one.
    pub mistakes: Vec<Mistake>,
}

impl BrokenComponent {
    /// What is wrong with it, in one line.
    pub fn reason(&self) -> String {
        let mistakes: Vec<String> = self.mistakes.iter().map(ToString::to_string).collect();
        mistakes.join("; ")
    }
}

/// What is wrong at one place.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file, or the folder of drop-ins, could not be read.
    #[error("cannot be read")]
    Unreadable(#[source] Arc<io::Error>),
    /// It is a folder, a pipe, a device or a socket.
    #[error("is not a regular file")]
    NotRegular,
    /// The file is larger than any sensible configuration.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// The file is not UTF-8 text.
    #[error("is not UTF-8 text from byte {valid_up_to} on")]
    NotText {
        /// How many bytes at its beginning are.
        valid_up_to: usize,
    },
    /// The text is not TOML.
    #[error("is not valid TOML (column {column}): {message}")]
    Syntax {
        /// The character of the line, counted from 1.
        column: usize,
        /// What the parser says, without the text of the line.
        message: String,
    },
    /// There is no such key here.
    #[error("unknown key{}", instead(.known, *.nearest))]
    UnknownKey {
        /// The keys that are.
        known: Vec<&'static str>,
        /// The known key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A drop-in holds a table that only the main file may hold.
    #[error("belongs in the main file: a drop-in holds nothing but [[component]] tables")]
    NotInDropIn,
    /// A key that must be there is not.
    #[error("is missing (expected {expected})")]
    Missing {
        /// What it should hold.
        expected: &'static str,
    },
    /// A drop-in changes a component that nothing defines.
    #[error(
        "is missing (expected {expected}); no other file defines a component of this name{}",
        hint(.nearest.as_deref())
    )]
    NothingToChange {
        /// What it should hold.
        expected: &'static str,
        /// The component that was probably meant.
        nearest: Option<String>,
    },
    /// A drop-in changes one of several components that share a name.
    #[error("{} components have this name ({}): give the index of one of them", .at.len(), list(.at))]
    Ambiguous {
        /// Where they are defined.
        at: Vec<Location>,
    },
    /// The value has another type.
    #[error("wrong type: found {found} (expected {expected})")]
    WrongType {
        /// What it should hold.
        expected: &'static str,
        /// What it holds.
        found: &'static str,
    },
    /// The name has no characters, or others than the runtime allows.
    #[error("{found:?} is no name for a component (expected one or more of A-Z a-z 0-9 _ . + -)")]
    BadName {
        /// What was found.
        found: String,
    },
    /// The number is too small or too large.
    #[error("{found} is out of range (expected {expected})")]
    NumberRange {
        /// What was found.
        found: i64,
        /// What it may be.
        expected: &'static str,
    },
    /// The text is not a duration.
    #[error(
        "{found:?} is not a duration (expected a whole number and a unit, such as \"500ms\", \"2s\" or \"1m\")"
    )]
    BadDuration {
        /// What was found.
        found: String,
    },
    /// The text is not an address with a port.
    #[error(
        "{found:?} is not an IP address and a port (expected for example \"127.0.0.1:9411\" or \"[::1]:9411\")"
    )]
    BadSocketAddress {
        /// What was found.
        found: String,
    },
    /// The duration is too short or too long to be meant.
    #[error("{found:?} is out of range (expected 1ms to 1h)")]
    DurationRange {
        /// What was found.
        found: String,
    },
    /// The text is not one of a few words.
    #[error("{found:?} is not known here (expected one of {}){}", .expected.join(", "), hint(.nearest.as_deref()))]
    UnknownWord {
        /// What was found.
        found: String,
        /// The words that are known.
        expected: &'static [&'static str],
        /// The word that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A text that must say something is empty.
    #[error("is empty (expected {expected})")]
    Empty {
        /// What it should hold.
        expected: &'static str,
    },
    /// A path would depend on where the daemon was started.
    #[error("{} is a relative path (expected {expected})", .found.display())]
    RelativePath {
        /// What was found.
        found: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// The path is longer than the address of a Unix socket can be.
    #[error("is {len} bytes long; the path of a socket has at most {limit}")]
    SocketPathTooLong {
        /// The length in bytes.
        len: usize,
        /// The longest that the kernel takes, in bytes.
        limit: usize,
    },
    /// The library is in none of the folders.
    #[error("{library:?} is in none of the component_dirs (looked for {})", paths(.looked_for))]
    LibraryNotFound {
        /// The name as written.
        library: String,
        /// Each path that was tried.
        looked_for: Vec<PathBuf>,
    },
    /// The library is not where its path says, or cannot be reached.
    #[error("{} cannot be reached", .library.display())]
    LibraryUnreachable {
        /// The path.
        library: PathBuf,
        /// Why.
        source: Arc<io::Error>,
    },
    /// Two components would be one plugin to the runtime.
    #[error("{plugin} is already defined at {first}: index and name together must be unique")]
    DuplicatePlugin {
        /// Index and name.
        plugin: String,
        /// The component that keeps them.
        first: Location,
    },
    /// This version cannot run components in processes of their own.
    #[error("\"process\" is not available in this version (expected \"in-process\")")]
    ProcessIsolation,
    /// The value has no counterpart in JSON, as which a component gets its configuration.
    #[error("{what} cannot be handed to a component (expected {expected})")]
    NotJson {
        /// What was found.
        what: &'static str,
        /// What can be.
        expected: &'static str,
    },
}

/// What is odd at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// Two components share an index.
    SameIndex {
        /// The index.
        index: u8,
        /// The earlier component.
        other: String,
        /// Where the earlier component is defined.
        at: Location,
    },
    /// A drop-in puts another library under a name that an earlier file gave to one. Two vendors
    /// that chose the same name look like this, and one of them is not run.
    LibraryReplaced {
        /// Where the earlier library is named.
        at: Location,
    },
    /// A component is switched off, and nothing defines it.
    NothingToDisable,
    /// No component is configured.
    NoComponents,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameIndex { index, other, at } => write!(
                f,
                "{index} is also the index of component {other:?} ({at}): the runtime may ask \
                 either of them first"
            ),
            Self::LibraryReplaced { at } => write!(
                f,
                "takes the place of the library named at {at}: that one is not run under this name"
            ),
            Self::NothingToDisable => f.write_str("switches off a component that no file defines"),
            Self::NoComponents => f.write_str("no component is configured"),
        }
    }
}

fn instead(known: &[&str], nearest: Option<&str>) -> String {
    match nearest {
        Some(_) => hint(nearest),
        None => format!(" (expected one of {})", known.join(", ")),
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean {nearest:?}?")
    })
}

fn list(locations: &[Location]) -> String {
    join(locations.iter().map(Location::to_string))
}

fn paths(paths: &[PathBuf]) -> String {
    join(paths.iter().map(|path| path.display().to_string()))
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
