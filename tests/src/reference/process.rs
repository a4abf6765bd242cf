//! Lines of JSON to and from the Go program.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protobuf::Message;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longest wait for an answer. A call may last as long as its plugins' timeouts
/// together, a bench a minute.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);

/// The runtime refused: its error's text.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Something that happened in the runtime.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// `synchronizing`, `connected` (and synchronized), `closed`, `refused`,
    /// `updates` (unsolicited ones) or `sync-updates` (those in the answer to
    /// Synchronize).
    #[serde(rename = "event")]
    pub name: String,
    /// When, since the start of the process.
    #[serde(rename = "at_us", deserialize_with = "microseconds")]
    pub at: Duration,
    /// The plugin as `INDEX-NAME`, or the reason.
    #[serde(default)]
    pub text: String,
    /// The encoded `UpdateContainersRequest` of updates, in base64.
    #[serde(default)]
    pub(super) message: String,
}

fn microseconds<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_micros)
}

/// One line of the program's output that answers a command.
#[derive(Debug, Deserialize)]
struct Answer {
    id: u64,
    ok: Option<Value>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Answer(Answer),
    Event(Event),
}

/// What the reading thread has seen.
#[derive(Debug, Default)]
struct Seen {
    answers: HashMap<u64, Answer>,
    events: Vec<Event>,
    /// Why nothing more comes.
    ended: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        // A panic of a test that holds the lock leaves what was seen intact.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Input {
    stdin: ChildStdin,
    last_id: u64,
}

/// The running program. It is killed with this value.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: Mutex<Input>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    log: PathBuf,
}

impl Process {
    pub(super) fn start(program: &Path, log: &Path) -> Result<Self> {
        let log_file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("opening {}", log.display()))?;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let stdin = child.stdin.take().expect("was asked to be a pipe");
        let stdout = child.stdout.take().expect("was asked to be a pipe");
        let shared = Arc::new(Shared::default());
        let reader = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || read(stdout, &shared)
        });
        Ok(Self {
            child,
            input: Mutex::new(Input { stdin, last_id: 0 }),
            shared,
            reader: Some(reader),
            log: log.to_owned(),
        })
    }

    /// Sends a command and waits for its answer.
    pub(super) fn request<T: DeserializeOwned>(&self, op: &str, mut command: Value) -> Result<T> {
        let id = {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            input.last_id += 1;
            command["id"] = input.last_id.into();
            command["op"] = op.into();
            let mut line = serde_json::to_vec(&command)?;
            line.push(b'\n');
            input
                .stdin
                .write_all(&line)
                .with_context(|| format!("sending {op}"))?;
            input.last_id
        };
        let answer = self.wait_for(ANSWER_PATIENCE, |seen| seen.answers.remove(&id));
        match answer {
            Ok(Answer {
                ok: Some(value), ..
            }) => Ok(serde_json::from_value(value)?),
            Ok(Answer { error, .. }) => Err(Refused(error.unwrap_or_default()).into()),
            Err(seen) => bail!(
                "no answer to {op}: {}; log: {}",
                describe(&seen),
                self.log.display()
            ),
        }
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.shared.lock().events.clone()
    }

    pub(super) fn wait<T>(
        &self,
        what: &str,
        patience: Duration,
        found: impl Fn(&[Event]) -> Option<T>,
    ) -> T {
        match self.wait_for(patience, |seen| found(&seen.events)) {
            Ok(found) => found,
            Err(seen) => {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                let state = describe(&seen);
                drop(seen);
                panic!("waited in vain for {what}: {state}; the runtime's log:\n{log}")
            }
        }
    }

    /// Waits until `found` returns something; gives the lock back if it does
    /// not in time, or nothing more comes.
    fn wait_for<T>(
        &self,
        patience: Duration,
        mut found: impl FnMut(&mut Seen) -> Option<T>,
    ) -> std::result::Result<T, MutexGuard<'_, Seen>> {
        let until = Instant::now() + patience;
        let mut seen = self.shared.lock();
        loop {
            if let Some(result) = found(&mut seen) {
                return Ok(result);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.ended.is_some() {
                return Err(seen);
            }
            let woken = self.shared.changed.wait_timeout(seen, left);
            seen = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Either fails only if the process has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            // It does not panic, and its end is in `ended`.
            let _ = reader.join();
        }
    }
}

/// Reads lines until the program ends.
fn read(stdout: ChildStdout, shared: &Shared) {
    let mut ended = "the process ended".to_owned();
    for line in BufReader::new(stdout).lines() {
        let parsed = line.map_err(|error| anyhow!(error)).and_then(|line| {
            serde_json::from_str(&line).with_context(|| format!("in {line:.200}"))
        });
        match parsed {
            Ok(Line::Answer(answer)) => {
                shared.lock().answers.insert(answer.id, answer);
            }
            Ok(Line::Event(event)) => shared.lock().events.push(event),
            Err(error) => {
                ended = format!("unreadable output: {error:#}");
                break;
            }
        }
        shared.changed.notify_all();
    }
    shared.lock().ended = Some(ended);
    shared.changed.notify_all();
}

fn describe(seen: &Seen) -> String {
    let events: Vec<_> = seen
        .events
        .iter()
        .map(|event| format!("{} {}", event.name, event.text))
        .collect();
    format!(
        "{}, events {events:?}",
        seen.ended.as_deref().unwrap_or("the process runs")
    )
}

pub(super) fn encode(message: &impl Message) -> Result<String> {
    Ok(STANDARD.encode(message.write_to_bytes()?))
}

pub(super) fn decode<M: Message>(base64: &str) -> Result<M> {
    Ok(M::parse_from_bytes(&STANDARD.decode(base64)?)?)
}
