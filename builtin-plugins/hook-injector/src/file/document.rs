//! A JSON document whose values know their lines, and which collects what is wrong with them.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::pattern::{LargeLeft, Pattern};

/// How many mistakes of one file are told.
pub(super) const MAX_MISTAKES: usize = 16;

/// How long the text of a mistake may be, in bytes: it quotes the file.
const MAX_TEXT: usize = 320;

/// More fields than a hook file can need; telling them apart takes the square of their number.
const MAX_FIELDS: usize = 256;

/// How many texts a list may have.
const MAX_ITEMS: usize = 1024;

/// How many patterns a field may have, since each takes memory.
pub(super) const MAX_PATTERNS: usize = 64;

/// How many patterns of a file may be large.
const MAX_LARGE_PATTERNS: u32 = 4;

/// Something wrong in a hook file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Which field, and what is wrong.
    pub(crate) text: String,
}

/// What is wrong is among the mistakes of the document already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Noted;

/// An object of the document. Fields are found whatever the case of their letters; of several
/// with the same name the last one counts, and `null` counts as absent.
#[derive(Debug)]
pub(super) struct Object<'a> {
    /// Where it is in the document: empty for the document itself, else ends with a dot.
    path: String,
    line: usize,
    fields: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut fields = self.fields.iter().rev();
        let (_, value) = fields.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(*value).filter(|value| value.get() != "null")
    }

    /// Whether there is such a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All fields, with their names as they are written; of several with exactly the same name the
    /// last one.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let is_last = |i: usize, key: &str| !self.fields[i + 1..].iter().any(|(k, _)| k == key);
        let entries = self.fields.iter().enumerate();
        entries
            .filter(move |(i, (key, _))| is_last(*i, key))
            .map(|(_, (key, value))| (key.as_str(), *value))
    }
}

/// A text of a list, and where it is.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) place: &'a RawValue,
    pub(super) text: String,
}

/// The fields of an object in the order of the document.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of at most {MAX_FIELDS} fields")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    if fields.len() == MAX_FIELDS {
                        return Err(serde::de::Error::invalid_length(MAX_FIELDS + 1, &self));
                    }
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// The document, and what is wrong with it so far.
#[derive(Debug)]
pub(super) struct Document<'a> {
    source: &'a str,
    mistakes: Vec<Mistake>,
    large_patterns: LargeLeft,
}

impl<'a> Document<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            mistakes: Vec::new(),
            large_patterns: LargeLeft(MAX_LARGE_PATTERNS),
        }
    }

    pub(super) fn into_mistakes(self) -> Vec<Mistake> {
        self.mistakes
    }

    /// Notes a mistake, and gives the caller what to return for it.
    fn note(&mut self, line: impl FnOnce(&Self) -> usize, what: impl fmt::Display) -> Noted {
        if self.mistakes.len() == MAX_MISTAKES {
            return Noted;
        }
        let mut text = what.to_string().replace(char::is_control, " ");
        if text.len() > MAX_TEXT {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            text.push('…');
        }
        let line = line(self);
        self.mistakes.push(Mistake { line, text });
        Noted
    }

    /// Notes a mistake with a field of an object, or with its absence.
    pub(super) fn note_at(
        &mut self,
        object: &Object<'a>,
        name: &str,
        what: impl fmt::Display,
    ) -> Noted {
        let value = object.get(name);
        let line = |document: &Self| value.map_or(object.line, |value| document.line(value));
        self.note(line, format_args!("{}{name}: {what}", object.path))
    }

    /// Notes a mistake with one of several values of a field.
    pub(super) fn note_value(
        &mut self,
        value: &'a RawValue,
        field: &str,
        what: impl fmt::Display,
    ) -> Noted {
        self.note(
            |document| document.line(value),
            format_args!("{field}: {what}"),
        )
    }

    /// The line in which a value of this document begins.
    fn line(&self, value: &'a RawValue) -> usize {
        let offset = value.get().as_ptr().addr() - self.source.as_ptr().addr();
        1 + self.source[..offset].matches('\n').count()
    }

    /// The whole document, which has to be an object; `null` is one without fields.
    pub(super) fn root(&mut self) -> Result<Object<'a>, Noted> {
        match serde_json::from_str::<&'a RawValue>(self.source) {
            Ok(value) => self.read_object(value, "the file", String::new()),
            Err(error) => Err(self.note(|_| error.line(), &error)),
        }
    }

    fn read_object(
        &mut self,
        value: &'a RawValue,
        name: &str,
        path: String,
    ) -> Result<Object<'a>, Noted> {
        let fields = match value.get() {
            "null" => Ok(Fields(Vec::new())),
            text => serde_json::from_str(text),
        };
        let Ok(Fields(fields)) = fields else {
            let what = format_args!("expected an object of at most {MAX_FIELDS} fields");
            return Err(self.note_value(value, name, what));
        };
        Ok(Object {
            path,
            line: self.line(value),
            fields,
        })
    }

    /// A field that is an object.
    pub(super) fn object(
        &mut self,
        parent: &Object<'a>,
        name: &str,
    ) -> Result<Option<Object<'a>>, Noted> {
        let Some(value) = parent.get(name) else {
            return Ok(None);
        };
        let name = format!("{}{name}", parent.path);
        let path = format!("{name}.");
        self.read_object(value, &name, path).map(Some)
    }

    /// A field that can be missing.
    pub(super) fn optional<T: DeserializeOwned>(
        &mut self,
        object: &Object<'a>,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Noted> {
        let Some(value) = object.get(name) else {
            return Ok(None);
        };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|_| self.note_at(object, name, format_args!("expected {expected}")))
    }

    /// A list of texts; a `null` in it is an empty text.
    pub(super) fn texts(
        &mut self,
        object: &Object<'a>,
        name: &str,
    ) -> Result<Option<Vec<Text<'a>>>, Noted> {
        let Some(value) = object.get(name) else {
            return Ok(None);
        };
        let text = |place: &'a RawValue| {
            let text: Option<String> = serde_json::from_str(place.get()).ok()?;
            let text = text.unwrap_or_default();
            Some(Text { place, text })
        };
        let items = serde_json::from_str::<Vec<&'a RawValue>>(value.get()).ok();
        let items = items.filter(|items| items.len() <= MAX_ITEMS);
        items
            .and_then(|items| items.into_iter().map(text).collect::<Option<Vec<_>>>())
            .map(Some)
            .ok_or_else(|| {
                let expected = format_args!("expected a list of at most {MAX_ITEMS} texts");
                self.note_at(object, name, expected)
            })
    }

    /// Compiles a pattern of a field.
    pub(super) fn pattern(
        &mut self,
        place: &'a RawValue,
        field: &str,
        pattern: &str,
    ) -> Result<Pattern, Noted> {
        let compiled = Pattern::new(pattern, &mut self.large_patterns);
        compiled.map_err(|error| {
            let shown: String = pattern.chars().take(80).collect();
            let what = format_args!("pattern {shown:?}: {}", Chain(&error));
            self.note_value(place, field, what)
        })
    }

    /// Patterns of a list, none if it is absent.
    pub(super) fn patterns(
        &mut self,
        object: &Object<'a>,
        name: &str,
    ) -> Result<Vec<Pattern>, Noted> {
        let texts = self.texts(object, name)?.unwrap_or_default();
        if texts.len() > MAX_PATTERNS {
            let what = format_args!("more than {MAX_PATTERNS} patterns");
            return Err(self.note_at(object, name, what));
        }
        let field = format!("{}{name}", object.path);
        let pattern = |text: &Text<'a>| self.pattern(text.place, &field, &text.text);
        // All of them, so that all mistakes are told.
        let patterns: Vec<_> = texts.iter().map(pattern).collect();
        patterns.into_iter().collect()
    }
}

/// An error with its causes, in one line.
struct Chain<'a>(&'a dyn std::error::Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
