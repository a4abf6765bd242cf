//! The binary; everything is in the library.

use nri_host::exit::ExitReason;
use nri_host::{cli, process};

fn main() {
    // A panic has said what it has to say, and must not end the process in another way.
    let reason = std::panic::catch_unwind(cli::main).unwrap_or(ExitReason::Failure);
    process::end(reason)
}
