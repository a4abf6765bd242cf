//! Numbers in few columns.

/// A time in at most six: `5s`, `3m12s`, `2h05m`, `4d03h`.
pub(super) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if days > 99 => format!("{days}d"),
        () if days > 0 => format!("{days}d{:02}h", hours % 24),
        () if hours > 0 => format!("{hours}h{:02}m", minutes % 60),
        () if minutes > 0 => format!("{minutes}m{:02}s", seconds % 60),
        () => format!("{seconds}s"),
    }
}

/// A latency in at most five: `95µs`, `1.2ms`, `120ms`, `2.0s`.
pub(super) fn latency(micros: u64) -> String {
    let tenths = |of: u64, unit| format!("{}.{}{unit}", micros / of, micros % of * 10 / of);
    match micros {
        0..1_000 => format!("{micros}µs"),
        1_000..10_000 => tenths(1_000, "ms"),
        10_000..1_000_000 => format!("{}ms", micros / 1_000),
        1_000_000..100_000_000 => tenths(1_000_000, "s"),
        _ => format!("{}s", micros / 1_000_000),
    }
}

/// A count in at most `digits`, of four or more: `9999`, `12k`, `345M`.
pub(super) fn count(number: u64, digits: usize) -> String {
    let whole = number.to_string();
    if whole.len() <= digits {
        return whole;
    }
    let mut rest = number;
    for unit in ["k", "M", "G", "T", "P", "E"] {
        rest /= 1000;
        let short = format!("{rest}{unit}");
        if short.len() <= digits {
            return short;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_at_every_size() {
        let shown: Vec<String> = [5, 192, 7500, 356_400, 10_000_000]
            .into_iter()
            .map(span)
            .collect();
        assert_eq!(shown, ["5s", "3m12s", "2h05m", "4d03h", "115d"]);
    }

    #[test]
    fn latencies_are_short_at_every_size() {
        let shown: Vec<String> = [0, 95, 1_250, 12_500, 999_999, 2_040_000, 120_000_000]
            .into_iter()
            .map(latency)
            .collect();
        assert_eq!(
            shown,
            ["0µs", "95µs", "1.2ms", "12ms", "999ms", "2.0s", "120s"]
        );
    }

    #[test]
    fn counts_are_whole_as_long_as_they_fit() {
        for (number, digits, shown) in [
            (0, 4, "0"),
            (9_999, 4, "9999"),
            (12_345, 4, "12k"),
            (12_345, 5, "12345"),
            (1_234_567, 4, "1M"),
            (1_234_567, 5, "1234k"),
            (u64::MAX, 4, "18E"),
        ] {
            assert_eq!(count(number, digits), shown);
        }
    }
}
