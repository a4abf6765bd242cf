//! Regular expressions of hook files.
//!
//! They are written for Go's RE2, which podman, CRI-O and the sample plugin use. The `regex` crate
//! is of the same kind, and reads some patterns differently: `\d` beyond ASCII, `[a&&b]` as an
//! intersection, `a**` as a repetition, `a{` as a mistake. So a pattern is read by Go's rules and
//! written anew for the crate, and what Go refuses is refused.

mod class;
mod parser;

use regex::bytes::{Regex, RegexBuilder};

pub(crate) use parser::PatternError;

/// How much memory a compiled pattern takes that is not large, in bytes: more than patterns of hook
/// files usually take.
const SMALL: usize = 64 << 10;

/// How much a large one may take.
const LARGE: usize = 4 << 20;

/// How many more large patterns there may be.
#[derive(Debug)]
pub(crate) struct LargeLeft(pub(crate) u32);

/// A regular expression that is looked for anywhere in a text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    /// Reads a pattern by Go's rules.
    ///
    /// # Errors
    ///
    /// Go refuses it as well, or it is larger than the limits here.
    pub(crate) fn new(source: &str, large: &mut LargeLeft) -> Result<Self, PatternError> {
        let translated = parser::translate(source)?;
        match Self::compile(&translated, SMALL) {
            Err(PatternError::TooLarge) if large.0 > 0 => {
                large.0 -= 1;
                Self::compile(&translated, LARGE)
            }
            compiled => compiled,
        }
    }

    fn compile(translated: &str, limit: usize) -> Result<Self, PatternError> {
        // Bytes, since only there ASCII word boundaries can be negated.
        let regex = RegexBuilder::new(translated).size_limit(limit).build();
        regex.map(Self).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            other => PatternError::Untranslatable(other),
        })
    }

    /// Whether it fits a part of the text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

#[cfg(test)]
mod tests;
