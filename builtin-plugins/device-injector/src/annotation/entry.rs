//! Reads the fields of an annotation's entries.

use std::collections::HashSet;

use super::number;
use super::yaml::Node;
use crate::problems::{Place, Problems, Reported};

/// The entries of one annotation.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    place: Place<'a>,
    nodes: Vec<Node>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(place: Place<'a>, nodes: Vec<Node>) -> Self {
        Self { place, nodes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The entries, each with its place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.nodes.iter().enumerate().map(|(i, node)| Entry {
            place: self.place.entry(i),
            node,
        })
    }
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    place: Place<'a>,
    node: &'a Node,
}

impl<'a> Entry<'a> {
    pub(crate) fn place(&self) -> Place<'a> {
        self.place
    }

    /// The entry, which is a text.
    pub(crate) fn text(&self, problems: &mut Problems) -> Result<&'a str, Reported> {
        match self.node {
            Node::Text(text) => Ok(text),
            other => Err(problems.add(self.place, format_args!("expected a name, not {other}"))),
        }
    }

    /// The entry, which is a mapping. Unknown fields are no problem: another injector, or another
    /// version of this one, may know them.
    pub(crate) fn fields(
        &self,
        known: &[&str],
        problems: &mut Problems,
    ) -> Result<Fields<'a>, Reported> {
        let Node::Map(fields) = self.node else {
            let what = format_args!("expected a mapping, not {}", self.node);
            return Err(problems.add(self.place, what));
        };
        let mut seen = HashSet::new();
        let mut result = Ok(());
        for (name, _) in fields {
            if !seen.insert(name.as_str()) {
                result = Err(problems.add(self.place, format_args!("{name:?} is there twice")));
            } else if !known.contains(&name.as_str()) {
                problems.ignore(self.place, format_args!("unknown field {name:?}"));
            }
        }
        result.map(|()| Fields {
            place: self.place,
            fields,
        })
    }
}

/// The fields of an entry. For each of them, `Ok(None)` is a field that is absent or null.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    place: Place<'a>,
    fields: &'a [(String, Node)],
}

impl<'a> Fields<'a> {
    pub(crate) fn place(&self) -> Place<'a> {
        self.place
    }

    fn get(&self, name: &str) -> Option<&'a Node> {
        let (_, node) = self.fields.iter().find(|(field, _)| field == name)?;
        (*node != Node::Null).then_some(node)
    }

    pub(crate) fn text(
        &self,
        name: &'a str,
        problems: &mut Problems,
    ) -> Result<Option<&'a str>, Reported> {
        match self.get(name) {
            None => Ok(None),
            Some(Node::Text(text)) => Ok(Some(text)),
            Some(other) => {
                let what = format_args!("expected a text, not {other}");
                Err(problems.add(self.place.field(name), what))
            }
        }
    }

    /// A whole number from 0 to `max`.
    pub(crate) fn number(
        &self,
        name: &'a str,
        max: u32,
        problems: &mut Problems,
    ) -> Result<Option<u32>, Reported> {
        let Some(node) = self.get(name) else {
            return Ok(None);
        };
        let number = match node {
            Node::Text(text) => number::parse(text).and_then(|number| number.try_into().ok()),
            _ => None,
        };
        match number.filter(|number| *number <= max) {
            Some(number) => Ok(Some(number)),
            None => {
                let what = format_args!("expected a number from 0 to {max}, not {node}");
                Err(problems.add(self.place.field(name), what))
            }
        }
    }

    /// A list of texts; empty if it is absent.
    pub(crate) fn texts(
        &self,
        name: &'a str,
        problems: &mut Problems,
    ) -> Result<Vec<&'a str>, Reported> {
        let items = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Node::List(items)) => items,
            Some(other) => {
                let what = format_args!("expected a list, not {other}");
                return Err(problems.add(self.place.field(name), what));
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        let mut result = Ok(());
        for (i, item) in items.iter().enumerate() {
            match item {
                Node::Text(text) => texts.push(text.as_str()),
                other => {
                    let place = self.place.field(name).item(i);
                    result = Err(problems.add(place, format_args!("expected a text, not {other}")));
                }
            }
        }
        result.map(|()| texts)
    }
}
