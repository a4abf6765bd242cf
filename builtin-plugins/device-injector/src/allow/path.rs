//! Globs of absolute paths.

use std::path::Path;
use std::str::FromStr;

use glob::{MatchOptions, Pattern};

use super::RuleError;

/// `*` stays within a component of the path, `**` does not, and hidden files are files.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// An absolute path that may have wildcards: `?`, `*`, `**`, `[…]`.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    text: String,
    pattern: Pattern,
}

impl FromStr for PathPattern {
    type Err = RuleError;

    /// The caller has seen that the text starts with `/`.
    fn from_str(text: &str) -> Result<Self, RuleError> {
        if text.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(RuleError::DotComponent);
        }
        // "/srv/" means the same as "/srv".
        let trimmed = text.trim_end_matches('/');
        let text = if trimmed.is_empty() { "/" } else { trimmed };
        Ok(Self {
            text: text.to_owned(),
            pattern: Pattern::new(text).map_err(RuleError::Glob)?,
        })
    }
}

impl PathPattern {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The path itself, if the pattern has no wildcard.
    pub(super) fn literal(&self) -> Option<&Path> {
        let wildcard = self.text.contains(['*', '?', '[']);
        (!wildcard).then(|| Path::new(&self.text))
    }

    /// Whether the path, or a folder above it, fits.
    pub(super) fn covers(&self, path: &Path) -> bool {
        path.ancestors()
            .any(|path| self.pattern.matches_path_with(path, OPTIONS))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PathPattern;

    fn covers(pattern: &str, path: &str) -> bool {
        let pattern: PathPattern = pattern.parse().unwrap();
        pattern.covers(Path::new(path))
    }

    #[test]
    fn a_folder_covers_what_is_below_it_and_nothing_beside_it() {
        assert!(covers("/srv/data", "/srv/data"));
        assert!(covers("/srv/data", "/srv/data/a/b"));
        assert!(covers("/srv/data/", "/srv/data/a"));
        assert!(covers("/", "/etc"));
        assert!(!covers("/srv/data", "/srv/data2"));
        assert!(!covers("/srv/data", "/srv"));
    }

    #[test]
    fn a_star_stays_within_one_component() {
        assert!(covers("/srv/*/public", "/srv/a/public/x"));
        assert!(!covers("/srv/*/public", "/srv/a/b/public"));
        assert!(covers("/srv/**/public", "/srv/a/b/public"));
        assert!(covers("/srv/*", "/srv/.hidden"));
    }

    #[test]
    fn rules_that_climb_are_refused() {
        for text in ["/srv/../etc", "/srv/.", "/.."] {
            assert!(text.parse::<PathPattern>().is_err(), "{text}");
        }
    }
}
