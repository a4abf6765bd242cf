//! The forms in which events are written.

use std::fmt::{self, Display, Write};
use std::time::SystemTime;

use serde::{Deserialize, Serialize, Serializer};

/// The form of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An object on one line.
    #[default]
    Json,
    /// A document that begins with `---`.
    Yaml,
    /// One line with time, event and names.
    Text,
}

/// A time in RFC 3339, in UTC.
struct Time(SystemTime);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_micros(self.0).fmt(f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text in [`Format::Text`]: as it is, or in quotes if a reader could take it for something else.
pub(crate) struct Word<'a>(pub(crate) &'a str);

impl Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'=');
        if !self.0.is_empty() && self.0.bytes().all(plain) {
            f.write_str(self.0)
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

/// What every record begins with.
#[derive(Serialize)]
struct Record<'a, T> {
    time: Time,
    event: &'a str,
    #[serde(flatten)]
    rest: T,
}

/// An event as an object on one line.
pub(crate) fn json(time: SystemTime, event: &str, rest: impl Serialize) -> Vec<u8> {
    let time = Time(time);
    let record = Record { time, event, rest };
    serde_json::to_vec(&record).expect("all maps have texts or numbers as keys")
}

/// An event as a document, without the line break at its end.
pub(crate) fn yaml(time: SystemTime, event: &str, rest: impl Serialize) -> Vec<u8> {
    let time = Time(time);
    let record = Record { time, event, rest };
    let mut text = "---\n".to_owned();
    serde_saphyr::to_fmt_writer(&mut text, &record)
        .expect("all maps have texts or numbers as keys, and a String takes all");
    // One line break ends the document. Others are of a text.
    if text.ends_with('\n') {
        text.pop();
    }
    text.into_bytes()
}

/// An event as a line of words.
pub(crate) fn text(time: SystemTime, event: &str, rest: impl Display) -> Vec<u8> {
    let mut text = String::new();
    write!(text, "{} {event} {rest}", Time(time)).expect("a String takes all");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Word, json, text, yaml};

    const TIME: &str = "1970-01-01T00:00:00.000000Z";

    /// What a reader makes of a document.
    fn read_yaml(rest: &Value) -> Value {
        let mut document = String::from_utf8(yaml(SystemTime::UNIX_EPOCH, "E", rest)).unwrap();
        assert!(document.starts_with("---\n"), "{document}");
        // Which is what a sink writes.
        document.push('\n');
        serde_saphyr::from_str(&document).unwrap_or_else(|error| panic!("{error}\n{document}"))
    }

    fn with_head(rest: &Value) -> Value {
        let mut all = json!({"time": TIME, "event": "E"});
        let (all_fields, rest) = (all.as_object_mut().unwrap(), rest.as_object().unwrap());
        all_fields.extend(rest.clone());
        all
    }

    #[test]
    fn texts_that_yaml_could_take_for_something_else_stay_texts() {
        for text in [
            "",
            " ",
            "~",
            "null",
            "yes",
            "no",
            "on",
            "y",
            "n",
            "true",
            "010",
            "0o17",
            "0x1f",
            "1e3",
            "1_000",
            ".inf",
            ".nan",
            "12:30:45",
            "2026-01-31",
            "-",
            "- a",
            "?",
            ": ",
            "a: b",
            "# a",
            "a #b",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "{",
            "[",
            "'",
            "\"",
            "\\",
            "---",
            "...",
            "<<",
            "a\nb",
            "\n",
            "a\n",
            "\na",
            " a\n  b\n",
            "\t",
            "\0",
            "\u{7f}",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "a\r\nb",
            "=",
            "\u{1b}[0m",
        ] {
            let rest = json!({"value": text, "list": [text], "map": {text: text}});
            assert_eq!(read_yaml(&rest), with_head(&rest), "{text:?}");
        }
        let long = "word ".repeat(100);
        let rest = json!({"long": long, "lines": "a\n".repeat(50), "one": "x".repeat(500)});
        assert_eq!(read_yaml(&rest), with_head(&rest));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_texts_come_back_from_yaml(
            map in any::<BTreeMap<String, String>>(),
            list in any::<Vec<String>>(),
        ) {
            let rest = json!({"map": map, "list": list});
            prop_assert_eq!(read_yaml(&rest), with_head(&rest));
        }

        #[test]
        fn no_text_breaks_a_line(value in any::<String>()) {
            let line = json(SystemTime::UNIX_EPOCH, "E", json!({"value": value}));
            prop_assert!(!line.iter().any(|byte| byte.is_ascii_control()));
            let line = text(SystemTime::UNIX_EPOCH, "E", Word(&value));
            prop_assert!(!line.iter().any(|byte| byte.is_ascii_control()));
        }
    }

    #[test]
    fn words_are_quoted_where_they_must_be() {
        for (text, word) in [
            ("web-0", "web-0"),
            ("a/b:c", "a/b:c"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a=b", "\"a=b\""),
            ("a\"b", r#""a\"b""#),
            ("a\nb", r#""a\nb""#),
        ] {
            assert_eq!(Word(text).to_string(), word);
        }
    }
}
