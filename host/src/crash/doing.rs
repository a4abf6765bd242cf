//! What each thread is doing, and for whom: one pointer a thread, set around every call into a
//! component.
#![expect(
    unsafe_code,
    reason = "a signal handler reads what the thread that it interrupted has on its stack"
)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use crate::component::inspect::Digest;
use crate::runtime::session::Call;

/// Whom a crash is put down to.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `INDEX-NAME`.
    pub plugin: String,
    /// Tells whether library and configuration are still those that crashed.
    pub fingerprint: String,
}

impl Identity {
    /// A component with this library and configuration.
    pub fn new(plugin: String, library: &Digest, config: &str) -> Self {
        Self {
            plugin,
            fingerprint: fingerprint(library, config),
        }
    }
}

/// 64 hexadecimal digits that change with the library or with `[component.config]`.
pub fn fingerprint(library: &Digest, config: &str) -> String {
    Digest::of(format!("{library} {config}").as_bytes()).to_string()
}

/// What a component is asked to do.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Its library is being loaded.
    Load,
    /// `create`.
    Create,
    /// `get_interface`, and what is asked through it.
    Interface,
    /// `handle`.
    Handle(&'a Call),
    /// `on_result` of the interface for results of updates.
    UpdateResult,
    /// `destroy`.
    Destroy,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing<'a> {
    /// It runs code of the host.
    Host,
    /// It runs code of a component.
    Component(&'a Identity, Step<'a>),
}

static HOST: Doing<'static> = Doing::Host;

thread_local! {
    // Null on threads that the host does not know. Needs no set-up and no destructor, so it can be
    // read in a signal handler at any time.
    static DOING: AtomicPtr<Doing<'static>> = const { AtomicPtr::new(ptr::null_mut()) };
}

/// Says that the calling thread is one of the host's.
pub fn mark_host_thread() {
    set((&raw const HOST).cast_mut());
}

/// Does `work`, which calls into a component.
pub fn during<T>(identity: &Identity, step: Step<'_>, work: impl FnOnce() -> T) -> T {
    struct Restore(*mut Doing<'static>);
    impl Drop for Restore {
        fn drop(&mut self) {
            set(self.0);
        }
    }
    let mut doing = Doing::Component(identity, step);
    let _restore = Restore(set((&raw mut doing).cast()));
    work()
}

fn set(doing: *mut Doing<'static>) -> *mut Doing<'static> {
    // The handler runs on this thread: only the compiler could get the order wrong.
    compiler_fence(Ordering::Release);
    let before = DOING.with(|current| {
        let before = current.load(Ordering::Relaxed);
        current.store(doing, Ordering::Relaxed);
        before
    });
    compiler_fence(Ordering::Release);
    before
}

/// What the calling thread, or the thread that a signal interrupted, is doing; `None` on threads
/// that the host did not start. Async-signal-safe.
pub(super) fn current<T>(read: impl FnOnce(Option<&Doing<'_>>) -> T) -> T {
    compiler_fence(Ordering::Acquire);
    let doing = DOING.with(|current| current.load(Ordering::Relaxed));
    // SAFETY: null, `HOST`, or set by `during` further up this thread's stack, which takes it back
    // before what it points to ends. Nothing changes it meanwhile.
    read(unsafe { doing.as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who() -> Option<String> {
        current(|doing| match doing {
            None => None,
            Some(Doing::Host) => Some("the host".to_owned()),
            Some(Doing::Component(identity, step)) => Some(format!("{} {step:?}", identity.plugin)),
        })
    }

    #[test]
    fn a_thread_is_known_to_do_what_it_does_and_not_a_moment_longer() {
        let identity = Identity::new("10-gpu".to_owned(), &Digest::of(b"library"), "{}");
        assert_eq!(who(), None);
        mark_host_thread();
        let seen = during(&identity, Step::Create, || {
            let inner = during(&identity, Step::Destroy, who);
            (inner, who())
        });
        assert_eq!(
            seen,
            (Some("10-gpu Destroy".into()), Some("10-gpu Create".into()))
        );
        let panicked =
            std::panic::catch_unwind(|| during(&identity, Step::Load, || panic!("in the host")));
        assert!(panicked.is_err());
        assert_eq!(who().as_deref(), Some("the host"));
        assert_eq!(std::thread::spawn(who).join().unwrap(), None);
    }

    #[test]
    fn another_library_or_configuration_is_another_fingerprint() {
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        assert_eq!(fingerprint(&one, "{}"), fingerprint(&one, "{}"));
        assert_ne!(fingerprint(&one, "{}"), fingerprint(&other, "{}"));
        assert_ne!(fingerprint(&one, "{}"), fingerprint(&one, r#"{"a":1}"#));
    }
}
