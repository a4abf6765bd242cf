//! Reads the keys of one table, noting each mistake and going on.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::duration;
use super::mistake::{Mistake, Problem, Scope};
use super::node::{Node, NodeValue, Table};
use super::origin::Location;
use super::similar::nearest;

/// A table whose keys are being read. Each getter returns `None` when the key is absent, and when
/// its value is wrong; then there is a mistake as well.
pub(super) struct Reader<'a> {
    table: &'a Table,
    /// What stands before each key in a mistake: empty, or the path to the table with a dot.
    prefix: String,
    location: &'a Location,
    scope: Scope,
    mistakes: &'a mut Vec<Mistake>,
}

impl<'a> Reader<'a> {
    /// Starts with a table that may have the `known` keys only. `None`: it is not a table.
    pub(super) fn new(
        node: &'a Node,
        name: &str,
        known: &[&'static str],
        scope: Scope,
        mistakes: &'a mut Vec<Mistake>,
    ) -> Option<Self> {
        let Some(table) = node.as_table() else {
            mistakes.push(Mistake {
                scope,
                location: node.location.clone(),
                key: name.to_owned(),
                problem: Problem::WrongType {
                    expected: "a table",
                    found: node.value.kind(),
                },
            });
            return None;
        };
        let mut reader = Self {
            table,
            prefix: String::new(),
            location: &node.location,
            scope,
            mistakes,
        };
        reader.note_unknown(known);
        Some(reader)
    }

    /// Reads a table within this one that may have the `known` keys only.
    pub(super) fn inner(&mut self, key: &str, known: &[&'static str]) -> Option<Reader<'_>> {
        let table = self.table(key)?;
        let mut reader = Reader {
            table,
            prefix: format!("{}{key}.", self.prefix),
            location: self.location,
            scope: self.scope.clone(),
            mistakes: self.mistakes,
        };
        reader.note_unknown(known);
        Some(reader)
    }

    fn note_unknown(&mut self, known: &[&'static str]) {
        for (key, value) in self.table {
            if !known.contains(&key.as_str()) {
                let problem = Problem::UnknownKey {
                    known: known.to_vec(),
                    nearest: nearest(key, known.iter().copied()),
                };
                self.note(&value.location, key, problem);
            }
        }
    }

    /// Adds a mistake about a value of this table.
    pub(super) fn note(&mut self, location: &Location, key: &str, problem: Problem) {
        self.mistakes.push(Mistake {
            scope: self.scope.clone(),
            location: location.clone(),
            key: format!("{}{key}", self.prefix),
            problem,
        });
    }

    /// Adds the mistake that a key is missing.
    pub(super) fn note_missing(&mut self, key: &str, problem: Problem) {
        let location = self.location.clone();
        self.note(&location, key, problem);
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.table.get(key)
    }

    pub(super) fn string(&mut self, key: &str, expected: &'static str) -> Option<&'a str> {
        let node = self.get(key)?;
        self.string_at(node, key, expected)
    }

    pub(super) fn boolean(&mut self, key: &str) -> Option<bool> {
        let node = self.get(key)?;
        match &node.value {
            NodeValue::Boolean(value) => Some(*value),
            other => self.wrong_type(node, key, "true or false", other.kind()),
        }
    }

    fn integer(&mut self, key: &str, expected: &'static str) -> Option<i64> {
        let node = self.get(key)?;
        match &node.value {
            NodeValue::Integer(Some(value)) => Some(*value),
            NodeValue::Integer(None) => {
                self.wrong_type(node, key, expected, "an integer of more than 64 bits")
            }
            other => self.wrong_type(node, key, expected, other.kind()),
        }
    }

    /// An integer of this range, which `expected` puts into words.
    pub(super) fn number<T: TryFrom<i64> + PartialOrd>(
        &mut self,
        key: &str,
        range: RangeInclusive<T>,
        expected: &'static str,
    ) -> Option<T> {
        let found = self.integer(key, expected)?;
        let number = T::try_from(found)
            .ok()
            .filter(|number| range.contains(number));
        self.accept(key, number.ok_or(Problem::NumberRange { found, expected }))
    }

    pub(super) fn duration(&mut self, key: &str) -> Option<Duration> {
        let text = self.string(key, "a duration in quotes, such as \"500ms\" or \"2s\"")?;
        self.accept(key, duration::parse(text))
    }

    pub(super) fn socket_address(&mut self, key: &str) -> Option<SocketAddr> {
        let text = self.string(key, "an address and a port in quotes")?;
        let found = || Problem::BadSocketAddress {
            found: text.to_owned(),
        };
        self.accept(key, text.parse().map_err(|_| found()))
    }

    pub(super) fn table(&mut self, key: &str) -> Option<&'a Table> {
        let node = self.get(key)?;
        match &node.value {
            NodeValue::Table(table) => Some(table),
            other => self.wrong_type(node, key, "a table", other.kind()),
        }
    }

    /// One of a few words; each has the meaning at the same place.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &str,
        words: &'static [&'static str],
        meanings: &[T],
    ) -> Option<T> {
        let text = self.string(key, "a string")?;
        let found = words
            .iter()
            .zip(meanings)
            .find(|(word, _)| **word == text)
            .map(|(_, meaning)| *meaning);
        let problem = || Problem::UnknownWord {
            found: text.to_owned(),
            expected: words,
            nearest: nearest(text, words.iter().copied()),
        };
        self.accept(key, found.ok_or_else(problem))
    }

    /// A path that does not depend on where the daemon was started.
    pub(super) fn absolute_path(&mut self, key: &str) -> Option<PathBuf> {
        let node = self.get(key)?;
        let text = self.string_at(node, key, ABSOLUTE)?;
        self.absolute_at(node, key, text)
    }

    /// Several of them.
    pub(super) fn absolute_paths(&mut self, key: &str) -> Option<Vec<PathBuf>> {
        self.items(key, "an array of absolute paths", |reader, item, key| {
            let text = reader.string_at(item, key, ABSOLUTE)?;
            reader.absolute_at(item, key, text)
        })
    }

    /// Several strings, none of them empty.
    pub(super) fn strings(&mut self, key: &str, expected: &'static str) -> Option<Vec<String>> {
        self.items(key, expected, |reader, item, key| {
            let text = reader.string_at(item, key, "a string")?;
            if text.is_empty() {
                reader.note(&item.location, key, Problem::Empty { expected: "a name" });
                return None;
            }
            Some(text.to_owned())
        })
    }

    /// Turns what is wrong with the value of a key into a mistake.
    pub(super) fn accept<T>(&mut self, key: &str, result: Result<T, Problem>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problem) => {
                let location = self.get(key).map_or(self.location, |node| &node.location);
                self.note(&location.clone(), key, problem);
                None
            }
        }
    }

    fn items<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        mut read: impl FnMut(&mut Self, &'a Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let node = self.get(key)?;
        let NodeValue::Array(items) = &node.value else {
            return self.wrong_type(node, key, expected, node.value.kind());
        };
        let read: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(at, item)| read(self, item, &format!("{key}[{at}]")))
            .collect();
        read.into_iter().collect()
    }

    fn string_at(&mut self, node: &'a Node, key: &str, expected: &'static str) -> Option<&'a str> {
        match &node.value {
            NodeValue::String(text) => Some(text),
            other => self.wrong_type(node, key, expected, other.kind()),
        }
    }

    fn absolute_at(&mut self, node: &Node, key: &str, text: &str) -> Option<PathBuf> {
        let path = Path::new(text);
        let problem = if text.is_empty() {
            Problem::Empty { expected: ABSOLUTE }
        } else if path.is_relative() {
            Problem::RelativePath {
                found: path.to_owned(),
                expected: ABSOLUTE,
            }
        } else {
            return Some(path.to_owned());
        };
        self.note(&node.location, key, problem);
        None
    }

    fn wrong_type<T>(
        &mut self,
        node: &Node,
        key: &str,
        expected: &'static str,
        found: &'static str,
    ) -> Option<T> {
        self.note(&node.location, key, Problem::WrongType { expected, found });
        None
    }
}

const ABSOLUTE: &str = "an absolute path";
