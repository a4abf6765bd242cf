//! The file with which a component is installed, held against its settings.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde_json::Value;

/// The settings that a drop-in shows as comments: what stands below `[component.config]` as
/// `#key = value`, without the marks. Other comments are prose and left out.
///
/// # Panics
///
/// There is no line `[component.config]`.
pub fn shown_settings(drop_in: &str) -> String {
    let (_, settings) = drop_in
        .split_once("\n[component.config]\n")
        .expect("a drop-in has a line [component.config]");
    let lines = settings.lines().filter_map(|line| line.strip_prefix('#'));
    lines
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Asserts that settings, read from [`shown_settings`], are all that a component has, each with its
/// default. Of those that `examples` names, which have no default to show, the value is an example:
/// one that the component can read.
///
/// # Panics
///
/// A setting is not shown, or is shown with a value that is neither its default nor an example.
pub fn assert_shows_defaults<C>(mut shown: Value, examples: &[&str])
where
    C: DeserializeOwned + Default + PartialEq + fmt::Debug,
{
    let read = |settings: &Value| -> C {
        serde_json::from_value(settings.clone()).expect("the component can read what is shown")
    };
    read(&shown);
    for key in fields::<C>() {
        assert!(shown.get(key).is_some(), "{key} is not shown");
    }
    for key in examples {
        let settings = shown.as_object_mut().expect("settings are a table");
        assert!(settings.remove(*key).is_some(), "{key} is no setting");
    }
    assert_eq!(read(&shown), C::default());
}

/// The names of a struct's fields.
fn fields<C: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &[&str] = &[];
    // The struct says what it expects, and is told that there is nothing.
    let nothing = C::deserialize(FieldsOf(&mut fields));
    assert!(
        nothing.is_err() && !fields.is_empty(),
        "settings are a struct"
    );
    fields
}

/// Takes note of the fields that are asked for.
struct FieldsOf<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldsOf<'_> {
    type Error = serde_json::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Self::Error::custom("nothing is there"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("not a struct"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::{assert_shows_defaults, shown_settings};

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Settings {
        limit: u32,
        file: Option<String>,
    }

    impl Default for Settings {
        fn default() -> Self {
            Self {
                limit: 5,
                file: None,
            }
        }
    }

    #[test]
    fn settings_are_told_from_prose() {
        let drop_in = "\
# prose
[[component]]
#name = \"x\"
[component.config]

# Prose about it.
#limit = 5
#   indented = \"prose\"
file = \"set\"
";
        assert_eq!(shown_settings(drop_in), "limit = 5\n");
    }

    #[test]
    fn defaults_and_examples_are_shown() {
        assert_shows_defaults::<Settings>(json!({ "limit": 5, "file": "/x" }), &["file"]);
    }

    #[test]
    #[should_panic = "limit is not shown"]
    fn a_setting_that_is_not_shown_is_noticed() {
        assert_shows_defaults::<Settings>(json!({ "file": "/x" }), &["file"]);
    }

    #[test]
    #[should_panic = "limit: 6"]
    fn another_value_than_the_default_is_noticed() {
        assert_shows_defaults::<Settings>(json!({ "limit": 6, "file": "/x" }), &["file"]);
    }

    #[test]
    #[should_panic = "unknown field"]
    fn a_setting_that_is_not_there_any_more_is_noticed() {
        assert_shows_defaults::<Settings>(json!({ "limit": 5, "gone": 1 }), &[]);
    }
}
