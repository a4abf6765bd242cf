//! How the process ends.

/// Why the process ends. The numbers are a promise to scripts and unit files; those from 64 on are
/// the ones of `sysexits.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// All went well.
    Done,
    /// Something failed that no other status is for.
    Failure,
    /// The command line is wrong, or names a component that is not there.
    Usage,
    /// A file is not what it should be.
    BadFile,
    /// The daemon is not running, or does not answer.
    Unavailable,
    /// A component is stuck, and `on_stuck` asks for a new start of the host.
    Stuck,
    /// The configuration is wrong.
    BadConfig,
    /// A component's own command ended with this status.
    Command(u8),
}

impl ExitReason {
    /// The exit status.
    pub fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failure => 1,
            Self::Usage => 64,
            Self::BadFile => 65,
            Self::Unavailable => 69,
            Self::Stuck => 75,
            Self::BadConfig => 78,
            Self::Command(status) => status,
        }
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
            (ExitReason::Command(7), 7),
        ] {
            assert_eq!(reason.status(), status);
        }
    }
}
