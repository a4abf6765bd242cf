//! What waits to be written, between the thread that the runtime waits for and the writer.
//!
//! An event that finds no room is dropped and counted: a disk that is slow must not slow a pod.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::render::Render;
use crate::synchronized::Synchronized;

/// How long the writer lets events gather after the first one. It keeps away from the processor
/// while the runtime and other components still work on the same container.
const GATHER: Duration = Duration::from_millis(10);

/// How many events the writer takes at once. The room that they had is free after they are written.
const BATCH: usize = 64;

/// How much may wait, or be with the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) entries: usize,
    /// Of the events as the runtime encoded them.
    pub(crate) bytes: usize,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A request as the runtime encoded it, and who can read it.
    Request { render: Render, payload: Box<[u8]> },
    /// Synchronize, of which only names are kept.
    Synchronized(Box<Synchronized>),
}

impl Event {
    fn bytes(&self) -> usize {
        match self {
            Self::Request { payload, .. } => payload.len(),
            Self::Synchronized(names) => names.bytes(),
        }
    }
}

/// An event that waits.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) time: SystemTime,
    pub(crate) event: Event,
    /// How many events found no room before this one.
    pub(crate) dropped_before: u64,
}

/// What the writer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Works,
    /// Until there is something.
    Waits,
    /// Until there is much, or some time has passed.
    Gathers,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Entry>,
    /// The size of what waits.
    bytes: usize,
    /// What the writer has taken and not yet written.
    taken: Limits,
    /// How many events found no room since the last one that did.
    dropped: u64,
    writer: Writer,
    closed: bool,
    abandoned: bool,
}

/// The queue of one instance.
#[derive(Debug)]
pub(crate) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
}

/// What the writer gets besides a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many events found no room after the last one of the batch.
    pub(crate) dropped_after: u64,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            bytes: 0,
            taken: Limits {
                entries: 0,
                bytes: 0,
            },
            dropped: 0,
            writer: Writer::Works,
            closed: false,
            abandoned: false,
        };
        Self {
            limits,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// No panic leaves the state half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an event in, or drops it if there is no room. Never waits for the writer.
    pub(crate) fn push(&self, event: Event) {
        let time = SystemTime::now();
        let bytes = event.bytes();
        let mut state = self.state();
        let entries = state.waiting.len() + state.taken.entries;
        let room = entries < self.limits.entries
            && state.bytes + state.taken.bytes + bytes <= self.limits.bytes;
        if room {
            let dropped_before = std::mem::take(&mut state.dropped);
            state.bytes += bytes;
            state.waiting.push_back(Entry {
                time,
                event,
                dropped_before,
            });
        } else {
            state.dropped += 1;
        }
        let wake = match state.writer {
            Writer::Works => false,
            Writer::Waits => true,
            Writer::Gathers => !self.has_room_for_more(&state),
        };
        if wake {
            // Once is enough: it looks at all that is there.
            state.writer = Writer::Works;
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Whether there is no need to hurry.
    fn has_room_for_more(&self, state: &State) -> bool {
        state.waiting.len() < self.limits.entries / 2 && state.bytes < self.limits.bytes / 2
    }

    /// Waits for events and moves some of them to the end of `batch`. What was taken before counts
    /// as written. `None` when the queue is closed and empty.
    pub(crate) fn take(&self, batch: &mut Vec<Entry>) -> Option<Taken> {
        let mut state = self.state();
        state.taken = Limits {
            entries: 0,
            bytes: 0,
        };
        if state.waiting.is_empty() && state.dropped == 0 {
            state = self.wait_and_gather(state);
        }
        state.writer = Writer::Works;
        if state.abandoned || (state.waiting.is_empty() && state.dropped == 0) {
            return None;
        }
        let count = state.waiting.len().min(BATCH);
        let bytes = state.waiting.iter().take(count);
        let bytes = bytes.map(|entry| entry.event.bytes()).sum();
        batch.extend(state.waiting.drain(..count));
        state.bytes -= bytes;
        state.taken = Limits {
            entries: count,
            bytes,
        };
        let dropped_after = if state.waiting.is_empty() {
            std::mem::take(&mut state.dropped)
        } else {
            0
        };
        Some(Taken { dropped_after })
    }

    fn wait_and_gather<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.waiting.is_empty() && state.dropped == 0 && !state.closed {
            state.writer = Writer::Waits;
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.writer = Writer::Gathers;
        let gathered = self.changed.wait_timeout_while(state, GATHER, |state| {
            !state.closed && self.has_room_for_more(state)
        });
        gathered.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Nothing more comes: the writer ends when it has written the rest.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// The writer ends as soon as it can; the rest is lost. Returns how many events that are.
    pub(crate) fn abandon(&self) -> usize {
        let mut state = self.state();
        state.abandoned = true;
        state.waiting.len() + state.taken.entries
    }
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::api::CreateContainerRequest;

    use super::{BATCH, Event, Limits, Queue, Taken};
    use crate::render::Renderer;

    fn event(bytes: usize) -> Event {
        Event::Request {
            render: Renderer::request::<CreateContainerRequest>,
            payload: vec![0; bytes].into(),
        }
    }

    fn queue(entries: usize, bytes: usize) -> Queue {
        Queue::new(Limits { entries, bytes })
    }

    /// All that is in a queue: sizes, and what was dropped before each and at the end.
    fn drain(queue: &Queue) -> (Vec<(usize, u64)>, u64) {
        let (mut all, mut batch, mut last) = (Vec::new(), Vec::new(), 0);
        queue.close();
        while let Some(Taken { dropped_after }) = queue.take(&mut batch) {
            let taken = batch.drain(..);
            all.extend(taken.map(|entry| (entry.event.bytes(), entry.dropped_before)));
            last = dropped_after;
        }
        (all, last)
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let queue = queue(3, 1000);
        for _ in 0..5 {
            queue.push(event(1));
        }
        let (events, dropped) = drain(&queue);
        assert_eq!(events, [(1, 0); 3]);
        assert_eq!(dropped, 2);
    }

    #[test]
    fn bytes_are_bounded_like_events() {
        let queue = queue(100, 10);
        for bytes in [4, 7, 20, 6, 1] {
            queue.push(event(bytes));
        }
        let (events, dropped) = drain(&queue);
        assert_eq!(events, [(4, 0), (6, 2)]);
        assert_eq!(dropped, 1);
    }

    #[test]
    fn what_is_with_the_writer_still_takes_room() {
        let queue = queue(2, 10);
        queue.push(event(6));
        let mut batch = Vec::new();
        queue.take(&mut batch).unwrap();
        queue.push(event(6));
        queue.push(event(4));
        queue.push(event(0));
        let (events, dropped) = drain(&queue);
        assert_eq!(events, [(4, 1)]);
        assert_eq!(dropped, 1);
    }

    #[test]
    fn a_batch_is_bounded_and_nothing_is_lost_or_reordered() {
        let queue = queue(1000, 1 << 20);
        for bytes in 0..300 {
            queue.push(event(bytes));
        }
        let mut batch = Vec::new();
        queue.take(&mut batch).unwrap();
        assert_eq!(batch.len(), BATCH);
        let (rest, dropped) = drain(&queue);
        let sizes: Vec<usize> = rest.iter().map(|(bytes, _)| *bytes).collect();
        assert_eq!(sizes, (BATCH..300).collect::<Vec<_>>());
        assert_eq!(dropped, 0);
    }

    #[test]
    fn a_waiting_writer_is_woken_by_an_event_by_a_drop_and_by_the_end() {
        let queue = queue(10, 10);
        std::thread::scope(|scope| {
            let (send, receive) = std::sync::mpsc::channel();
            let taker = &queue;
            scope.spawn(move || {
                let mut batch = Vec::new();
                while let Some(taken) = taker.take(&mut batch) {
                    send.send((batch.drain(..).count(), taken.dropped_after))
                        .unwrap();
                }
            });
            queue.push(event(1));
            assert_eq!(receive.recv().unwrap(), (1, 0));
            queue.push(event(11));
            assert_eq!(receive.recv().unwrap(), (0, 1));
            queue.close();
            assert_eq!(receive.recv(), Err(std::sync::mpsc::RecvError));
        });
    }

    #[test]
    fn an_abandoned_queue_gives_out_nothing_more() {
        let queue = queue(10, 10);
        queue.push(event(1));
        assert_eq!(queue.abandon(), 1);
        assert_eq!(queue.take(&mut Vec::new()), None);
    }
}
