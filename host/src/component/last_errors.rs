//! The last errors of one component, for whoever asks for the status.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::policy::cut;
use crate::lock::lock;

/// Most errors that are kept.
pub const MAX_ERRORS: usize = 5;

/// An error, and how long ago it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// How long ago it was, in seconds.
    pub seconds_ago: u64,
    /// The call, the pod and container that it was for, and what went wrong.
    pub text: String,
}

/// The last [`MAX_ERRORS`] errors of one component.
#[derive(Debug, Default)]
pub struct LastErrors(Mutex<VecDeque<(Instant, String)>>);

impl LastErrors {
    /// All that are kept, newest first.
    pub fn list(&self) -> Vec<LastError> {
        let errors = lock(&self.0);
        let newest_first = errors.iter().rev();
        newest_first
            .map(|(at, text)| LastError {
                seconds_ago: at.elapsed().as_secs(),
                text: text.clone(),
            })
            .collect()
    }

    /// The text of the newest.
    pub fn newest(&self) -> Option<String> {
        lock(&self.0).back().map(|(_, text)| text.clone())
    }

    /// Takes note of one, as much of its text as is kept of a reason.
    pub(super) fn add(&self, text: &str) {
        let mut errors = lock(&self.0);
        if errors.len() == MAX_ERRORS {
            errors.pop_front();
        }
        errors.push_back((Instant::now(), cut(text).to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::MAX_REASON;
    use super::*;

    #[test]
    fn the_newest_are_kept_newest_first_and_cut_short() {
        let errors = LastErrors::default();
        assert_eq!((errors.newest(), errors.list()), (None, Vec::new()));
        for number in 0..=MAX_ERRORS {
            errors.add(&format!("error {number}"));
        }
        errors.add(&"x".repeat(2 * MAX_REASON));
        let texts: Vec<_> = errors.list().into_iter().map(|error| error.text).collect();
        assert_eq!(texts.len(), MAX_ERRORS);
        assert_eq!(texts[0].len(), MAX_REASON);
        assert_eq!(texts[1..], ["error 5", "error 4", "error 3", "error 2"]);
        assert_eq!(errors.newest().as_ref(), Some(&texts[0]));
    }
}
