//! Every interleaving of the component's thread and the watchdog around one session's turn, by a
//! model checker. The file under test is compiled here once more, with the checker's atomics.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../src/component/turn.rs"]
#[expect(unreachable_pub, reason = "it is public where it belongs")]
mod turn;

/// What `turn` takes its atomics from.
mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

use std::collections::HashMap;

use loom::sync::{Arc, Mutex};
use loom::thread;
use turn::Turn;

const CALLS: [u32; 2] = [1, 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Component,
    Watchdog,
}

#[derive(Default)]
struct Session {
    turn: Turn,
    answers: Mutex<HashMap<u32, Vec<By>>>,
}

impl Session {
    fn answer(&self, call: u32, by: By) {
        self.answers
            .lock()
            .unwrap()
            .entry(call)
            .or_default()
            .push(by);
    }

    /// Two calls, the second one due later; after a lost turn the socket is taken back.
    fn component(&self, deadlines: [u64; 2]) {
        for (call, deadline) in CALLS.into_iter().zip(deadlines) {
            self.turn.begin(call, deadline);
            if self.turn.finish(call) {
                self.answer(call, By::Component);
            } else {
                assert!(self.turn.is_taken());
                self.turn.give_back();
            }
        }
    }

    fn watchdog(&self, now: u64) {
        if let Some(call) = self.turn.take_overdue(now) {
            self.answer(call, By::Watchdog);
        }
    }
}

fn model(check: impl Fn(&HashMap<u32, Vec<By>>) + Sync + Send + 'static, deadlines: [u64; 2]) {
    loom::model(move || {
        let session = Arc::new(Session::default());
        let on_thread = Arc::clone(&session);
        let watchdog = thread::spawn(move || {
            on_thread.watchdog(10);
            on_thread.watchdog(10);
        });
        session.component(deadlines);
        watchdog.join().unwrap();
        assert!(!session.turn.is_taken());
        check(&session.answers.lock().unwrap());
    });
}

#[test]
fn each_call_is_answered_exactly_once() {
    model(
        |answers| {
            for call in CALLS {
                assert_eq!(answers[&call].len(), 1, "call {call}: {answers:?}");
            }
        },
        [5, 10],
    );
}

#[test]
fn a_call_that_is_not_due_is_never_taken_even_when_the_one_before_was() {
    model(
        |answers| {
            assert_eq!(answers[&1].len(), 1);
            assert_eq!(answers[&3], [By::Component]);
        },
        [5, 1000],
    );
}

#[test]
fn both_sides_do_get_to_answer() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static SEEN: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
    model(
        |answers| {
            for by in answers.values().flatten() {
                SEEN[usize::from(*by == By::Watchdog)].store(true, Ordering::Relaxed);
            }
        },
        [5, 10],
    );
    assert!(SEEN.iter().all(|seen| seen.load(Ordering::Relaxed)));
}

#[test]
fn while_the_component_is_away_the_socket_is_the_watchdogs_and_no_call_is_overdue() {
    loom::model(|| {
        let session = Arc::new(Session::default());
        session.turn.take();
        let on_thread = Arc::clone(&session);
        let watchdog = thread::spawn(move || on_thread.turn.take_overdue(u64::MAX));
        assert!(session.turn.is_taken());
        assert_eq!(watchdog.join().unwrap(), None);
        session.turn.give_back();
        assert!(!session.turn.is_taken());
    });
}
