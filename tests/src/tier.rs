//! Tiers of the tests: those that need more than cargo and a C compiler.
//!
//! A test of a tier whose needs are not met is skipped, and says so and why on
//! standard error, past the capture of the test runner. With
//! `NRI_HOST_TESTS_REQUIRE_ALL=1`, as in CI, it fails instead.

use std::io::Write;

/// Set to anything but `0` or nothing, it turns a skip into a failure.
pub const REQUIRE_ALL_ENV: &str = "NRI_HOST_TESTS_REQUIRE_ALL";

/// Whether the calling test must return at once: `missing` says what its tier
/// lacks on this machine.
///
/// # Panics
///
/// If something is missing and skipping is not allowed.
#[must_use]
pub fn skipped(tier: &str, missing: Option<String>) -> bool {
    let Some(reason) = missing else { return false };
    let required = std::env::var(REQUIRE_ALL_ENV).is_ok_and(|v| !v.is_empty() && v != "0");
    assert!(
        !required,
        "{tier}: {reason}, and {REQUIRE_ALL_ENV} forbids to skip it"
    );
    let test = std::thread::current();
    say(&format!(
        "SKIPPED {} ({tier}): {reason}",
        test.name().unwrap_or("test")
    ));
    true
}

/// Writes one line where a person sees it even if the test passes.
pub fn say(line: &str) {
    // `eprintln!` would be captured. A closed standard error loses the line only.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
