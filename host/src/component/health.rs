//! What an instance says of itself, for whoever asks for the status.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::policy::{MAX_REASON, cut};
use crate::lock::lock;

/// Most problems that are kept of one report.
pub const MAX_PROBLEMS: usize = 100;

/// All that an instance says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// One line.
    pub summary: String,
    /// What is not as it should be; at most [`MAX_PROBLEMS`].
    pub problems: Vec<HealthProblem>,
    /// How many problems there are.
    pub problems_total: usize,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthProblem {
    /// What is wrong.
    pub message: String,
    /// The file that it is about.
    pub file: Option<String>,
    /// The line in this file, from 1.
    pub line: Option<u32>,
}

/// The last report of one component's instance.
#[derive(Debug, Default)]
pub struct LastHealth(Mutex<Option<Health>>);

impl LastHealth {
    /// The report; `None` if there is none.
    pub fn get(&self) -> Option<Health> {
        lock(&self.0).clone()
    }

    /// Takes the place of the one before.
    pub(super) fn set(&self, health: Health) {
        *lock(&self.0) = Some(health);
    }

    /// The instance that it was about has ended.
    pub(super) fn clear(&self) {
        *lock(&self.0) = None;
    }
}

/// As much of a text as is kept of it, on one line.
pub(super) fn one_line(text: &[u8]) -> String {
    // What is no UTF-8 becomes longer, so this is enough to cut it from.
    let enough = &text[..text.len().min(MAX_REASON + 3)];
    let text = String::from_utf8_lossy(enough);
    cut(&text).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_as_one_line_of_a_kilobyte() {
        assert_eq!(one_line(b"a\nb\x1b[0m\xff"), "a b [0m\u{fffd}");
        assert_eq!(one_line(&[b'x'; 5000]).len(), MAX_REASON);
        // A character of two bytes stands across the limit.
        let text = format!("x{}", "é".repeat(MAX_REASON));
        assert_eq!(one_line(text.as_bytes()).len(), MAX_REASON - 1);
    }
}
