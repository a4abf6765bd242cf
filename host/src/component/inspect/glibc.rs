//! Versions of the GNU C library.

use std::fmt;

/// A version of the GNU C library, or of one of its symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GlibcVersion {
    /// 2 in 2.36.
    pub major: u32,
    /// 36 in 2.36.
    pub minor: u32,
}

impl GlibcVersion {
    /// Reads `2.36`, and of `2.2.5` the first two numbers: no glibc of today is older than that.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        Some(Self {
            major: numbers.next()??,
            minor: numbers.next()??,
        })
    }

    /// Reads the name of a symbol version, `GLIBC_2.36`. `GLIBC_PRIVATE` and the like are none.
    pub(super) fn of_symbol_version(name: &str) -> Option<Self> {
        Self::parse(name.strip_prefix("GLIBC_")?)
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let version = |text| GlibcVersion::parse(text).expect("it is a version");
        assert!(version("2.9") < version("2.36"));
        assert!(version("2.36") < version("3.0"));
        assert_eq!(version("2.2.5"), version("2.2"));
    }

    #[test]
    fn only_numbered_symbol_versions_count() {
        for (name, version) in [
            ("GLIBC_2.34", Some("2.34")),
            ("GLIBC_2.2.5", Some("2.2")),
            ("GLIBC_PRIVATE", None),
            ("GLIBC_ABI_DT_RELR", None),
            ("GCC_3.0", None),
            ("GLIBC_2", None),
            ("GLIBC_2.x", None),
        ] {
            let found = GlibcVersion::of_symbol_version(name).map(|found| found.to_string());
            assert_eq!(found.as_deref(), version, "{name}");
        }
    }
}
