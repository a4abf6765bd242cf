//! YAML of users, as a tree whose scalars are kept as they were written.
//!
//! What a scalar means depends on the field that it stands in: `0666` is a number in one and a name
//! in another, and `yes` must stay `yes`. So numbers are read where one is expected, see
//! [`super::number`].

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Options, Spanned, UserMessageFormatter};

/// How deeply lists and mappings may be nested. A list of mappings that hold lists has 3 levels.
const MAX_DEPTH: usize = 16;

/// How many scalars, lists and mappings there may be, those that aliases repeat included.
const MAX_NODES: usize = 10_000;

/// How long a value may be, in bytes: as long as Kubernetes lets all annotations of a pod be.
const MAX_BYTES: usize = 256 << 10;

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar as it was written, without its quotes.
    Text(String),
    List(Vec<Self>),
    /// In order, keys as they were written.
    Map(Vec<(String, Self)>),
}

impl fmt::Display for Node {
    /// Tells users what kind of thing they wrote.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a mapping"),
        }
    }
}

/// Why a text cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum YamlError {
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("it has more than one document")]
    SecondDocument,
    // The library's own words are for programmers, unless it is asked for others.
    #[error("{}", .0.render_with_formatter(&UserMessageFormatter))]
    Invalid(serde_saphyr::Error),
}

impl From<serde_saphyr::Error> for YamlError {
    fn from(error: serde_saphyr::Error) -> Self {
        match error {
            serde_saphyr::Error::Budget {
                breach: BudgetBreach::Documents { .. },
                ..
            } => Self::SecondDocument,
            other => Self::Invalid(other),
        }
    }
}

/// Reads a text that holds one document.
///
/// # Errors
///
/// Something is wrong with its syntax, it holds a key twice or a second document, or it is larger
/// than the limits above, in particular once its aliases are expanded.
pub(super) fn parse(text: &str) -> Result<Node, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError::TooLong);
    }
    let parsed: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options())?;
    Ok(parsed.into_node(text))
}

fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        max_nodes: MAX_NODES,
        max_events: 4 * MAX_NODES,
        max_aliases: 100,
        max_anchors: 100,
        max_documents: 1,
        max_total_scalar_bytes: MAX_BYTES,
    };
    let alias_limits = serde_saphyr::alias_limits! {
        max_total_replayed_events: MAX_NODES,
        max_replay_stack_depth: MAX_DEPTH,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        // Errors go into one line of text.
        with_snippet: false,
        // Scalars that are no text to the parser are taken from the source, see `into_node`.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

/// A node as the parser hands it over.
enum Raw {
    Null,
    Text(String),
    /// A scalar that the parser takes for something else than text.
    Plain,
    List(Vec<Spanned<Raw>>),
    Map(Vec<(String, Spanned<Raw>)>),
}

trait IntoNode {
    fn into_node(self, source: &str) -> Node;
}

impl IntoNode for Spanned<Raw> {
    fn into_node(self, source: &str) -> Node {
        // Where an alias stands for it, the place where it was written.
        let span = self.defined.span();
        match self.value {
            Raw::Null => Node::Null,
            Raw::Text(text) => Node::Text(text),
            Raw::Plain => {
                let index = |bytes: Option<u64>| usize::try_from(bytes.unwrap_or_default());
                // The offset lies in the source, so it fits.
                let start = index(span.byte_offset()).unwrap_or_default();
                let len = index(span.byte_len()).unwrap_or_default();
                let text = source.get(start..start + len).unwrap_or_default();
                Node::Text(text.trim().to_owned())
            }
            Raw::List(items) => Node::List(
                items
                    .into_iter()
                    .map(|item| item.into_node(source))
                    .collect(),
            ),
            Raw::Map(entries) => {
                let entry = |(key, value): (String, Self)| (key, value.into_node(source));
                Node::Map(entries.into_iter().map(entry).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Node, parse};

    fn list(text: &str) -> Vec<Node> {
        match parse(text) {
            Ok(Node::List(nodes)) => nodes,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn scalars_stay_as_they_are_written() {
        let written = [
            "0666",
            "0o666",
            "438",
            "1_000",
            "1.50",
            "1.0",
            "1e3",
            "0x10",
            "+5",
            "-5",
            "yes",
            "True",
            "y",
            "12:30:45",
            ".nan",
            "1e999",
            "18446744073709551616",
            "/dev/x",
        ];
        let text = format!("[{}]", written.join(", "));
        assert_eq!(list(&text), written.map(|text| Node::Text(text.to_owned())));
        let quoted = format!("[\"{}\"]", written.join("\", \""));
        assert_eq!(list(&quoted), list(&text));
    }

    #[test]
    fn an_alias_stands_for_what_is_written_at_its_anchor() {
        assert_eq!(list("[é, &a 010, *a]")[2], Node::Text("010".to_owned()));
        assert_eq!(list("[é, &a 0x1, *a]")[2], Node::Text("0x1".to_owned()));
    }

    #[test]
    fn nothing_is_null() {
        for text in ["", " ", "\n", "# only a comment", "null", "~"] {
            assert_eq!(parse(text).unwrap(), Node::Null, "{text:?}");
        }
    }

    #[test]
    fn keys_stay_as_they_are_written() {
        let Node::Map(entries) = parse("{Path: a, FILE_MODE: b}").unwrap() else {
            panic!("not a mapping");
        };
        assert_eq!(entries[0].0, "Path");
        assert_eq!(entries[1].0, "FILE_MODE");
    }

    #[test]
    fn bad_syntax_is_refused() {
        for text in [
            "- path: [unclosed",
            "a: b: c",
            "- \"a",
            "- @a",
            "- `a",
            "%YAML 1.2",
            "- a\n---\n- b",
            "{a: 1, a: 2}",
            "- ? [a]\n  : b",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn mistakes_are_told_in_words_for_authors_of_pods() {
        for (text, reason) in [
            ("- a\n---\n- b", "it has more than one document"),
            ("- {~: a}", "null is not allowed here"),
            ("- &a {b: *a}", "ecursive reference not allowed here"),
            (
                &format!("{}{}", "[".repeat(20), "]".repeat(20)),
                "too large or too complex",
            ),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn bombs_are_refused_at_once() {
        let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..30 {
            let repeated = vec![format!("*a{}", i - 1); 9].join(", ");
            aliases.push_str(&format!("a{i}: &a{i} [{repeated}]\n"));
        }
        let wide = format!("x: &x [{}]\ny: [{}]", "a, ".repeat(1000), "*x, ".repeat(90));
        let bombs = [
            aliases,
            wide,
            "[".repeat(100_000),
            "- ".repeat(50_000),
            "{a: ".repeat(50_000),
            "a".repeat(1 << 20),
            "[a, ".repeat(1000),
            format!("[{}]", "a, ".repeat(20_000)),
        ];
        for bomb in bombs {
            let start = Instant::now();
            assert!(parse(&bomb).is_err(), "{}", &bomb[..20]);
            assert!(start.elapsed() < Duration::from_secs(5), "{}", &bomb[..20]);
        }
    }
}
