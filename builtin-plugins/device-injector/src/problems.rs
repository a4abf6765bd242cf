//! Collects what is wrong with the annotations of a container.

use std::fmt;

use nri_plugin_api::Error;

/// How long the text for the author of the pod may get. A host passes on 1 KiB, its own words
/// included.
const MAX_TEXT: usize = 880;

/// Where a problem is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    annotation: &'a str,
    /// Counted from 1.
    entry: Option<usize>,
    field: Option<&'a str>,
    /// Which one of a field that is a list, counted from 1.
    item: Option<usize>,
}

impl<'a> Place<'a> {
    /// The annotation as a whole.
    pub(crate) fn annotation(key: &'a str) -> Self {
        Self {
            annotation: key,
            entry: None,
            field: None,
            item: None,
        }
    }

    /// An entry of the annotation's list, counted from 0.
    pub(crate) fn entry(self, index: usize) -> Self {
        Self {
            entry: Some(index + 1),
            ..self
        }
    }

    pub(crate) fn field(self, field: &'a str) -> Self {
        Self {
            field: Some(field),
            ..self
        }
    }

    /// An item of the field, counted from 0.
    pub(crate) fn item(self, index: usize) -> Self {
        Self {
            item: Some(index + 1),
            ..self
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.annotation)?;
        if let Some(entry) = self.entry {
            write!(f, ": entry {entry}")?;
        }
        if let Some(field) = self.field {
            write!(f, ": {field}")?;
        }
        if let Some(item) = self.item {
            write!(f, " {item}")?;
        }
        Ok(())
    }
}

/// The problem is among the [`Problems`] already: nothing more needs to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported;

/// All problems of one container.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    text: String,
    count: usize,
    /// Those for which there was no room.
    left_out: usize,
}

impl Problems {
    /// Adds a problem, and gives the caller what to return for it.
    pub(crate) fn add(&mut self, place: Place<'_>, what: impl fmt::Display) -> Reported {
        self.count += 1;
        let line = format!("{place}: {what}");
        if self.text.is_empty() {
            self.text = line;
        } else if self.text.len() + line.len() <= MAX_TEXT {
            self.text.push_str("; ");
            self.text.push_str(&line);
        } else {
            self.left_out += 1;
        }
        Reported
    }

    /// A rejection that tells all problems, if there are any.
    pub(crate) fn into_result(self) -> Result<(), Error> {
        if self.count == 0 {
            return Ok(());
        }
        let mut text = self.text;
        if self.left_out > 0 {
            text.push_str(&format!("; and {} more", self.left_out));
        }
        Err(Error::reject(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TEXT, Place, Problems};

    #[test]
    fn a_problem_is_told_with_its_place() {
        let mut problems = Problems::default();
        let place = Place::annotation("mounts.noderesource.dev/pod").entry(1);
        problems.add(place.field("options").item(0), "is empty");
        problems.add(place, "no");
        let text = problems.into_result().unwrap_err().to_string();
        assert_eq!(
            text,
            "mounts.noderesource.dev/pod: entry 2: options 1: is empty; \
             mounts.noderesource.dev/pod: entry 2: no"
        );
    }

    #[test]
    fn many_problems_are_counted_where_they_find_no_room() {
        let mut problems = Problems::default();
        for i in 0..100 {
            problems.add(Place::annotation("key").entry(i), "is not as it should be");
        }
        let text = problems.into_result().unwrap_err().to_string();
        assert!(text.len() < MAX_TEXT + 32, "{text}");
        assert!(text.ends_with(" more"), "{text}");
    }
}
