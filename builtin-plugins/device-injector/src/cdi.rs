//! The annotation `cdi-devices.noderesource.dev`, and the names of CDI devices.

use std::fmt;
use std::str::FromStr;

use crate::annotation::Value;
use crate::problems::Problems;
use crate::settings::Settings;

/// The qualified name of a CDI device, `vendor.com/class=name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CdiName {
    text: String,
    /// Where the `=` after vendor and class is.
    kind_len: usize,
}

/// Why a text is no name of a CDI device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CdiNameError {
    #[error("expected a name of the form vendor.com/class=name, not {0:?}")]
    Form(String),
    #[error(
        "{part} {text:?} of a CDI device: only ASCII letters and digits at its ends, and between \
         them also {between}"
    )]
    Part {
        part: &'static str,
        text: String,
        between: &'static str,
    },
    #[error("{part} {text:?} of a CDI device must start with a letter")]
    Digit { part: &'static str, text: String },
}

impl CdiName {
    /// Vendor and class, as in `vendor.com/class`.
    pub(crate) fn kind(&self) -> &str {
        &self.text[..self.kind_len]
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl FromStr for CdiName {
    type Err = CdiNameError;

    fn from_str(text: &str) -> Result<Self, CdiNameError> {
        let (kind, device) = text
            .split_once('=')
            .ok_or_else(|| CdiNameError::Form(text.to_owned()))?;
        check_kind(kind)?;
        check_part("name", device, &['_', '-', '.', ':'], "_-.:")?;
        Ok(Self {
            text: text.to_owned(),
            kind_len: kind.len(),
        })
    }
}

impl fmt::Display for CdiName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Checks a vendor and a class, `vendor.com/class`.
pub(crate) fn check_kind(kind: &str) -> Result<(), CdiNameError> {
    let (vendor, class) = kind
        .split_once('/')
        .ok_or_else(|| CdiNameError::Form(kind.to_owned()))?;
    for (part, text) in [("vendor", vendor), ("class", class)] {
        check_part(part, text, &['_', '-', '.'], "_-.")?;
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let text = text.to_owned();
            return Err(CdiNameError::Digit { part, text });
        }
    }
    Ok(())
}

fn check_part(
    part: &'static str,
    text: &str,
    others: &[char],
    between: &'static str,
) -> Result<(), CdiNameError> {
    let end = |c: char| c.is_ascii_alphanumeric();
    let fine = text.starts_with(end)
        && text.ends_with(end)
        && text.chars().all(|c| end(c) || others.contains(&c));
    if fine {
        return Ok(());
    }
    Err(CdiNameError::Part {
        part,
        text: text.to_owned(),
        between,
    })
}

/// Reads the entries and asks whether they are allowed.
pub(crate) fn read(
    value: &Value<'_>,
    settings: &Settings,
    problems: &mut Problems,
) -> Vec<CdiName> {
    let mut names: Vec<CdiName> = Vec::new();
    for entry in value.entries() {
        let Ok(text) = entry.text(problems) else {
            continue;
        };
        let name: CdiName = match text.parse() {
            Ok(name) => name,
            Err(error) => {
                problems.add(entry.place(), error);
                continue;
            }
        };
        if names.contains(&name) {
            problems.add(entry.place(), format_args!("{name} is there already"));
        } else if settings.cdi_devices.allow(&name) {
            names.push(name);
        } else {
            let advice = settings.advice("allow_cdi_devices", name.kind());
            let what = format_args!("{name} is not allowed on this node: {advice}");
            problems.deny(entry.place(), what);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::CdiName;

    #[test]
    fn names_have_a_vendor_a_class_and_a_device() {
        for text in ["v.com/c=0", "a/b=x", "v.com/c=a:b", "v-1.com/c_2=GPU-0.1"] {
            let name: CdiName = text.parse().unwrap();
            assert_eq!(name.to_string(), text);
        }
        let name: CdiName = "v.com/c=0".parse().unwrap();
        assert_eq!(name.kind(), "v.com/c");
    }

    #[test]
    fn other_texts_are_refused() {
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
            assert!(text.parse::<CdiName>().is_err(), "{text}");
        }
    }
}
