//! Reads the entries and fields of an annotation.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use nri_plugin_api::protobuf::Enum;

use super::number;
use super::yaml::Node;
use crate::names;
use crate::problems::{Place, Problems, Reported};

/// The value of one annotation, of the kind that the annotation wants.
#[derive(Debug)]
pub(crate) struct Value<'a> {
    place: Place<'a>,
    node: Node,
}

impl<'a> Value<'a> {
    pub(super) fn new(place: Place<'a>, node: Node) -> Self {
        Self { place, node }
    }

    /// The entries of a list, each with its place.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let nodes = match &self.node {
            Node::List(nodes) => nodes.as_slice(),
            _ => &[],
        };
        nodes.iter().enumerate().map(|(i, node)| Entry {
            place: self.place.entry(i),
            node,
        })
    }

    /// A mapping that is all that there is.
    pub(crate) fn sole(&self) -> Entry<'_> {
        Entry {
            place: self.place,
            node: &self.node,
        }
    }

    /// A mapping whose keys are names that authors choose. A value that is absent is empty.
    pub(crate) fn pairs(&self, problems: &mut Problems) -> Vec<(Place<'_>, &str, &str)> {
        let nodes = match &self.node {
            Node::Map(pairs) => pairs.as_slice(),
            _ => &[],
        };
        let mut pairs = Vec::with_capacity(nodes.len());
        for (name, node) in nodes {
            let place = self.place.field(name);
            match node {
                Node::Null => pairs.push((place, name.as_str(), "")),
                Node::Text(text) => pairs.push((place, name, text)),
                other => {
                    problems.add(place, format_args!("expected a text, not {other}"));
                }
            }
        }
        pairs
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
            if !seen.insert(name.to_ascii_lowercase()) {
                result = Err(problems.add(self.place, format_args!("{name:?} is there twice")));
            } else if !known.iter().any(|field| field.eq_ignore_ascii_case(name)) {
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
        let (_, node) = self
            .fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))?;
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

    /// A whole number within a range.
    pub(crate) fn number<T>(
        &self,
        name: &'a str,
        range: RangeInclusive<T>,
        problems: &mut Problems,
    ) -> Result<Option<T>, Reported>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        let Some(node) = self.get(name) else {
            return Ok(None);
        };
        let number = match node {
            Node::Text(text) => number::parse(text).and_then(|number| number.try_into().ok()),
            _ => None,
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let (least, most) = range.into_inner();
                let what = format_args!("expected a number from {least} to {most}, not {node}");
                Err(problems.add(self.place.field(name), what))
            }
        }
    }

    /// The name of a value of the protocol, which must be there.
    pub(crate) fn named<E: Enum>(
        &self,
        name: &'a str,
        problems: &mut Problems,
    ) -> Result<E, Reported> {
        let place = self.place.field(name);
        let Some(text) = self.text(name, problems)? else {
            let names = names::join(E::VALUES);
            return Err(problems.add(place, format_args!("is missing: expected one of {names}")));
        };
        names::parse(text).map_err(|error| problems.add(place, error))
    }

    /// A list of such names; empty if it is absent.
    pub(crate) fn all_named<E: Enum>(
        &self,
        name: &'a str,
        problems: &mut Problems,
    ) -> Result<Vec<E>, Reported> {
        let mut values = Vec::new();
        let mut result = Ok(());
        for (i, text) in self.texts(name, problems)?.into_iter().enumerate() {
            match names::parse(text) {
                Ok(value) => values.push(value),
                Err(error) => {
                    result = Err(problems.add(self.place.field(name).item(i), error));
                }
            }
        }
        result.map(|()| values)
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
