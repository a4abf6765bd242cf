//! Names of devices of the Container Device Interface (CDI), as its specification has them.

use std::fmt;
use std::str::FromStr;

/// A vendor and a class of devices, `vendor.com/class`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    text: String,
    vendor_len: usize,
}

/// The qualified name of a device, `vendor.com/class=name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceName {
    text: String,
    kind_len: usize,
}

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It does not have the parts of a qualified name.
    #[error("expected a name of the form vendor.com/class=name, not {0:?}")]
    Form(String),
    /// It does not have the parts of a kind.
    #[error("expected a kind of the form vendor.com/class, not {0:?}")]
    KindForm(String),
    /// A part has a character that it cannot have.
    #[error(
        "CDI {part} {text:?}: only ASCII letters and digits at its ends, and between them also {between}"
    )]
    Part {
        /// Which part.
        part: &'static str,
        /// The part.
        text: String,
        /// What it may have besides letters and digits.
        between: &'static str,
    },
    /// A vendor or class that starts with a digit.
    #[error("CDI {part} {text:?} must start with a letter")]
    Digit {
        /// Which part.
        part: &'static str,
        /// The part.
        text: String,
    },
}

impl Kind {
    /// The whole of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What comes before the slash.
    pub fn vendor(&self) -> &str {
        &self.text[..self.vendor_len]
    }

    /// What follows the slash.
    pub fn class(&self) -> &str {
        &self.text[self.vendor_len + 1..]
    }
}

impl FromStr for Kind {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (vendor, class) = text
            .split_once('/')
            .ok_or_else(|| NameError::KindForm(text.to_owned()))?;
        for (part, text) in [("vendor", vendor), ("class", class)] {
            check_part(part, text, "_-.")?;
            if text.starts_with(|c: char| c.is_ascii_digit()) {
                let text = text.to_owned();
                return Err(NameError::Digit { part, text });
            }
        }
        Ok(Self {
            text: text.to_owned(),
            vendor_len: vendor.len(),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl DeviceName {
    /// The whole of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Vendor and class, as in `vendor.com/class`.
    pub fn kind(&self) -> &str {
        &self.text[..self.kind_len]
    }
}

impl FromStr for DeviceName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let form = || NameError::Form(text.to_owned());
        let (kind, device) = text.split_once('=').ok_or_else(form)?;
        let kind: Kind = kind.parse().map_err(|error| match error {
            NameError::KindForm(_) => form(),
            other => other,
        })?;
        check_device(device)?;
        Ok(Self {
            text: text.to_owned(),
            kind_len: kind.text.len(),
        })
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Checks the last part of a qualified name, which is all that CDI files say of a device's name.
///
/// # Errors
///
/// It has a character that it cannot have, or none.
pub fn check_device(text: &str) -> Result<(), NameError> {
    check_part("device name", text, "_-.:")
}

fn check_part(part: &'static str, text: &str, between: &'static str) -> Result<(), NameError> {
    let end = |c: char| c.is_ascii_alphanumeric();
    let fine = text.starts_with(end)
        && text.ends_with(end)
        && text.chars().all(|c| end(c) || between.contains(c));
    if fine {
        return Ok(());
    }
    Err(NameError::Part {
        part,
        text: text.to_owned(),
        between,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DeviceName, Kind};

    proptest! {
        #[test]
        fn names_of_the_grammar_are_kept_as_they_are(
            kind in "[A-Za-z]([A-Za-z0-9_.-]{0,9}[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_.-]{0,9}[A-Za-z0-9])?",
            device in "[A-Za-z0-9]([A-Za-z0-9_.:-]{0,9}[A-Za-z0-9])?",
        ) {
            let text = format!("{kind}={device}");
            let name: DeviceName = text.parse().unwrap();
            prop_assert_eq!(name.as_str(), text.as_str());
            prop_assert_eq!(name.kind(), kind.as_str());
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            if let Ok(name) = text.parse::<DeviceName>() {
                prop_assert_eq!(name.to_string(), text);
            }
        }
    }

    #[test]
    fn names_have_a_vendor_a_class_and_a_device() {
        for text in ["v.com/c=0", "a/b=x", "v.com/c=a:b", "v-1.com/c_2=GPU-0.1"] {
            assert_eq!(text.parse::<DeviceName>().unwrap().to_string(), text);
        }
        let kind: Kind = "v-1.com/c_2".parse().unwrap();
        assert_eq!((kind.vendor(), kind.class()), ("v-1.com", "c_2"));
        let long = format!("v{}/c=0", "x".repeat(300));
        assert_eq!(long.parse::<DeviceName>().unwrap().as_str(), long);
        for text in [
            "",
            "v.com/c",
            "v.com/c=",
            "/dev/x",
            "v.com/a/b=x",
            "1v/c=x",
            "v/1c=x",
            "v.com/c=x.",
            "vé/c=x",
            "v.com/c=a b",
            "v.com/c=a=b",
            "-v/c=x",
            "v.com/=x",
            "/c=x",
            "v.com/c=-x",
            "v.com/c=:",
        ] {
            assert!(text.parse::<DeviceName>().is_err(), "{text}");
        }
    }
}
