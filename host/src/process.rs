//! What concerns the process as a whole, because of the libraries in it.
#![expect(
    unsafe_code,
    reason = "the C library's own ways to end and to allocate"
)]

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::exit::ExitReason;

/// Ends the process at once, and it ends nowhere else: destructors of libraries must not run beside
/// threads of components that still use them.
pub fn end(reason: ExitReason) -> ! {
    // SAFETY: _exit takes any status, and neither returns nor runs any code of the process.
    unsafe { libc::_exit(i32::from(reason.status())) }
}

/// The status with which the process ends when its time is up.
static LAST_STATUS: AtomicU8 = AtomicU8::new(0);

extern "C" fn time_is_up(_: c_int) {
    // SAFETY: as above; it is async-signal-safe, too.
    unsafe { libc::_exit(LAST_STATUS.load(Ordering::Relaxed).into()) }
}

/// Ends the process after `time`, less than a second, unless it has ended by then.
///
/// The first use of a thread-local variable with a destructor takes the lock of the dynamic loader, in
/// glibc. A constructor that hangs holds it, and then even tidying up can hang.
pub fn end_within(time: Duration, reason: ExitReason) {
    LAST_STATUS.store(reason.status(), Ordering::Relaxed);
    let handler = SigHandler::Handler(time_is_up);
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    let none = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let timer = libc::itimerval {
        it_interval: none,
        it_value: libc::timeval {
            tv_usec: time.subsec_micros().into(),
            ..none
        },
    };
    // SAFETY: the handler is async-signal-safe and never returns.
    let _ = unsafe { sigaction(Signal::SIGALRM, &action) };
    // SAFETY: the timer is a valid one, and the one before is not asked for.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) };
}

/// Has the allocator give large pieces back to the system as soon as they are freed.
///
/// Libraries and synchronizations are large and short-lived. By default glibc learns from the first
/// of them to keep the others' memory on its heap: two megabytes that a small daemon does not need.
pub fn return_large_memory() {
    const LARGE: i32 = 128 << 10;
    // SAFETY: mallopt has no preconditions; setting the threshold to its default value only stops
    // it from moving.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}
