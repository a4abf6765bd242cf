//! Globs of absolute paths.

use std::path::Path;
use std::str::FromStr;

use glob::Pattern;

use super::RuleError;

/// Any number of components, none included.
const RECURSIVE: &str = "**";

/// An absolute path that may have wildcards: `?`, `*`, `**`, `[…]`. Of these only `**` goes beyond a
/// component of the path; hidden files are files.
///
/// It is compared component by component: over a whole path, [`Pattern`] takes time that grows with
/// a power of the length, and authors of pods choose the length.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    text: String,
    /// What is before, between and after each `**`.
    runs: Vec<Vec<Pattern>>,
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
        let parts: Vec<&str> = components(text).collect();
        let patterns = |run: &[&str]| run.iter().map(|part| Pattern::new(part)).collect();
        let runs = parts.split(|part| *part == RECURSIVE).map(patterns);
        Ok(Self {
            text: text.to_owned(),
            runs: runs.collect::<Result<_, _>>().map_err(RuleError::Glob)?,
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

    /// Whether `**` is in it.
    pub(super) fn is_recursive(&self) -> bool {
        self.runs.len() > 1
    }

    /// Whether the path, or a folder above it, fits.
    pub(super) fn covers(&self, path: &Path) -> bool {
        let Some(path) = path.to_str() else {
            return false;
        };
        let names: Vec<&str> = components(path).collect();
        let Some((first, others)) = self.runs.split_first() else {
            return false;
        };
        if !begins(&names, first) {
            return false;
        }
        let mut rest = &names[first.len()..];
        // The first place where a run fits leaves the most to those that follow.
        for run in others {
            let mut starts = 0..rest.len();
            let Some(start) = starts.find(|start| begins(&rest[*start..], run)) else {
                return false;
            };
            rest = &rest[start + run.len()..];
        }
        true
    }
}

fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// Whether the names begin with ones that fit the run.
fn begins(names: &[&str], run: &[Pattern]) -> bool {
    let mut pairs = names.iter().zip(run);
    names.len() >= run.len() && pairs.all(|(name, pattern)| pattern.matches(name))
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
    fn two_stars_span_any_number_of_components() {
        assert!(covers("/srv/**/public", "/srv/public"));
        assert!(covers("/srv/**/a/**/b", "/srv/a/x/a/b/c"));
        assert!(covers("/srv/**", "/srv/a"));
        assert!(!covers("/srv/**", "/srv"));
        assert!(!covers("/srv/**/a/**/b", "/srv/b/a"));
        assert!(!covers("/srv/**/public", "/srv/a/publications"));
    }

    #[test]
    fn long_names_do_not_make_it_slow() {
        // To compare all splits would take days.
        let path = format!("/srv/{}/x", "-".repeat(4000));
        assert!(!covers("/srv/*-*-*-*-*/data", &path));
        assert!(!covers("/**/*-*-*-*-*/data", &path));
        let path = "/-".repeat(2000);
        assert!(!covers("/**/-/**/-/**/-/**/x", &path));
    }

    #[test]
    fn rules_that_climb_are_refused() {
        for text in ["/srv/../etc", "/srv/.", "/.."] {
            assert!(text.parse::<PathPattern>().is_err(), "{text}");
        }
    }
}
