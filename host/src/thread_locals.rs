//! Thread-local variables of the libraries that the host's own threads use.
//!
//! glibc takes the lock of the dynamic loader when a variable with a destructor is first used on a
//! thread. The constructors of a component's library hold that lock, perhaps for ever, and a thread that
//! comes to log something only then would wait for them.

use tokio::runtime::Handle;

/// Target of events that are written nowhere.
pub const UNWRITTEN: &str = "nri_host::unwritten";

/// Makes those of the calling thread now.
pub fn make() {
    // Those of the log.
    tracing::error!(target: UNWRITTEN, "");
    // That with which the supervisor is woken.
    let _ = Handle::try_current();
}
