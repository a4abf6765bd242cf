//! Reads a pattern by the rules of Go's package `regexp/syntax`, and writes it for the `regex`
//! crate.

use std::collections::HashSet;
use std::fmt::Write;

use super::class;

/// The largest count of a repetition, and of nested repetitions multiplied.
const MAX_REPEAT: u32 = 1000;

/// How deeply groups may be nested.
const MAX_DEPTH: usize = 200;

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("it ends in a backslash")]
    TrailingBackslash,
    #[error("unknown escape {0:?}")]
    Escape(String),
    #[error("back-references are not supported: \\{0}")]
    BackReference(char),
    #[error("look-around is not supported: {0:?}")]
    LookAround(&'static str),
    #[error("unknown group {0:?}")]
    Group(String),
    #[error("the group name {0:?} is used twice")]
    GroupName(String),
    #[error("a closing parenthesis is missing")]
    UnclosedGroup,
    #[error("a closing parenthesis without an opening one")]
    UnopenedGroup,
    #[error("groups are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("a closing bracket is missing")]
    UnclosedClass,
    #[error("the range {0:?} is upside down")]
    Range(String),
    #[error("unknown class {0:?}")]
    Class(String),
    #[error("nothing to repeat before {0:?}")]
    NothingToRepeat(String),
    #[error("a repetition cannot be repeated: {0:?}")]
    DoubledRepeat(String),
    #[error("repetition counts go up to {MAX_REPEAT}, also when nested ones are multiplied: {0:?}")]
    RepeatCount(String),
    #[error("it needs too much memory")]
    TooLarge,
    #[error("it cannot be used")]
    Untranslatable(#[source] regex::Error),
}

/// Writes a pattern of Go for the `regex` crate.
///
/// # Errors
///
/// Go refuses the pattern; or it is nested deeper than here is allowed.
pub(super) fn translate(source: &str) -> Result<String, PatternError> {
    let mut parser = Parser::new(source);
    while !parser.rest.is_empty() {
        parser.step()?;
    }
    if parser.groups.is_empty() {
        Ok(parser.out)
    } else {
        Err(PatternError::UnclosedGroup)
    }
}

/// What came before the place where the parser is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// The start of an alternative.
    Nothing,
    /// Something that can be repeated. How often, at most, a part of it is repeated already.
    Atom { repeats: u32 },
    /// The same, and its repetition was the last thing that was read.
    Repetition { repeats: u32 },
}

impl Before {
    fn repeats(self) -> u32 {
        match self {
            Self::Nothing => 1,
            Self::Atom { repeats } | Self::Repetition { repeats } => repeats,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    out: String,
    before: Before,
    /// The most that anything in the innermost open group is repeated.
    repeats: u32,
    /// The same for the groups around it.
    groups: Vec<u32>,
    names: HashSet<&'a str>,
}

impl<'a> Parser<'a> {
    fn new(rest: &'a str) -> Self {
        Self {
            rest,
            out: String::with_capacity(rest.len()),
            before: Before::Nothing,
            repeats: 1,
            groups: Vec::new(),
            names: HashSet::new(),
        }
    }

    fn step(&mut self) -> Result<(), PatternError> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(());
        };
        match first {
            '(' => return self.open_group(),
            '|' => {
                self.skip(1);
                self.out.push('|');
                self.end_atom(Before::Nothing);
            }
            ')' => return self.close_group(),
            '*' | '+' | '?' => return self.repeat(1, 1),
            '{' => return self.braces(),
            '\\' => return self.escape(),
            '[' => {
                self.rest = class::read_brackets(self.rest, &mut self.out)?;
                self.atom();
            }
            '^' | '$' | '.' => {
                self.skip(1);
                self.out.push(first);
                self.atom();
            }
            literal => {
                self.skip(literal.len_utf8());
                self.literal(literal);
            }
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn literal(&mut self, literal: char) {
        class::write_literal(literal, &mut self.out);
        self.atom();
    }

    fn atom(&mut self) {
        self.end_atom(Before::Atom { repeats: 1 });
    }

    /// What was read last is not repeated any further.
    fn end_atom(&mut self, next: Before) {
        self.repeats = self.repeats.max(self.before.repeats());
        self.before = next;
    }

    fn open_group(&mut self) -> Result<(), PatternError> {
        // Nobody asks what a group has caught.
        let Some(after) = self.rest.strip_prefix("(?") else {
            self.skip(1);
            return self.push_group("(?:");
        };
        for around in ["(?=", "(?!", "(?<=", "(?<!"] {
            if self.rest.starts_with(around) {
                return Err(PatternError::LookAround(around));
            }
        }
        let named = after.strip_prefix("P<").or_else(|| after.strip_prefix('<'));
        if let Some(named) = named {
            return self.open_named_group(named);
        }
        self.flags(after)
    }

    fn open_named_group(&mut self, named: &'a str) -> Result<(), PatternError> {
        let unknown = || PatternError::Group(beginning(self.rest));
        let (name, rest) = named.split_once('>').ok_or_else(unknown)?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(unknown());
        }
        if !self.names.insert(name) {
            return Err(PatternError::GroupName(beginning(name)));
        }
        self.rest = rest;
        self.push_group("(?:")
    }

    /// Flags for a group, `(?i:`, or for the rest of the one that is open, `(?i)`.
    fn flags(&mut self, after: &'a str) -> Result<(), PatternError> {
        let (mut on, mut off) = (String::new(), String::new());
        let (mut negative, mut seen) = (false, false);
        for (i, flag) in after.char_indices() {
            match flag {
                'i' | 'm' | 's' | 'U' => {
                    seen = true;
                    let (to, from) = if negative {
                        (&mut off, &mut on)
                    } else {
                        (&mut on, &mut off)
                    };
                    from.retain(|other| other != flag);
                    if !to.contains(flag) {
                        to.push(flag);
                    }
                }
                // The flags after it have to be some.
                '-' if !negative => (negative, seen) = (true, false),
                ':' | ')' if !negative || seen => {
                    self.rest = &after[i + 1..];
                    let minus = if off.is_empty() { "" } else { "-" };
                    if flag == ':' {
                        return self.push_group(&format!("(?{on}{minus}{off}:"));
                    }
                    if !on.is_empty() || !off.is_empty() {
                        let _ = write!(self.out, "(?{on}{minus}{off})");
                    }
                    return self.flags_then_repetition();
                }
                _ => break,
            }
        }
        Err(PatternError::Group(beginning(self.rest)))
    }

    /// In `a(?i)*` Go repeats the `a`. Nobody means that, and the other library cannot say it.
    fn flags_then_repetition(&mut self) -> Result<(), PatternError> {
        if self.rest.starts_with(['*', '+', '?']) || read_braces(self.rest).is_some() {
            return Err(PatternError::NothingToRepeat(beginning(self.rest)));
        }
        Ok(())
    }

    fn push_group(&mut self, opening: &str) -> Result<(), PatternError> {
        if self.groups.len() >= MAX_DEPTH {
            return Err(PatternError::TooDeep);
        }
        self.out.push_str(opening);
        self.end_atom(Before::Nothing);
        self.groups.push(std::mem::replace(&mut self.repeats, 1));
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), PatternError> {
        let outer = self.groups.pop().ok_or(PatternError::UnopenedGroup)?;
        self.skip(1);
        self.out.push(')');
        self.end_atom(Before::Nothing);
        let repeats = std::mem::replace(&mut self.repeats, outer);
        self.before = Before::Atom { repeats };
        Ok(())
    }

    /// `{` is a repetition if all of it is well-formed, else itself.
    fn braces(&mut self) -> Result<(), PatternError> {
        let Some(braces) = read_braces(self.rest) else {
            self.skip(1);
            self.literal('{');
            return Ok(());
        };
        let text = &self.rest[..braces.len];
        let too_often = || PatternError::RepeatCount(beginning(text));
        let min = braces.min.filter(|min| *min <= MAX_REPEAT);
        let min = min.ok_or_else(too_often)?;
        let max = match braces.max {
            Max::Unbounded => None,
            Max::Count(max) => {
                let max = max.filter(|max| *max <= MAX_REPEAT && *max >= min);
                Some(max.ok_or_else(too_often)?)
            }
        };
        let count = match max {
            // Never: whatever is inside does not matter.
            Some(0) => None,
            Some(max) => Some(max),
            None => Some(min.max(1)),
        };
        let inner = self.before.repeats();
        let repeats = count.map_or(Some(1), |count| count.checked_mul(inner));
        let repeats = repeats.filter(|repeats| *repeats <= MAX_REPEAT);
        let repeats = repeats.ok_or_else(too_often)?;
        self.repeat(braces.len, repeats.max(1))
    }

    /// A repetition operator of this length; `?` after it makes it lazy.
    fn repeat(&mut self, len: usize, repeats: u32) -> Result<(), PatternError> {
        let (operator, rest) = self.rest.split_at(len);
        match self.before {
            Before::Nothing => Err(PatternError::NothingToRepeat(beginning(operator))),
            Before::Repetition { .. } => Err(PatternError::DoubledRepeat(beginning(operator))),
            Before::Atom { repeats: inner } => {
                self.out.push_str(operator);
                self.rest = rest;
                if let Some(rest) = rest.strip_prefix('?') {
                    self.out.push('?');
                    self.rest = rest;
                }
                self.before = Before::Repetition {
                    repeats: if operator.starts_with('{') {
                        repeats
                    } else {
                        inner
                    },
                };
                Ok(())
            }
        }
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        let after = &self.rest[1..];
        if let Some(quoted) = after.strip_prefix('Q') {
            let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            literal.chars().for_each(|c| self.literal(c));
            // Whatever is repeated next, it is not a repetition.
            let repeats = self.before.repeats();
            if self.before != Before::Nothing {
                self.before = Before::Atom { repeats };
            }
            self.rest = rest;
            return Ok(());
        }
        let assertion = match after.chars().next() {
            Some('A') => "\\A",
            Some('z') => "\\z",
            Some('b') => "(?-u:\\b)",
            // Not within a character, where the ASCII one would fit as well.
            Some('B') => "(?:(?:\\b|\\B)(?-u:\\B))",
            _ => {
                self.rest = class::read_escape(self.rest, &mut self.out)?;
                self.atom();
                return Ok(());
            }
        };
        self.skip(2);
        self.out.push_str(assertion);
        self.atom();
        Ok(())
    }
}

/// A well-formed `{2}`, `{2,}` or `{2,5}`. Counts that fit no number are none.
struct Braces {
    len: usize,
    min: Option<u32>,
    max: Max,
}

enum Max {
    Unbounded,
    Count(Option<u32>),
}

fn read_braces(text: &str) -> Option<Braces> {
    let inside = text.strip_prefix('{')?;
    let (inside, _) = inside.split_once('}')?;
    let (min, max) = match inside.split_once(',') {
        None => (inside, Max::Count(read_count(inside)?)),
        Some((min, "")) => (min, Max::Unbounded),
        Some((min, max)) => (min, Max::Count(read_count(max)?)),
    };
    Some(Braces {
        len: inside.len() + 2,
        min: read_count(min)?,
        max,
    })
}

/// Digits without a leading zero; a number beyond all is `Some(None)`.
#[expect(clippy::option_option, reason = "no number, and one that is too large")]
fn read_count(text: &str) -> Option<Option<u32>> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    Some(text.parse().ok())
}

/// As much of a pattern as an error quotes.
pub(super) fn beginning(text: &str) -> String {
    text.chars().take(16).collect()
}
