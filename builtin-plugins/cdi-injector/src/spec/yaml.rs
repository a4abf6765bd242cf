//! From a text to its fields, within limits.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Options, UserMessageFormatter};

use super::{Invalid, RawSpec};

/// How deeply lists and mappings may be nested. Those of a CDI file have 6 levels.
const MAX_DEPTH: usize = 16;

/// How many scalars, lists and mappings a file may have: 20,000 devices of 20 each.
const MAX_NODES: usize = 400_000;

/// How many more of them aliases may stand for.
const MAX_REPLAYED: usize = 100_000;

/// Why a text is no CDI file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Its syntax or its fields are wrong, or it is larger than the limits.
    #[error("{message}")]
    Syntax {
        /// Where, counted from 1.
        line: Option<u64>,
        /// What is wrong.
        message: String,
    },
    /// It holds a second document.
    #[error("it has more than one document")]
    SecondDocument,
    /// It says nothing.
    #[error("it is empty")]
    Empty,
    /// It says what CDI does not allow.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl ParseError {
    /// Where the problem is, counted from 1, as far as that is known.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Syntax { line, .. } => *line,
            Self::Invalid(invalid) => invalid.line(),
            Self::SecondDocument | Self::Empty => None,
        }
    }
}

impl From<serde_saphyr::Error> for ParseError {
    fn from(error: serde_saphyr::Error) -> Self {
        if let serde_saphyr::Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        } = error
        {
            return Self::SecondDocument;
        }
        Self::Syntax {
            line: error.location().map(|location| location.line()),
            // The library's own words are for programmers, unless it is asked for others.
            message: error.render_with_formatter(&UserMessageFormatter),
        }
    }
}

/// Reads the fields.
pub(super) fn parse(text: &str) -> Result<RawSpec, ParseError> {
    // The parser takes it for a character of the first key.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed: Option<RawSpec> = serde_saphyr::from_str_with_options(text, options())?;
    parsed.ok_or(ParseError::Empty)
}

fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        max_nodes: MAX_NODES,
        max_events: 4 * MAX_NODES,
        max_aliases: 10_000,
        max_anchors: 1_000,
        max_documents: 1,
    };
    let alias_limits = serde_saphyr::alias_limits! {
        max_total_replayed_events: MAX_REPLAYED,
        max_replay_stack_depth: MAX_DEPTH,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        with_snippet: false,
        // See `lenient::permission_bits`.
        leading_zero_numbers_as_strings: true,
    }
}
