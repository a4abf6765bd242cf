//! Collects what is wrong with the annotations of a container.

use std::fmt;

use nri_plugin_api::{CreateContainer, Error};
use serde::Deserialize;

/// How long the text for the author of the pod may get. A host passes on 1 KiB, its own words
/// included.
const MAX_TEXT: usize = 880;

/// How long the text of one problem may get: it quotes what authors wrote.
const MAX_LINE: usize = 320;

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

/// What becomes of a request for something that is not allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDenied {
    /// The container is not created.
    #[default]
    Reject,
    /// It is left out, and the container is created without it.
    Drop,
}

/// All problems of one container.
#[derive(Debug)]
pub(crate) struct Problems {
    on_denied: OnDenied,
    rejected: Lines,
    dropped: Lines,
    /// The first thing that was ignored, and how many there are.
    ignored: Option<(String, usize)>,
}

impl Problems {
    pub(crate) fn new(on_denied: OnDenied) -> Self {
        Self {
            on_denied,
            rejected: Lines::default(),
            dropped: Lines::default(),
            ignored: None,
        }
    }

    /// Adds a problem, and gives the caller what to return for it.
    pub(crate) fn add(&mut self, place: Place<'_>, what: impl fmt::Display) -> Reported {
        self.rejected.add(&one_line(place, what));
        Reported
    }

    /// Adds something that is not allowed: a problem, unless the administrator wants it to be left
    /// out.
    pub(crate) fn deny(&mut self, place: Place<'_>, what: impl fmt::Display) -> Reported {
        let lines = match self.on_denied {
            OnDenied::Reject => &mut self.rejected,
            OnDenied::Drop => &mut self.dropped,
        };
        lines.add(&one_line(place, what));
        Reported
    }

    /// Remembers something that has no effect, for the log.
    pub(crate) fn ignore(&mut self, place: Place<'_>, what: impl fmt::Display) {
        match &mut self.ignored {
            Some((_, count)) => *count += 1,
            None => self.ignored = Some((one_line(place, what), 1)),
        }
    }

    /// A rejection that tells all problems, if there are any. Else logs what the container is created
    /// without, in one line each however much a pod has of it.
    pub(crate) fn into_result(self, request: &CreateContainer<'_>) -> Result<(), Error> {
        if let Some((first, count)) = &self.ignored {
            tracing::warn!(count, "ignored: {first}");
        }
        if self.rejected.count > 0 {
            return Err(Error::reject(self.rejected.to_string()));
        }
        if self.dropped.count > 0 {
            tracing::warn!(
                namespace = request.pod_namespace(),
                pod = request.pod_name(),
                container = request.container_name(),
                "left out: {}",
                self.dropped
            );
        }
        Ok(())
    }
}

/// Problems in one text of limited length.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    count: usize,
    /// Those for which there was no room.
    left_out: usize,
}

impl Lines {
    fn add(&mut self, line: &str) {
        self.count += 1;
        if self.text.is_empty() {
            line.clone_into(&mut self.text);
        } else if self.text.len() + line.len() <= MAX_TEXT {
            self.text.push_str("; ");
            self.text.push_str(line);
        } else {
            self.left_out += 1;
        }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.left_out > 0 {
            write!(f, "; and {} more", self.left_out)?;
        }
        Ok(())
    }
}

/// A problem as it is told: without line breaks, and cut if it is long.
fn one_line(place: Place<'_>, what: impl fmt::Display) -> String {
    let line = format!("{place}: {what}").replace(char::is_control, " ");
    let kept = line.floor_char_boundary(MAX_LINE);
    if kept == line.len() {
        return line;
    }
    format!("{}…", &line[..kept])
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINE, MAX_TEXT, OnDenied, Place, Problems};

    #[test]
    fn a_problem_is_told_with_its_place() {
        let mut problems = Problems::new(OnDenied::Reject);
        let place = Place::annotation("mounts.noderesource.dev/pod").entry(1);
        problems.add(place.field("options").item(0), "is empty");
        problems.add(place, "no");
        let text = problems.rejected.to_string();
        assert_eq!(
            text,
            "mounts.noderesource.dev/pod: entry 2: options 1: is empty; \
             mounts.noderesource.dev/pod: entry 2: no"
        );
    }

    #[test]
    fn what_authors_wrote_is_cut_and_stays_in_one_line() {
        let mut problems = Problems::new(OnDenied::Reject);
        problems.add(Place::annotation("key"), "é\n".repeat(1000));
        let text = problems.rejected.to_string();
        assert!(text.len() <= MAX_LINE + '…'.len_utf8(), "{text}");
        assert!(text.starts_with("key: é é é"), "{text}");
        assert!(text.ends_with('…'), "{text}");
    }

    #[test]
    fn many_problems_are_counted_where_they_find_no_room() {
        let mut problems = Problems::new(OnDenied::Reject);
        for i in 0..100 {
            problems.add(Place::annotation("key").entry(i), "is not as it should be");
        }
        let text = problems.rejected.to_string();
        assert!(text.len() < MAX_TEXT + 32, "{text}");
        assert!(text.ends_with(" more"), "{text}");
    }
}
