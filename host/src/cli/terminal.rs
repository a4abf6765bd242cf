//! What standard output is, and how text is made to fit it.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use terminal_size::{Height, Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that text gets however narrow the terminal is.
const MIN_WIDTH: usize = 40;

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const UNIMPORTANT: Style = Style::new().dimmed();

/// Where text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Screen {
    /// Columns; `None`: lines may be as long as they like.
    pub(super) width: Option<usize>,
    /// Lines that can be seen at once; `None`: there is no screen.
    pub(super) height: Option<usize>,
    /// Colours are shown, and wanted.
    pub(super) colours: bool,
}

impl Screen {
    /// Standard output as it is now.
    pub(super) fn of_stdout() -> Self {
        let stdout = io::stdout();
        let size = match stdout.is_terminal() {
            true => terminal_size_of(&stdout),
            false => None,
        };
        let (width, height) = size.unzip();
        Self {
            width: width.map(|Width(columns)| usize::from(columns).max(MIN_WIDTH)),
            height: height.map(|Height(lines)| usize::from(lines)),
            colours: shows_colours(&stdout),
        }
    }

    /// The text in this style, if colours are wanted.
    pub(super) fn paint<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        match self.colours {
            true => Cow::Owned(format!("{style}{text}{style:#}")),
            false => Cow::Borrowed(text),
        }
    }

    /// Lines of `text` that fit, the first behind `first` and the others behind as many spaces as
    /// `other` says. What more than `max_lines` are needed for is cut off. `text` must be
    /// [`plain`].
    pub(super) fn wrap(
        &self,
        text: &str,
        first: &str,
        other: usize,
        max_lines: usize,
    ) -> Vec<String> {
        let Some(width) = self.width else {
            return vec![format!("{first}{text}")];
        };
        let indent = " ".repeat(other);
        // Paths and names stay whole where they fit a line, so that they can be copied.
        let options = Options::new(width)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .initial_indent(first)
            .subsequent_indent(&indent);
        let mut lines: Vec<String> = textwrap::wrap(text, options)
            .into_iter()
            .map(Cow::into_owned)
            .collect();
        if lines.len() > max_lines {
            lines.truncate(max_lines);
            if let Some(last) = lines.last_mut() {
                *last = cut(&format!("{last} …"), width);
            }
        }
        lines
    }
}

/// Whether what is written there is to be in colour: on a terminal, and as `NO_COLOR`, `CLICOLOR`,
/// `CLICOLOR_FORCE` and `TERM` say.
pub(super) fn shows_colours(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// `text` without characters that do something to a terminal, or to the order of what is read: they
/// are shown by their numbers.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match text.contains(is_harmful) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.chars().fold(String::new(), |mut plain, char| {
            match is_harmful(char) {
                true => plain.extend(char.escape_default()),
                false => plain.push(char),
            }
            plain
        })),
    }
}

/// Control characters, line separators and those that change the direction of writing.
fn is_harmful(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// As much of a text as fits `width` columns, with a mark if that is not all of it.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let fits = |char: &char| {
        let needed = char.width().unwrap_or(0);
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    let mut text: String = text.chars().take_while(fits).collect();
    text.truncate(text.trim_end().len());
    text + "…"
}

/// A text with spaces behind it, or before it, so that it fills `width` columns.
pub(super) fn pad(text: &str, width: usize, to_the_right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(text.width()));
    match to_the_right {
        true => spaces + text,
        false => text.to_owned() + &spaces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Screen = Screen {
        width: Some(40),
        height: None,
        colours: false,
    };

    #[test]
    fn characters_that_command_a_terminal_are_shown_by_their_numbers() {
        for (text, shown) in [
            ("no: \"x\"", "no: \"x\""),
            ("größer → 大", "größer → 大"),
            ("\x1b[2J\u{9b}m", "\\u{1b}[2J\\u{9b}m"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{202e}txt\u{2066}", "\\u{202e}txt\\u{2066}"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn texts_are_cut_by_columns_and_not_by_characters() {
        for (text, width, shown) in [
            ("device", 6, "device"),
            ("device", 5, "devi…"),
            ("a bc", 3, "a…"),
            ("大大大", 6, "大大大"),
            ("大大大", 5, "大大…"),
            ("大大大", 4, "大…"),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
        ] {
            assert_eq!(cut(text, width), shown);
            assert!(shown.width() <= width, "{shown}");
        }
    }

    #[test]
    fn text_is_wrapped_to_a_terminal_and_what_is_too_much_is_cut() {
        let text = "the quick brown fox jumps over the lazy dog, and it does so again and again";
        let lines = NARROW.wrap(text, "    ", 6, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("    the quick"), "{lines:?}");
        assert!(lines[1].starts_with("      "), "{lines:?}");
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
        let long_word = "/x".repeat(60);
        let lines = NARROW.wrap(&long_word, "    ", 6, 9);
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), long_word);
    }

    #[test]
    fn without_a_terminal_a_line_is_as_long_as_it_is() {
        let screen = Screen {
            width: None,
            ..NARROW
        };
        let text = "x ".repeat(500);
        assert_eq!(screen.wrap(&text, "  ", 4, 1), [format!("  {text}")]);
    }
}
