//! The reference implementation of the runtime's side, as a process.
//!
//! A small Go program, `tests/reference`, drives the library that containerd
//! and CRI-O use. It decides what a runtime really does with an answer: whether
//! it can read it, how it merges those of several plugins, whether it drops a
//! plugin. Here it is started and spoken to.

mod process;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;
use nri_plugin_api::api::{
    ContainerUpdate, CreateContainerRequest, CreateContainerResponse, Empty,
    PostCreateContainerRequest, PostStartContainerRequest, PostUpdateContainerRequest,
    PostUpdatePodSandboxRequest, RemoveContainerRequest, RemovePodSandboxRequest,
    RunPodSandboxRequest, StartContainerRequest, StopContainerRequest, StopContainerResponse,
    StopPodSandboxRequest, SynchronizeRequest, UpdateContainerRequest, UpdateContainerResponse,
    UpdateContainersRequest, UpdatePodSandboxRequest, UpdatePodSandboxResponse,
};
use protobuf::Message;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use process::{Event, Refused};
use process::{Process, decode, encode};

use crate::go;

/// Longest wait for something that is to happen at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why this tier cannot run here, if so.
#[must_use]
pub fn missing() -> Option<String> {
    go::missing()
}

/// The folder with the built programs: `reference` and `smallest-plugin`.
///
/// # Errors
///
/// If they do not build.
///
/// # Panics
///
/// If they did not build before in this process.
pub fn programs() -> Result<&'static Path> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if BUILT.get().is_none() {
        let built = go::build_local("reference", "reference")?;
        // Two threads may both have built it: the folder is the same.
        let _ = BUILT.set(built);
    }
    Ok(BUILT.get().expect("was set above"))
}

/// What the runtime tells plugins about itself, and how long it waits for them.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub name: String,
    pub version: String,
    #[serde(rename = "request_timeout_ms", serialize_with = "milliseconds")]
    pub request_timeout: Duration,
    #[serde(rename = "registration_timeout_ms", serialize_with = "milliseconds")]
    pub registration_timeout: Duration,
}

impl Default for Options {
    /// A current containerd that waits far longer than the 2 s and 5 s of real ones: a slow machine
    /// must not look like a late plugin.
    fn default() -> Self {
        Self {
            name: "containerd".to_owned(),
            version: "2.4.2".to_owned(),
            request_timeout: PATIENCE,
            registration_timeout: PATIENCE,
        }
    }
}

fn milliseconds<S: serde::Serializer>(
    duration: &Duration,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_u128(duration.as_millis())
}

/// A call that the runtime relays to plugins: a request with its method's name.
pub trait Call: Message {
    const METHOD: &'static str;
    /// What the library answers with; [`Empty`] where it answers with nothing.
    type Response: Message;
}

macro_rules! calls {
    ($($method:literal: $request:ty => $response:ty,)*) => {
        $(impl Call for $request {
            const METHOD: &'static str = $method;
            type Response = $response;
        })*
    };
}

calls! {
    "RunPodSandbox": RunPodSandboxRequest => Empty,
    "UpdatePodSandbox": UpdatePodSandboxRequest => UpdatePodSandboxResponse,
    "PostUpdatePodSandbox": PostUpdatePodSandboxRequest => Empty,
    "StopPodSandbox": StopPodSandboxRequest => Empty,
    "RemovePodSandbox": RemovePodSandboxRequest => Empty,
    "CreateContainer": CreateContainerRequest => CreateContainerResponse,
    "PostCreateContainer": PostCreateContainerRequest => Empty,
    "StartContainer": StartContainerRequest => Empty,
    "PostStartContainer": PostStartContainerRequest => Empty,
    "UpdateContainer": UpdateContainerRequest => UpdateContainerResponse,
    "PostUpdateContainer": PostUpdateContainerRequest => Empty,
    "StopContainer": StopContainerRequest => StopContainerResponse,
    "RemoveContainer": RemoveContainerRequest => Empty,
}

/// How often a call is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Calls before those that count.
    pub warmup: usize,
    pub calls: usize,
    /// Time before each call.
    pub pause: Duration,
}

/// How long calls took, as the runtime saw them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Latency {
    #[serde(rename = "p50_ns", deserialize_with = "nanoseconds")]
    pub p50: Duration,
    #[serde(rename = "p90_ns", deserialize_with = "nanoseconds")]
    pub p90: Duration,
    #[serde(rename = "p99_ns", deserialize_with = "nanoseconds")]
    pub p99: Duration,
}

fn nanoseconds<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_nanos)
}

/// A runtime that is nothing but its NRI side. It ends with this value; that is
/// also the only way to make it close the connections of plugins.
#[derive(Debug)]
pub struct Reference {
    process: Process,
    socket: PathBuf,
}

impl Reference {
    /// Starts the process, which does not listen yet. Its log goes to a file
    /// beside `socket`.
    ///
    /// # Errors
    ///
    /// If the program does not build or start.
    pub fn new(socket: &Path) -> Result<Self> {
        let process = Process::start(
            &programs()?.join("reference"),
            &socket.with_extension("log"),
        )?;
        Ok(Self {
            process,
            socket: socket.to_owned(),
        })
    }

    /// Starts the process and listens on `socket`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new) and [`listen`](Self::listen).
    pub fn start(socket: &Path, options: &Options) -> Result<Self> {
        let reference = Self::new(socket)?;
        reference.listen(options)?;
        Ok(reference)
    }

    /// Makes the socket; plugins can connect from now on. Returns when that
    /// was, on the clock of [`Event::at`].
    ///
    /// # Errors
    ///
    /// If the library refuses, or the process has ended.
    pub fn listen(&self, options: &Options) -> Result<Duration> {
        #[derive(Deserialize)]
        struct Started {
            listening_us: u64,
        }
        let mut command = serde_json::to_value(options)?;
        command["socket"] = json!(self.socket);
        let started: Started = self.process.request("start", command)?;
        Ok(Duration::from_micros(started.listening_us))
    }

    /// Where plugins connect.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sets the pods and containers that plugins get at Synchronize.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub fn set_state(&self, state: &SynchronizeRequest) -> Result<()> {
        let _: serde_json::Value = self
            .process
            .request("state", json!({ "state": encode(state)? }))?;
        Ok(())
    }

    /// Reports unsolicited updates of these containers as failed from now on.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub fn fail_updates_of(&self, containers: &[&str]) -> Result<()> {
        let _: serde_json::Value = self
            .process
            .request("fail-updates", json!({ "containers": containers }))?;
        Ok(())
    }

    /// Holds synchronization back, as a runtime does while it serves requests
    /// of its own, until [`release_sync`](Self::release_sync).
    ///
    /// # Errors
    ///
    /// If it does not listen yet, or the process has ended.
    pub fn hold_sync(&self) -> Result<()> {
        let _: serde_json::Value = self.process.request("hold-sync", json!({}))?;
        Ok(())
    }

    /// Ends what every [`hold_sync`](Self::hold_sync) before it began.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub fn release_sync(&self) -> Result<()> {
        let _: serde_json::Value = self.process.request("release-sync", json!({}))?;
        Ok(())
    }

    /// Relays one request to all plugins and returns what the library made of
    /// their answers.
    ///
    /// # Errors
    ///
    /// [`Refused`] where the runtime would refuse the operation.
    pub fn call<C: Call>(&self, request: &C) -> Result<C::Response> {
        #[derive(Deserialize)]
        struct Answer {
            response: String,
        }
        let command = json!({ "method": C::METHOD, "request": encode(request)? });
        let answer: Answer = self.process.request("call", command)?;
        decode(&answer.response)
    }

    /// Repeats one call and tells how long the library took for it.
    ///
    /// # Errors
    ///
    /// [`Refused`] if one of the calls fails.
    pub fn bench<C: Call>(&self, request: &C, pace: Pace) -> Result<Latency> {
        self.process.request(
            "bench",
            json!({
                "method": C::METHOD,
                "request": encode(request)?,
                "warmup": pace.warmup,
                "calls": pace.calls,
                "pause_us": u64::try_from(pace.pause.as_micros())?,
            }),
        )
    }

    /// Waits until each of these plugins (`INDEX-NAME`) has been connected and
    /// synchronized since the start; returns the events, in the order of
    /// `plugins`.
    ///
    /// # Panics
    ///
    /// After 30 s, telling what happened instead.
    pub fn wait_connected(&self, plugins: &[&str]) -> Vec<Event> {
        self.wait(&format!("{plugins:?} to be connected"), |events| {
            let connected = |plugin: &&str| {
                events
                    .iter()
                    .rfind(|e| e.name == "connected" && e.text == **plugin)
                    .cloned()
            };
            plugins.iter().map(connected).collect()
        })
    }

    /// Waits until `found` makes something of the events so far; `what` names
    /// it.
    ///
    /// # Panics
    ///
    /// After 30 s, telling what happened instead.
    pub fn wait<T>(&self, what: &str, found: impl Fn(&[Event]) -> Option<T>) -> T {
        self.process.wait(what, PATIENCE, found)
    }

    /// What happened since the start.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.process.events()
    }

    /// The unsolicited updates that plugins asked for since the start.
    ///
    /// # Errors
    ///
    /// If the program wrote something else than it should.
    pub fn updates(&self) -> Result<Vec<ContainerUpdate>> {
        let mut updates = Vec::new();
        for event in self.events().iter().filter(|event| event.name == "updates") {
            updates.extend(decode::<UpdateContainersRequest>(&event.message)?.update);
        }
        Ok(updates)
    }

    /// Ends the process as `kill -9` does.
    pub fn kill(self) {
        drop(self);
    }
}
