//! What commands print.

use std::io::{self, Write};

use super::complain;
use crate::exit::ExitReason;

/// Prints the result of a command.
pub(super) fn print(text: &str, out: &mut dyn Write) -> ExitReason {
    match print_part(text, out) {
        Ok(()) => ExitReason::Done,
        Err(reason) => reason,
    }
}

/// Prints a part of the result of a command that goes on, to be seen at once. The error is what the
/// command is to end with, as nobody sees what follows.
pub(super) fn print_part(text: &str, out: &mut dyn Write) -> Result<(), ExitReason> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // A reader that went away, as in `nri-host check | head -1`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ExitReason::Done),
        Err(error) => {
            complain(&error);
            Err(ExitReason::Failure)
        }
    }
}

/// Says something on standard error that is not the result.
#[expect(clippy::print_stderr, reason = "this is where commands report")]
pub(super) fn tell(text: &str) {
    eprint!("{text}");
}
