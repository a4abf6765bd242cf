//! The handlers of fault signals and of `exit`: they say whose fault it is, and let the process die
//! as it would have died without them.
//!
//! The handler of a signal puts the action that was there before back, and returns: the fault happens
//! again, and meets that action with its own details, as if nobody had looked. So Rust's own handler
//! still tells a stack overflow, core dumps show the fault, and the service manager sees the signal.
//! A signal that does not come again by itself, as it was sent or as a trap is behind it, is sent again,
//! and has its default effect.
//!
//! All code that they run is async-signal-safe: system calls and arithmetic, no lock, no allocation.
#![expect(
    unsafe_code,
    reason = "signal handlers and alternate stacks are set up with raw pointers"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, getpid, gettid, write};

use super::doing;
use super::report::{Cause, Report, Text};
use crate::exit::ExitReason;
use crate::process;

/// The signals with which faults end a process. Compilers make traps of SIGILL or SIGTRAP, and a
/// service manager may have forbidden system calls with SIGSYS.
const FAULTS: [Signal; 7] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGILL,
    Signal::SIGFPE,
    Signal::SIGABRT,
    Signal::SIGTRAP,
    Signal::SIGSYS,
];

/// Size of the alternate stack of each of the host's threads, in bytes. Only what a handler touches
/// of it ever takes memory.
const ALTERNATE_STACK: usize = 64 << 10;
/// Longest line on standard error, in bytes: a pipe that can be written to takes as much at once.
const MAX_LINE: usize = 2048;
/// Longest record, in bytes: all its names at their longest.
const MAX_RECORD: usize = 3072;
/// How long the line waits for a reader of standard error that is slow, in milliseconds.
const STDERR_PATIENCE: u16 = 1000;

#[derive(Debug)]
struct Installed {
    process: Pid,
    record: Option<File>,
    before: [Option<SigAction>; FAULTS.len()],
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// Nobody has a crash to report so far.
const NOBODY: i32 = 0;
/// Somebody has reported one.
const DONE: i32 = -1;
/// The thread that reports a crash, [`NOBODY`] or [`DONE`].
static REPORTER: AtomicI32 = AtomicI32::new(NOBODY);

/// Libraries that were loaded, and the first one's path.
static LIBRARIES: AtomicUsize = AtomicUsize::new(0);
static FIRST_LIBRARY: OnceLock<String> = OnceLock::new();

/// Installs the handlers, for good. Records are appended to `record`; without it, what is to be said
/// is only said on standard error. Call it on the main thread before any library is loaded.
///
/// # Errors
///
/// When the system refuses a handler.
pub(super) fn install(record: Option<File>) -> io::Result<()> {
    enter_host_thread();
    let mut before = [None; FAULTS.len()];
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK;
    // All signals wait meanwhile: a second fault within the handler ends the process at once.
    let action = SigAction::new(SigHandler::SigAction(on_fault), flags, SigSet::all());
    for (signal, before) in FAULTS.iter().zip(&mut before) {
        // SAFETY: the handler has the signature that SA_SIGINFO asks for, is async-signal-safe, and
        // returns to where it interrupted.
        *before = Some(unsafe { sigaction(*signal, &action) }?);
    }
    let installed = Installed {
        process: getpid(),
        record,
        before,
    };
    if INSTALLED.set(installed).is_ok() {
        watch_exit();
    }
    Ok(())
}

/// A library was loaded, and may have registered functions for the end of the process. Ours comes
/// before them: what they do beside threads of components that still run is no end for anybody.
pub fn library_came() {
    if INSTALLED.get().is_some() {
        watch_exit();
    }
}

/// Whoever registers last is called first.
fn watch_exit() {
    // SAFETY: the function lives as long as the process and takes any argument.
    unsafe { on_exit(exit_called, std::ptr::null_mut()) };
}

/// Says that the calling thread is one of the host's, and gives it room for a handler to run on when
/// its own stack is used up.
pub fn enter_host_thread() {
    doing::mark_host_thread();
    if let Err(error) = set_alternate_stack() {
        tracing::warn!(%error, "nobody will be told if this thread's stack overflows");
    }
}

fn set_alternate_stack() -> io::Result<()> {
    let size = ALTERNATE_STACK.try_into().expect("not zero");
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice replaces no other.
    let stack = unsafe { mmap_anonymous(None, size, protection, MapFlags::MAP_PRIVATE) }?;
    let stack = libc::stack_t {
        ss_sp: stack.as_ptr(),
        ss_flags: 0,
        ss_size: ALTERNATE_STACK,
    };
    // SAFETY: the memory was just mapped for this alone, and is never unmapped. This thread does not
    // run on an alternate stack now.
    Errno::result(unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) })?;
    Ok(())
}

/// Code of this library will be in the process from now on.
pub fn library_comes(path: &Path) {
    FIRST_LIBRARY.get_or_init(|| path.display().to_string());
    LIBRARIES.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" {
    // glibc; unlike for `atexit`, the function is told the status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Runs when somebody calls `exit`. The host never does, so this is no way for it to end: the status
/// could be one that tells the service manager not to start it again.
extern "C" fn exit_called(status: c_int, _: *mut c_void) {
    report(Cause::Exit(status));
    let ours = |installed: &Installed| installed.process == getpid();
    if INSTALLED.get().is_some_and(ours) {
        process::end(ExitReason::Failure);
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    let Ok(signal) = Signal::try_from(signal) else {
        return;
    };
    // SAFETY: the kernel passes a valid one to handlers with SA_SIGINFO.
    let info = unsafe { &*info };
    // Sent by a process instead of caused by what this thread did. abort() sends it to itself.
    let sent = info.si_code <= 0;
    // SAFETY: such signals carry the sender.
    let from_outside = sent && unsafe { info.si_pid() } != getpid().as_raw();
    let address = (!sent && has_address(signal))
        // SAFETY: the kernel has filled it in.
        .then(|| unsafe { info.si_addr() }.addr());
    let heard = from_outside || report(Cause::Signal(signal.as_str(), address));
    // A fault happens again when this handler returns, other signals do not.
    let comes_again = !sent && !matches!(signal, Signal::SIGTRAP | Signal::SIGSYS);
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // Rust's handler is made for faults: it would lose other signals. And it would wait for ever to
    // tell a stack overflow where nobody reads.
    let next = match comes_again && heard {
        true => action_before(signal).unwrap_or(default),
        false => default,
    };
    // SAFETY: the action was in force before, or is the default.
    let _ = unsafe { sigaction(signal, &next) };
    if !comes_again {
        // It waits until this handler returns.
        let _ = raise(signal);
    }
}

fn has_address(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGFPE
    )
}

fn action_before(signal: Signal) -> Option<SigAction> {
    let place = FAULTS.iter().position(|fault| *fault == signal)?;
    INSTALLED.get()?.before.get(place).copied().flatten()
}

/// Reports a crash of this thread. `false`: standard error does not take what is written.
fn report(cause: Cause) -> bool {
    let Some(installed) = INSTALLED.get() else {
        return true;
    };
    // A component may have forked, which it should not: the end of such a child is not ours.
    if getpid() != installed.process || !claim() {
        return true;
    }
    let mut name = [0; 16];
    let only = LIBRARIES.load(Ordering::Relaxed) == 1;
    let heard = doing::current(|doing| {
        let report = Report {
            doing,
            cause,
            thread: thread_name(&mut name),
            only_library: FIRST_LIBRARY.get().map(String::as_str).filter(|_| only),
            time: clock_gettime(ClockId::CLOCK_REALTIME)
                .ok()
                .and_then(|time| u64::try_from(time.tv_sec()).ok())
                .unwrap_or_default(),
        };
        write_record(installed, &report);
        write_line(&report)
    });
    REPORTER.store(DONE, Ordering::Release);
    heard
}

/// Whether the calling thread is the one to report. Whoever comes second waits for the first, so that
/// the process does not die before all is said.
fn claim() -> bool {
    let own = gettid().as_raw();
    match REPORTER.compare_exchange(NOBODY, own, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => true,
        // `exit` was being reported, and that crashed.
        Err(other) if other == own => false,
        Err(_) => {
            while REPORTER.load(Ordering::Acquire) != DONE {
                std::thread::yield_now();
            }
            false
        }
    }
}

fn write_record(installed: &Installed, report: &Report<'_>) {
    let Some(record) = &installed.record else {
        return;
    };
    let mut text = Text::<MAX_RECORD>::new();
    report.record(&mut text);
    // A full disk costs the record.
    let _ = write(record, text.as_bytes());
}

/// A reader that is stuck must not keep the process from dying. `false`: it is.
fn write_line(report: &Report<'_>) -> bool {
    let mut text = Text::<MAX_LINE>::new();
    report.line(&mut text);
    let stderr = io::stderr();
    let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let heard = poll(&mut ready, PollTimeout::from(STDERR_PATIENCE)).is_ok_and(|ready| ready > 0);
    if heard {
        // Whoever has closed it does not want to know.
        let _ = write(&stderr, text.as_bytes());
    }
    heard
}

fn thread_name(buffer: &mut [c_char; 16]) -> &str {
    // SAFETY: the buffer has the sixteen bytes that the call fills, the last one zero at the latest.
    let name = unsafe {
        libc::prctl(libc::PR_GET_NAME, buffer.as_mut_ptr());
        CStr::from_ptr(buffer.as_ptr())
    };
    name.to_str().unwrap_or_default()
}
