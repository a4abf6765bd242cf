//! What concerns the process as a whole, because of the libraries in it.
#![expect(
    unsafe_code,
    reason = "the C library's own ways to end and to allocate"
)]

use nix::libc;

use crate::exit::ExitReason;

/// Ends the process at once, and it ends nowhere else: destructors of libraries must not run beside
/// threads of components that still use them.
pub fn end(reason: ExitReason) -> ! {
    // SAFETY: _exit takes any status, and neither returns nor runs any code of the process.
    unsafe { libc::_exit(i32::from(reason.status())) }
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
