//! Globs in the settings.

use glob::{MatchOptions, Pattern};
use nri_plugin_api::ConfigMistakes;

/// Reads a glob. What is wrong with it goes to `mistakes`, under `key`.
pub(crate) fn glob(text: &str, key: String, mistakes: &mut ConfigMistakes) -> Option<Pattern> {
    match Pattern::new(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            mistakes.add(key, format!("{text:?} is no glob: {error}"));
            None
        }
    }
}

/// Globs, of which one is enough. A text matches as a whole, and `*` goes across slashes.
#[derive(Clone, Debug)]
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Reads the globs of a list. What is wrong goes to `mistakes`, under `key` and its index.
    pub(crate) fn read(texts: &[String], key: &str, mistakes: &mut ConfigMistakes) -> Self {
        let globs = texts.iter().enumerate();
        let globs = globs.filter_map(|(i, text)| glob(text, format!("{key}[{i}]"), mistakes));
        Self(globs.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(text))
    }

    pub(crate) fn matches_in_any_case(&self, text: &str) -> bool {
        let options = MatchOptions {
            case_sensitive: false,
            ..MatchOptions::new()
        };
        let mut patterns = self.0.iter();
        patterns.any(|pattern| pattern.matches_with(text, options))
    }
}
