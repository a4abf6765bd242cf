//! Durations with units.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::mistake::Problem;

/// What time limits may be: less is no time at all, more is no limit.
const SENSIBLE: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

/// Reads `"500ms"`, `"2s"` or `"1m"`.
pub(super) fn parse(text: &str) -> Result<Duration, Problem> {
    let bad = || Problem::BadDuration {
        found: text.to_owned(),
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(bad()),
    };
    if number.is_empty() {
        return Err(bad());
    }
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(millis))
        .map(Duration::from_millis)
        .filter(|duration| SENSIBLE.contains(duration))
        .ok_or_else(|| Problem::DurationRange {
            found: text.to_owned(),
        })
}

/// As [`parse`] reads it. Less than a millisecond is left out.
pub(super) fn format(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let unit = units.iter().find(|(unit, _)| millis.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or(&(1, "ms"));
    format!("{}{name}", millis / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_with_a_unit_is_a_duration() {
        for (text, millis) in [
            ("1ms", 1),
            ("500ms", 500),
            ("2s", 2000),
            ("1m", 60_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(
                parse(text).expect("it is well-formed"),
                Duration::from_millis(millis),
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for text in ["1ms", "1500ms", "1s", "90s", "1m", "59m", "1h"] {
            assert_eq!(format(parse(text).expect("it is well-formed")), text);
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "", "2", "s", "1.5s", "-1s", "+1s", "2 s", "2S", "1m30s", "2sec", "٣s",
        ] {
            assert!(
                matches!(parse(text), Err(Problem::BadDuration { .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn senseless_lengths_are_refused() {
        for text in [
            "0ms",
            "0s",
            "3601s",
            "2h",
            "99999999999999999999s",
            "9999999999999999h",
        ] {
            assert!(
                matches!(parse(text), Err(Problem::DurationRange { .. })),
                "{text:?}"
            );
        }
    }
}
