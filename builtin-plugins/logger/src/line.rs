//! From an event to a line of JSON.

use std::time::SystemTime;

use nri_plugin_api::request::RequestMessage;
use nri_plugin_api::{Method, api};
use serde::{Serialize, Serializer};

use crate::queue::{Entry, Event};
use crate::redact;
use crate::synchronized::{ContainerName, PodName, Synchronized};

/// A time in RFC 3339, in UTC.
struct Time(SystemTime);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_micros(self.0))
    }
}

/// What every line begins with.
#[derive(Serialize)]
struct Line<'a, T> {
    time: Time,
    event: &'a str,
    #[serde(flatten)]
    rest: T,
}

/// What is left of an event that is too long.
#[derive(Serialize)]
struct Truncated<T> {
    #[serde(flatten)]
    names: T,
    truncated: bool,
    /// How long the line would have been.
    bytes: usize,
}

/// What a request is about.
#[derive(Serialize)]
pub(crate) struct Names {
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<PodName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<ContainerName>,
}

/// An event that is not what its method promises.
#[derive(Serialize)]
struct Unreadable {
    error: String,
}

#[derive(Serialize)]
struct Dropped {
    count: u64,
}

/// How the request of one method becomes a line.
pub(crate) type Render = fn(Lines, SystemTime, &[u8]) -> Vec<u8>;

/// A request that is written as its message.
pub(crate) trait Loggable: RequestMessage + Serialize {
    fn names(&self) -> Names;

    /// Hides what is likely to be a secret.
    fn redact(&mut self);
}

fn pod_name(pod: &api::PodSandbox) -> PodName {
    PodName::new(&pod.id, &pod.name, &pod.uid, &pod.namespace)
}

fn container_name(container: &api::Container) -> ContainerName {
    ContainerName::new(&container.id, &container.pod_sandbox_id, &container.name)
}

macro_rules! about_pods {
    ($($message:ident)*) => {$(
        impl Loggable for api::$message {
            fn names(&self) -> Names {
                Names { pod: self.pod.as_ref().map(pod_name), container: None }
            }

            fn redact(&mut self) {}
        }
    )*};
}

macro_rules! about_containers {
    ($($message:ident $(and $adjust:ident)?;)*) => {$(
        impl Loggable for api::$message {
            fn names(&self) -> Names {
                Names {
                    pod: self.pod.as_ref().map(pod_name),
                    container: self.container.as_ref().map(container_name),
                }
            }

            fn redact(&mut self) {
                if let Some(container) = self.container.as_mut() {
                    redact::container(container);
                }
                $(if let Some(adjustment) = self.$adjust.as_mut() {
                    redact::adjustment(adjustment);
                })?
            }
        }
    )*};
}

about_pods! {
    RunPodSandboxRequest UpdatePodSandboxRequest PostUpdatePodSandboxRequest StopPodSandboxRequest
    RemovePodSandboxRequest
}

about_containers! {
    CreateContainerRequest;
    PostCreateContainerRequest;
    StartContainerRequest;
    PostStartContainerRequest;
    UpdateContainerRequest;
    PostUpdateContainerRequest;
    StopContainerRequest;
    RemoveContainerRequest;
    ValidateContainerAdjustmentRequest and adjust;
}

/// Makes lines. They have no line break in them and none at their end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    /// The length of the longest line, in bytes.
    pub(crate) max_bytes: usize,
}

impl Lines {
    /// The line of an event.
    pub(crate) fn event(self, entry: &Entry) -> Vec<u8> {
        let time = entry.time;
        match &entry.event {
            Event::Request { render, payload } => render(self, time, payload),
            Event::Synchronized(names) => self.synchronized(time, names),
        }
    }

    /// The line that tells of events without a line.
    pub(crate) fn dropped(self, time: SystemTime, count: u64) -> Vec<u8> {
        json(time, "dropped", Dropped { count })
    }

    fn synchronized(self, time: SystemTime, names: &Synchronized) -> Vec<u8> {
        let event = Method::Synchronize.name();
        self.bounded(time, event, names, || names.counts())
    }

    /// The line of a request, whose message is `M`.
    pub(crate) fn request<M: Loggable>(self, time: SystemTime, payload: &[u8]) -> Vec<u8> {
        let event = M::METHOD.name();
        match M::parse_from_bytes(payload) {
            Ok(mut message) => {
                message.redact();
                self.bounded(time, event, &message, || message.names())
            }
            Err(error) => {
                let error = error.to_string();
                json(time, event, Unreadable { error })
            }
        }
    }

    /// The line with all, or if it is too long, the line with names only.
    fn bounded<N: Serialize>(
        self,
        time: SystemTime,
        event: &str,
        all: impl Serialize,
        names: impl FnOnce() -> N,
    ) -> Vec<u8> {
        let line = json(time, event, all);
        if line.len() <= self.max_bytes {
            return line;
        }
        let truncated = Truncated {
            names: names(),
            truncated: true,
            bytes: line.len(),
        };
        json(time, event, truncated)
    }
}

fn json(time: SystemTime, event: &str, rest: impl Serialize) -> Vec<u8> {
    let line = Line {
        time: Time(time),
        event,
        rest,
    };
    serde_json::to_vec(&line).expect("all maps have texts or numbers as keys")
}
