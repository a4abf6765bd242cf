//! Says what a panic was about: the payload that is caught at the border knows no location.

use std::any::Any;
use std::cell::Cell;
use std::panic::PanicHookInfo;

use super::current::attached;
use crate::abi::log_level;
use crate::host::Host;

/// Stands for a payload that is no text.
const NO_TEXT: &str = "without a text";

thread_local! {
    static LAST_PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Installs the hook of this library. Panics of threads that work for no instance go to the hook
/// that was there before.
pub(super) fn install() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let Some(host) = attached() else {
            return previous(info);
        };
        let message = describe(info);
        host.log(log_level::ERROR, &message);
        // While a thread ends nobody asks for the message.
        let _ = LAST_PANIC.try_with(|last| last.set(Some(message)));
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    // The threads of instances are made by the host and have no name here.
    let thread = thread
        .name()
        .map_or_else(String::new, |name| format!("thread {name:?} "));
    let location = info
        .location()
        .map_or_else(String::new, |at| format!(" at {at}"));
    let text = info.payload_as_str().unwrap_or(NO_TEXT);
    format!("{thread}panicked{location}: {text}")
}

/// Forgets this thread's last panic: the component has caught it itself.
pub(crate) fn forget_last_panic() {
    LAST_PANIC.set(None);
}

/// What the panic with this payload was about. It is in the log then.
pub(crate) fn describe_panic(host: &Host, payload: &(dyn Any + Send)) -> String {
    LAST_PANIC.take().unwrap_or_else(|| {
        // A panic of another thread that `resume_unwind` passed on comes without the hook.
        let message = format!("panicked: {}", text(payload));
        host.log(log_level::ERROR, &message);
        message
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    let formatted = || payload.downcast_ref::<String>().map(String::as_str);
    literal.or_else(formatted).unwrap_or(NO_TEXT)
}
