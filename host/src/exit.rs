//! How the process ends.

/// Why the process ends. The numbers are a promise to scripts and unit files; those from 64 on are
/// the ones of `sysexits.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitReason {
    /// All went well.
    Done = 0,
    /// Something failed that no other status is for.
    Failure = 1,
    /// The command line is wrong, or names a component that is not there.
    Usage = 64,
    /// A file is not what it should be.
    BadFile = 65,
    /// The daemon is not running, or does not answer.
    Unavailable = 69,
    /// A component is stuck, and `on_stuck` asks for a new start of the host.
    Stuck = 75,
    /// The configuration is wrong.
    BadConfig = 78,
}

impl ExitReason {
    /// The exit status.
    pub fn status(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statuses_are_the_documented_ones() {
        for (reason, status) in [
            (ExitReason::Done, 0),
            (ExitReason::Failure, 1),
            (ExitReason::Usage, 64),
            (ExitReason::BadFile, 65),
            (ExitReason::Unavailable, 69),
            (ExitReason::Stuck, 75),
            (ExitReason::BadConfig, 78),
        ] {
            assert_eq!(reason.status(), status);
        }
    }
}
