//! What commands print.

use std::io::{self, Write};

use super::complain;
use crate::exit::ExitReason;

/// Prints the result of a command.
pub(super) fn print(text: &str, out: &mut dyn Write) -> ExitReason {
    match out.write_all(text.as_bytes()) {
        Ok(()) => ExitReason::Done,
        // A reader that went away, as in `nri-host check | head -1`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitReason::Done,
        Err(error) => {
            complain(&error);
            ExitReason::Failure
        }
    }
}

/// Says something on standard error that is not the result.
#[expect(clippy::print_stderr, reason = "this is where commands report")]
pub(super) fn tell(text: &str) {
    eprint!("{text}");
}
