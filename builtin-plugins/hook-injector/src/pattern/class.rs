//! Literals, escapes and classes of characters.

use std::fmt::Write;

use super::parser::{PatternError, beginning};

/// The classes that Go has between `[:` and `:]`.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Writes a character so that it means itself, within brackets and without.
pub(super) fn write_literal(literal: char, out: &mut String) {
    if literal.is_ascii() && !literal.is_ascii_alphanumeric() {
        let _ = write!(out, "\\x{{{:x}}}", u32::from(literal));
    } else {
        out.push(literal);
    }
}

/// Reads an escape outside of brackets that stands for one character, and returns what follows.
pub(super) fn read_escape<'a>(text: &'a str, out: &mut String) -> Result<&'a str, PatternError> {
    if let Some(rest) = read_class_escape(text, out)? {
        return Ok(rest);
    }
    let (literal, rest) = read_char_escape(text)?;
    write_literal(literal, out);
    Ok(rest)
}

/// Reads a class in brackets, and returns what follows.
pub(super) fn read_brackets<'a>(text: &'a str, out: &mut String) -> Result<&'a str, PatternError> {
    let mut rest = &text[1..];
    out.push('[');
    if let Some(negated) = rest.strip_prefix('^') {
        out.push('^');
        rest = negated;
    }
    let mut is_first = true;
    loop {
        match rest.strip_prefix(']') {
            // As the first character it is one of the class.
            Some(rest) if !is_first => {
                out.push(']');
                return Ok(rest);
            }
            _ => rest = read_item(rest, out)?,
        }
        is_first = false;
    }
}

/// Reads one item of a class: another class, a character, or a range.
fn read_item<'a>(text: &'a str, out: &mut String) -> Result<&'a str, PatternError> {
    if let Some(rest) = read_posix(text, out)? {
        return Ok(rest);
    }
    if let Some(rest) = read_class_escape(text, out)? {
        return Ok(rest);
    }
    let (low, rest) = read_class_char(text)?;
    write_literal(low, out);
    let Some(high) = rest.strip_prefix('-').filter(|high| !high.starts_with(']')) else {
        return Ok(rest);
    };
    if high.is_empty() {
        return Err(PatternError::UnclosedClass);
    }
    let (high, after) = read_class_char(high)?;
    if high < low {
        let range = &text[..text.len() - after.len()];
        return Err(PatternError::Range(beginning(range)));
    }
    out.push('-');
    write_literal(high, out);
    Ok(after)
}

fn read_class_char(text: &str) -> Result<(char, &str), PatternError> {
    match text.chars().next() {
        None => Err(PatternError::UnclosedClass),
        Some('\\') => read_char_escape(text),
        Some(literal) => Ok((literal, &text[literal.len_utf8()..])),
    }
}

/// `[:alpha:]` or `[:^alpha:]`, if there is one.
fn read_posix<'a>(text: &'a str, out: &mut String) -> Result<Option<&'a str>, PatternError> {
    let Some(inside) = text.strip_prefix("[:") else {
        return Ok(None);
    };
    let Some((name, rest)) = inside.split_once(":]") else {
        return Ok(None);
    };
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(PatternError::Class(beginning(text)));
    }
    let _ = write!(out, "[:{name}:]");
    Ok(Some(rest))
}

/// `\d` or `\pL` and the like, if there is one. Those of Perl are ASCII.
fn read_class_escape<'a>(text: &'a str, out: &mut String) -> Result<Option<&'a str>, PatternError> {
    let Some(after) = text.strip_prefix('\\') else {
        return Ok(None);
    };
    let class = match after.chars().next() {
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        // Without the vertical tab.
        Some('s') => "[\\t\\n\\x0c\\r\\x20]",
        Some('S') => "[^\\t\\n\\x0c\\r\\x20]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some(sign @ ('p' | 'P')) => return read_property(text, sign == 'P', out).map(Some),
        _ => return Ok(None),
    };
    out.push_str(class);
    Ok(Some(&after[1..]))
}

/// `\pL`, `\p{Greek}`, `\p{^Greek}`, and the same with `\P`.
fn read_property<'a>(
    text: &'a str,
    negated: bool,
    out: &mut String,
) -> Result<&'a str, PatternError> {
    let unknown = || PatternError::Class(beginning(text));
    let after = &text[2..];
    let (name, rest) = match after.strip_prefix('{') {
        Some(inside) => inside.split_once('}').ok_or_else(unknown)?,
        None => {
            let letter = after.chars().next().ok_or_else(unknown)?;
            after.split_at(letter.len_utf8())
        }
    };
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, !negated),
        None => (name, negated),
    };
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(unknown());
    }
    let sign = if negated { 'P' } else { 'p' };
    let _ = write!(out, "\\{sign}{{{name}}}");
    Ok(rest)
}

/// An escape that stands for one character.
fn read_char_escape(text: &str) -> Result<(char, &str), PatternError> {
    let unknown = || PatternError::Escape(text.chars().take(2).collect());
    let after = &text[1..];
    let escaped = after
        .chars()
        .next()
        .ok_or(PatternError::TrailingBackslash)?;
    let rest = &after[escaped.len_utf8()..];
    let literal = match escaped {
        '0'..='7' => return read_octal(escaped, after),
        'x' => return read_hexadecimal(text, rest),
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => other,
        _ => return Err(unknown()),
    };
    Ok((literal, rest))
}

/// `\0`, or up to three octal digits.
fn read_octal(first: char, digits: &str) -> Result<(char, &str), PatternError> {
    let is_octal = |b: &u8| matches!(b, b'0'..=b'7');
    let count = digits.bytes().take(3).take_while(is_octal).count();
    if count == 1 && first != '0' {
        return Err(PatternError::BackReference(first));
    }
    let (digits, rest) = digits.split_at(count);
    let code = u32::from_str_radix(digits, 8).ok().and_then(char::from_u32);
    let literal = code.expect("three octal digits are a small number");
    Ok((literal, rest))
}

/// `\x7f` or `\x{10ffff}`.
fn read_hexadecimal<'a>(text: &str, after: &'a str) -> Result<(char, &'a str), PatternError> {
    let unknown = || PatternError::Escape(beginning(text));
    let (digits, rest) = match after.strip_prefix('{') {
        Some(inside) => inside.split_once('}').ok_or_else(unknown)?,
        None => after.split_at_checked(2).ok_or_else(unknown)?,
    };
    // A sign would pass as a part of the number.
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    let code = u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32);
    Ok((code.ok_or_else(unknown)?, rest))
}
