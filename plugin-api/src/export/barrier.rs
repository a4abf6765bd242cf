//! No panic may cross the border: it would end the process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::host::Host;
use crate::logging;

/// What is left of a panic: its text and place. The host's log has it already.
#[derive(Debug)]
pub(super) struct Panicked(pub(super) String);

/// Runs code of the component for this instance.
///
/// Whoever gets [`Panicked`] must not use what the code could have left half changed.
pub(super) fn guarded<R>(host: &Host, code: impl FnOnce() -> R) -> Result<R, Panicked> {
    let _attached = host.attach();
    logging::forget_last_panic();
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let message = logging::describe_panic(host, &*payload);
        // Dropping the payload could panic again.
        std::mem::forget(payload);
        Panicked(message)
    })
}
