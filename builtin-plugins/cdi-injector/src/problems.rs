//! Collects what is wrong with a request.

use std::fmt;

use nri_plugin_api::Error;

/// How long the text for the author of the pod may get. A host passes on 1 KiB, its own words
/// included.
const MAX_TEXT: usize = 880;

/// How long the text of one problem may get: it quotes what authors wrote.
const MAX_LINE: usize = 320;

/// All problems of one container.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    text: String,
    count: usize,
    /// Those for which there was no room.
    left_out: usize,
}

impl Problems {
    pub(crate) fn add(&mut self, what: impl fmt::Display) {
        self.count += 1;
        let line = what.to_string().replace(char::is_control, " ");
        let kept = line.floor_char_boundary(MAX_LINE);
        let (line, end) = match kept == line.len() {
            true => (line.as_str(), ""),
            false => (&line[..kept], "…"),
        };
        let separator = if self.text.is_empty() { "" } else { "; " };
        if self.text.len() + line.len() > MAX_TEXT {
            self.left_out += 1;
            return;
        }
        for part in [separator, line, end] {
            self.text.push_str(part);
        }
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
    use super::{MAX_TEXT, Problems};

    #[test]
    fn problems_are_told_in_one_line_of_limited_length() {
        let mut problems = Problems::default();
        problems.add("é\n".repeat(1000));
        for i in 0..100 {
            problems.add(format_args!("entry {i} is not as it should be"));
        }
        let text = problems.into_result().unwrap_err().to_string();
        assert!(text.starts_with("é é") && text.ends_with(" more"), "{text}");
        assert!(text.len() < MAX_TEXT + 32, "{text}");
        assert!(!text.contains('\n'));
    }
}
