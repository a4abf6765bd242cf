//! Finds the word that was probably meant.

/// The candidate nearest to `word`, if it is near enough to be worth suggesting.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= tolerance(word, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance in which `-` and `_` are one, and case does not count.
fn distance(a: &str, b: &str) -> usize {
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    strsim::osa_distance(&plain(a), &plain(b))
}

/// A third of the longer word, so that short words are not taken for each other.
fn tolerance(a: &str, b: &str) -> usize {
    (a.chars().count().max(b.chars().count()) / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 5] = ["name", "index", "timeout", "sync_timeout", "on_failure"];

    #[test]
    fn slips_of_the_pen_are_recognized() {
        for (word, meant) in [
            ("nmae", "name"),
            ("names", "name"),
            ("Index", "index"),
            ("time_out", "timeout"),
            ("sync-timeout", "sync_timeout"),
            ("onfailure", "on_failure"),
        ] {
            assert_eq!(nearest(word, KEYS.into_iter()), Some(meant), "{word:?}");
        }
    }

    #[test]
    fn other_words_suggest_nothing() {
        for word in ["", "x", "priority", "kind"] {
            assert_eq!(nearest(word, KEYS.into_iter()), None, "{word:?}");
        }
    }
}
