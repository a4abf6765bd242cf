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

    const PAGE: &str = include_str!("../../docs/exit-status.md");

    /// All but [`ExitReason::Command`], which has any status.
    const REASONS: [ExitReason; 7] = [
        ExitReason::Done,
        ExitReason::Failure,
        ExitReason::Usage,
        ExitReason::BadFile,
        ExitReason::Unavailable,
        ExitReason::Stuck,
        ExitReason::BadConfig,
    ];

    #[test]
    fn the_documented_statuses_are_those_that_there_are() {
        let documented: Vec<u8> = PAGE
            .lines()
            .skip_while(|line| !line.starts_with("|---"))
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .filter_map(|row| row.split('|').nth(1))
            .map(|status| status.trim().parse().expect("the first column has numbers"))
            .collect();
        assert_eq!(documented, REASONS.map(ExitReason::status));
    }

    #[test]
    fn the_status_of_a_components_command_is_passed_on() {
        assert_eq!(ExitReason::Command(7).status(), 7);
    }
}
