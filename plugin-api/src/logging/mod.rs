//! Brings what a component logs to the host's log, under the instance's name.
//!
//! A library has its own copy of `tracing` and `log`, which the host cannot see. The first instance
//! installs the forwarders of this module; which host a line goes to depends on the thread that
//! writes it.

mod current;
mod line;
mod log_forwarder;
mod panic_hook;
mod tracing_forwarder;

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::abi::log_level;
use crate::host::Host;

pub use current::Attached;
pub(crate) use current::attach;
pub(crate) use panic_hook::{describe_panic, forget_last_panic};

/// The most talkative level of all instances so far. Whether a line is kept is decided again for
/// its instance.
static MAX_LEVEL: AtomicU32 = AtomicU32::new(0);

/// Lets the instance take part in logging from any thread, see [`Host::attach`].
pub(crate) fn start(host: &Host) {
    static INSTALL: Once = Once::new();
    current::add_instance(host);
    let before = MAX_LEVEL.fetch_max(host.log_level().min(log_level::TRACE), Ordering::Relaxed);
    INSTALL.call_once(|| {
        panic_hook::install();
        tracing_forwarder::install();
        log_forwarder::install();
    });
    if before < host.log_level() {
        tracing::callsite::rebuild_interest_cache();
        log_forwarder::raise_max_level(MAX_LEVEL.load(Ordering::Relaxed));
    }
}

/// Ends what [`start`] began. The forwarders stay: they belong to the library.
pub(crate) fn stop(host: &Host) {
    current::remove_instance(host);
}
