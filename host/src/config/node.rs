//! TOML as written, each value with the line it stands on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::de::{DeArray, DeTable, DeValue};

use super::origin::{Children, Location, Origin};

/// A value and where it was written: the line of its key, or its own in an array.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) location: Location,
    pub(super) value: NodeValue,
}

/// The keys of a table.
pub(super) type Table = BTreeMap<String, Node>;

#[derive(Clone)]
pub(super) enum NodeValue {
    String(String),
    /// `None`: more than the 64 bits that TOML has.
    Integer(Option<i64>),
    Float(f64),
    Boolean(bool),
    /// As written.
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

impl NodeValue {
    /// The name of its type, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Boolean(_) => "a boolean",
            Self::Datetime(_) => "a date or time",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    pub(super) fn as_table(&self) -> Option<&Table> {
        match &self.value {
            NodeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The string under this key of a table.
    pub(super) fn string(&self, key: &str) -> Option<&str> {
        match &self.as_table()?.get(key)?.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Puts `other` over this: tables are merged key by key, anything else is replaced.
    pub(super) fn merge(&mut self, other: Self) {
        match (&mut self.value, other.value) {
            (NodeValue::Table(mine), NodeValue::Table(theirs)) => {
                for (key, node) in theirs {
                    match mine.get_mut(&key) {
                        Some(old) => old.merge(node),
                        None => {
                            mine.insert(key, node);
                        }
                    }
                }
            }
            (_, value) => {
                *self = Self {
                    location: other.location,
                    value,
                };
            }
        }
    }

    /// The places of this value and all below it, without the values.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            location: self.location.clone(),
            children: match &self.value {
                NodeValue::Array(items) => {
                    Children::Items(items.iter().map(Self::origin).collect())
                }
                NodeValue::Table(table) => Children::Keys(
                    table
                        .iter()
                        .map(|(key, node)| (key.clone(), node.origin()))
                        .collect(),
                ),
                _ => Children::None,
            },
        }
    }
}

/// An error of the TOML parser. Its own `Display` would quote the line, and with it perhaps a
/// password.
pub(super) struct SyntaxError {
    pub(super) location: Location,
    /// The character of the line, counted from 1.
    pub(super) column: usize,
    pub(super) message: String,
}

/// Reads TOML text. With errors, the table holds what could be understood in spite of them.
pub(super) fn parse(file: &Arc<Path>, text: &str) -> (Node, Vec<SyntaxError>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let lines = Lines::of(file, text);
    let errors = errors
        .into_iter()
        .map(|error| {
            let span = error.span().unwrap_or_default();
            let before = &text[..text.floor_char_boundary(span.start)];
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            SyntaxError {
                column: before[line_start..].chars().count() + 1,
                location: lines.locate(span),
                message: error.message().to_owned(),
            }
        })
        .collect();
    let root = Node {
        location: Location {
            file: Arc::clone(file),
            line: None,
        },
        value: NodeValue::Table(lines.table(root.into_inner())),
    };
    (root, errors)
}

/// Knows on which line of a file a byte is.
struct Lines<'a> {
    file: &'a Arc<Path>,
    /// Offset of the first byte of each line but the first.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(file: &'a Arc<Path>, text: &str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { file, starts }
    }

    fn locate(&self, span: Range<usize>) -> Location {
        Location {
            file: Arc::clone(self.file),
            line: Some(self.starts.partition_point(|start| *start <= span.start) + 1),
        }
    }

    fn table(&self, table: DeTable<'_>) -> Table {
        table
            .into_iter()
            .map(|(key, value)| {
                let node = Node {
                    location: self.locate(key.span()),
                    value: self.value(value.into_inner()),
                };
                (key.into_inner().into_owned(), node)
            })
            .collect()
    }

    fn array(&self, array: DeArray<'_>) -> Vec<Node> {
        array
            .into_iter()
            .map(|item| Node {
                location: self.locate(item.span()),
                value: self.value(item.into_inner()),
            })
            .collect()
    }

    fn value(&self, value: DeValue<'_>) -> NodeValue {
        match value {
            DeValue::String(text) => NodeValue::String(text.into_owned()),
            DeValue::Integer(number) => {
                NodeValue::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok())
            }
            // The parser has checked the form; what does not fit becomes infinite.
            DeValue::Float(number) => NodeValue::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(value) => NodeValue::Boolean(value),
            DeValue::Datetime(value) => NodeValue::Datetime(value.to_string()),
            DeValue::Array(array) => NodeValue::Array(self.array(array)),
            DeValue::Table(table) => NodeValue::Table(self.table(table)),
        }
    }
}
