//! The thread that makes records and writes them.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use nri_plugin_api::{Health, Host};

use crate::queue::{Entry, Queue};
use crate::render::Renderer;
use crate::sink::Sink;

/// How long the end of an instance waits for what is still to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// Disconnected when the thread has written the last line.
    done: Receiver<Infallible>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system has no room for another thread.
    pub(crate) fn start(
        host: Host,
        queue: Arc<Queue>,
        renderer: Renderer,
        mut sink: Box<dyn Sink>,
    ) -> io::Result<Self> {
        let (running, done) = mpsc::channel();
        let taken = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("logger-writer".to_owned())
            .spawn(move || {
                let _running = running;
                let _attached = host.attach();
                let report = |health: &Health| host.report_health(health);
                write_all(&taken, &renderer, sink.as_mut(), report);
            })?;
        Ok(Self {
            queue,
            thread: Some(thread),
            done,
        })
    }
}

impl Writer {
    /// Whether the thread is gone, which only a panic can bring about before the end.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        match self.done.recv_timeout(FLUSH_TIMEOUT) {
            Err(RecvTimeoutError::Timeout) => {
                // It hangs in the file system. There is no way to end it, and none to wait for it;
                // it holds nothing but the queue and the file.
                let lost = self.queue.abandon();
                tracing::warn!(lost, "the file cannot be written to in time");
            }
            Err(RecvTimeoutError::Disconnected) => {
                let joined = self.thread.take().map(JoinHandle::join);
                // What a panic was about is in the log already.
                drop(joined);
            }
            Ok(never) => match never {},
        }
    }
}

/// What came of the events so far.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Records that the sink was given.
    written: u64,
    dropped: u64,
}

impl Progress {
    fn health(self, sink: &dyn Sink) -> Health {
        let (place, lost) = (sink.place(), sink.lost());
        let written = self.written.saturating_sub(lost);
        let fate = sink.fate();
        let mut summary = format!("{written} events {fate} {place}");
        for (count, fate) in [(self.dropped, "dropped"), (lost, "lost")] {
            if count > 0 {
                summary.push_str(&format!(", {count} {fate}"));
            }
        }
        let mut health = Health::new(summary);
        health.problems = sink.problems();
        health
    }
}

/// Writes until the queue is closed and empty, and reports after each batch.
fn write_all(queue: &Queue, renderer: &Renderer, sink: &mut dyn Sink, report: impl Fn(&Health)) {
    let mut progress = Progress::default();
    let mut batch: Vec<Entry> = Vec::new();
    report(&progress.health(sink));
    while let Some(taken) = queue.take(&mut batch) {
        for entry in batch.drain(..) {
            write_dropped(
                entry.dropped_before,
                entry.time,
                renderer,
                sink,
                &mut progress,
            );
            sink.write(&renderer.event(&entry));
            progress.written += 1;
        }
        let dropped = taken.dropped_after;
        write_dropped(dropped, SystemTime::now(), renderer, sink, &mut progress);
        sink.flush();
        report(&progress.health(sink));
    }
}

/// Tells of events that found no room.
fn write_dropped(
    count: u64,
    time: SystemTime,
    renderer: &Renderer,
    sink: &mut dyn Sink,
    progress: &mut Progress,
) {
    if count > 0 {
        tracing::warn!(
            count,
            "events were dropped: they came faster than they can be written"
        );
        sink.write(&renderer.dropped(time, count));
        progress.dropped += count;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use nri_plugin_api::api::CreateContainerRequest;
    use nri_plugin_api::{ConfigMistakes, HealthProblem};

    use super::{Health, write_all};
    use crate::format::Format;
    use crate::queue::{Event, Limits, Queue};
    use crate::redact::Redaction;
    use crate::render::Renderer;
    use crate::sink::Sink;

    fn renderer() -> Renderer {
        Renderer {
            format: Format::Json,
            max_bytes: 1024,
            redaction: Redaction::read(&[], &[], &mut ConfigMistakes::new()),
        }
    }

    fn event() -> Event {
        Event::Request {
            render: Renderer::request::<CreateContainerRequest>,
            payload: Box::default(),
        }
    }

    /// A sink that says when it is asked to write, and waits until it may.
    #[derive(Debug)]
    struct Gate {
        asked: Sender<String>,
        may: Receiver<()>,
    }

    impl Sink for Gate {
        fn write(&mut self, line: &[u8]) {
            let line = String::from_utf8(line.to_vec()).expect("JSON is UTF-8");
            self.asked.send(line).expect("the test listens");
            // An error is the end of the test's patience.
            let _ = self.may.recv();
        }

        fn flush(&mut self) {}

        fn place(&self) -> String {
            "a gate".to_owned()
        }

        fn lost(&self) -> u64 {
            0
        }

        fn problems(&self) -> Vec<HealthProblem> {
            Vec::new()
        }
    }

    #[test]
    fn a_sink_that_hangs_holds_up_nobody_and_what_finds_no_room_is_counted() {
        const ROOM: usize = 8;
        const TOO_MANY: usize = 5;
        let queue = Queue::new(Limits {
            entries: ROOM,
            bytes: 1 << 20,
        });
        let (asked, lines) = channel();
        let (go_on, may) = channel();
        let (reports, reported) = channel();
        std::thread::scope(|scope| {
            let taken = &queue;
            scope.spawn(move || {
                let report = |health: &Health| reports.send(health.clone()).expect("it is kept");
                write_all(taken, &renderer(), &mut Gate { asked, may }, report);
            });
            queue.push(event());
            let first = lines.recv().expect("the writer writes");
            assert!(first.contains("CreateContainer"), "{first}");
            // The writer hangs with one event. None of these waits for it.
            for _ in 0..ROOM - 1 + TOO_MANY {
                queue.push(event());
            }
            queue.close();
            drop(go_on);
            let rest: Vec<String> = lines.iter().collect();
            assert_eq!(rest.len(), ROOM, "{rest:?}");
            let last = rest.last().expect("there are some");
            assert!(last.contains(r#""event":"dropped","count":5"#), "{last}");
            let last = reported.iter().last().expect("there are reports");
            assert_eq!(last, Health::new("8 events written to a gate, 5 dropped"));
        });
    }
}
