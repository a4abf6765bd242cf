//! Whole numbers as YAML 1.1 and 1.2 write them.

/// Reads a number. `0666`, `0o666`, `0x1b6` and `438` are the same; so are `1_000`, `1e3` and
/// `1000.0`.
pub(super) fn parse(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = unsigned(digits)?;
    Some(if negative { -number } else { number })
}

fn unsigned(text: &str) -> Option<i128> {
    // No sign may follow; and no "inf" or "nan", which the parser of floats would take.
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.ends_with('_') {
        return None;
    }
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    if let Some(digits) = digits.strip_prefix("0x") {
        return in_radix(digits, 16);
    }
    if let Some(digits) = digits.strip_prefix("0b") {
        return in_radix(digits, 2);
    }
    if let Some(digits) = digits.strip_prefix("0o") {
        return in_radix(digits, 8);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let radix = if digits.starts_with('0') { 8 } else { 10 };
        return in_radix(&digits, radix);
    }
    whole_float(&digits)
}

fn in_radix(digits: &str, radix: u32) -> Option<i128> {
    // The standard library would take a sign here.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i128::from_str_radix(digits, radix).ok()
}

/// A number with a point or an exponent that is whole all the same.
fn whole_float(text: &str) -> Option<i128> {
    /// Above it not every whole number has a float.
    const MAX: f64 = 9_007_199_254_740_992.0;
    let number: f64 = text.parse().ok()?;
    let whole = number.fract() == 0.0 && number <= MAX;
    whole.then(|| format!("{number:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn one_number_can_be_written_in_many_ways() {
        for text in [
            "438",
            "0666",
            "0o666",
            "0x1b6",
            "0b110110110",
            "+438",
            "4_38",
            "438.0",
            "43.8e1",
        ] {
            assert_eq!(parse(text), Some(438), "{text}");
        }
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse("-5"), Some(-5));
        assert_eq!(parse("18446744073709551616"), Some(1 << 64));
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in [
            "", "-", "+", "x", "0888", "08", "1.5", "1e-1", "inf", "nan", ".inf", "0x", "0o8",
            "--1", "+-1", "0x-1", "1_", "_1", "1 2", "1:2", "1e999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
