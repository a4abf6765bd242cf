//! Tiers of the tests: those that need more than cargo and a C compiler.
//!
//! A test of a tier whose needs are not met is skipped, and says so and why on
//! standard error, past the capture of the test runner. With
//! `NRI_HOST_TESTS_REQUIRE_ALL=1`, as in CI, it fails instead.

use std::fs;
use std::io::Write;

/// Set to anything but `0` or nothing, it turns a skip into a failure.
pub const REQUIRE_ALL_ENV: &str = "NRI_HOST_TESTS_REQUIRE_ALL";

/// `CAP_SYS_ADMIN`, by its bit, without which nothing can be mounted.
const CAP_SYS_ADMIN: u32 = 21;

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

/// Whether this process may mount file systems.
pub(crate) fn may_mount() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .is_some_and(|bits| bits >> CAP_SYS_ADMIN & 1 == 1)
}

/// Whether there is a program of this name.
pub(crate) fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
