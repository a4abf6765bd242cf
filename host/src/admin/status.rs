//! The state of everything at one moment.

mod state;

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub use state::State;

use crate::component::counters::Counts;
use crate::component::health::Health;
use crate::component::last_errors::LastError;
use crate::component::latency::Latency;
use crate::component::outbox::UpdateCounts;
use crate::config::{nearest, plugin_name};
use crate::supervisor::{Absent, Member};

/// What `status --json` prints.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Version of the host.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Every required component is active and in step.
    pub ready: bool,
    /// The container runtime.
    pub runtime: RuntimeStatus,
    /// The components by index and name.
    pub components: Vec<ComponentStatus>,
}

/// One word for the way to the container runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuntimeState {
    /// No component has got so far yet; nothing is known to be in the way.
    #[default]
    Waiting,
    /// It has answered at least one component that is connected.
    Connected,
    /// There is nothing at the path of its socket.
    Missing,
    /// There is something else.
    NotASocket,
    /// Nobody listens on the socket.
    Refused,
    /// Somebody listens, and takes no connection.
    Busy,
    /// The host may not connect to it.
    Denied,
    /// The path is longer than that of a socket can be.
    PathTooLong,
    /// There are no descriptors or no memory for a connection.
    Exhausted,
    /// It is not the one that `expect_runtime` names.
    WrongRuntime,
    /// It cannot be connected to for another reason.
    Failed,
}

impl RuntimeState {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Waiting,
        Self::Connected,
        Self::Missing,
        Self::NotASocket,
        Self::Refused,
        Self::Busy,
        Self::Denied,
        Self::PathTooLong,
        Self::Exhausted,
        Self::WrongRuntime,
        Self::Failed,
    ];

    /// As in the JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Connected => "connected",
            Self::Missing => "missing",
            Self::NotASocket => "not-a-socket",
            Self::Refused => "refused",
            Self::Busy => "busy",
            Self::Denied => "denied",
            Self::PathTooLong => "path-too-long",
            Self::Exhausted => "exhausted",
            Self::WrongRuntime => "wrong-runtime",
            Self::Failed => "failed",
        }
    }
}

/// The container runtime, as far as it is known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuntimeStatus {
    /// Path of its socket.
    pub socket: String,
    /// See [`RuntimeState`].
    pub state: RuntimeState,
    /// What is in the way, if something is.
    pub trouble: Option<String>,
    /// Its name, from Configure.
    pub name: Option<String>,
    /// Its version, from Configure.
    pub version: Option<String>,
    /// Its NRI version, said or known from its version.
    pub nri_version: Option<String>,
    /// Time that it gives a request, in milliseconds, if it says.
    pub request_timeout_ms: Option<u64>,
    /// Time that it gives a registration, in milliseconds, if it says.
    pub registration_timeout_ms: Option<u64>,
}

/// One component.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComponentStatus {
    /// Its name.
    pub name: Option<String>,
    /// Its index.
    pub index: Option<u8>,
    /// See [`State`].
    pub state: Option<State>,
    /// Why it is in this state, if there is something to say.
    pub reason: Option<String>,
    /// For how long it has been in this state, in seconds.
    pub since_seconds: Option<u64>,
    /// The host is not ready without it.
    pub required: bool,
    /// Path of its library.
    pub library: Option<String>,
    /// SHA-256 of the library that was loaded, in hexadecimal.
    pub digest: Option<String>,
    /// What the library says it is.
    pub id: Option<String>,
    /// Version of the library.
    pub version: Option<String>,
    /// Events that the runtime was asked for, as a mask.
    pub events: Option<u32>,
    /// Its last failures, newest first.
    #[serde(default)]
    pub last_errors: Vec<LastError>,
    /// Why it runs with an older configuration than the files have.
    pub held_back: Option<String>,
    /// What it says of itself.
    pub health: Option<Health>,
    /// For how long it will not be called any more, in seconds, if it is in quarantine. It may be
    /// in another state at the same time, such as without a session.
    pub quarantine_left_seconds: Option<u64>,
    /// See [`Counts`].
    #[serde(flatten)]
    pub counts: Option<Counts>,
    /// How long its calls took until they were answered, since the host started.
    pub latency: Option<Latency>,
    /// See [`UpdateCounts`].
    pub updates: Option<UpdateCounts>,
}

impl Status {
    pub(crate) fn new(
        socket: &Path,
        trouble: Option<(RuntimeState, String)>,
        ready: bool,
        members: &[Member],
        absent: &[Absent],
    ) -> Self {
        let mut components: Vec<ComponentStatus> = members
            .iter()
            .filter(|member| !member.leaves())
            .map(ComponentStatus::of_member)
            .chain(absent.iter().map(ComponentStatus::of_absent))
            .collect();
        components.sort_by(|a, b| (a.index, &a.name).cmp(&(b.index, &b.name)));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            ready,
            runtime: RuntimeStatus::new(socket, trouble, members),
            components,
        }
    }
}

impl Status {
    /// The components of this name, alone or with its index before it.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &ComponentStatus> {
        let is_meant = move |component: &&ComponentStatus| {
            component.name.as_deref() == Some(name) || component.plugin() == name
        };
        self.components.iter().filter(is_meant)
    }

    /// What to tell somebody who asks for a component that is not there.
    pub fn unknown(&self, name: &str) -> String {
        let names = self.components.iter().filter_map(|c| c.name.as_deref());
        let hint = nearest(name, names).map(|nearest| format!("; did you mean {nearest:?}?"));
        format!("there is no component {name:?}{}", hint.unwrap_or_default())
    }
}

impl RuntimeStatus {
    fn new(socket: &Path, trouble: Option<(RuntimeState, String)>, members: &[Member]) -> Self {
        let configured = members
            .iter()
            .find_map(|member| member.served()?.session.progress().configured);
        let (state, trouble) = match trouble {
            Some((state, trouble)) => (state, Some(trouble)),
            None if configured.is_some() => (RuntimeState::Connected, None),
            None => (RuntimeState::Waiting, None),
        };
        let configured = configured.unwrap_or_default();
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let millis = |time: Option<std::time::Duration>| {
            time.and_then(|time| u64::try_from(time.as_millis()).ok())
        };
        Self {
            socket: socket.display().to_string(),
            state,
            trouble,
            name: known(&configured.runtime.name),
            version: known(&configured.runtime.version),
            nri_version: configured.runtime.nri().map(|nri| nri.to_string()),
            request_timeout_ms: millis(configured.request_timeout),
            registration_timeout_ms: millis(configured.registration_timeout),
        }
    }
}

impl ComponentStatus {
    /// Index and name, as in the log.
    pub fn plugin(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(no name)");
        match self.index {
            Some(index) => plugin_name(index, name),
            None => name.to_owned(),
        }
    }

    /// It is synchronized and serves calls.
    pub fn is_active(&self) -> bool {
        self.state == Some(State::Active)
    }

    fn of_member(member: &Member) -> Self {
        let (state, reason, since) = state::of(member);
        let configured = member
            .served()
            .and_then(|s| s.session.progress().configured);
        let library = member.seat.library();
        let counts = member.seat.counters.counts(member.seat.methods());
        let quarantined_until = member
            .kept_out()
            .map(|(_, until)| until)
            .or_else(|| member.seat.quarantine.term().map(|term| term.until));
        Self {
            name: Some(member.config.name.clone()),
            index: Some(member.config.index),
            state: Some(state),
            reason,
            since_seconds: Some(since.elapsed().as_secs()),
            required: member.config.required,
            library: Some(member.config.library.display().to_string()),
            digest: library.map(|library| library.digest.to_string()),
            id: library.map(|library| library.id.clone()),
            version: library.map(|library| library.version.clone()),
            events: configured.map(|configured| configured.events),
            last_errors: member.seat.last_errors.list(),
            held_back: member.held_back().map(str::to_owned),
            health: member.seat.health.get(),
            quarantine_left_seconds: quarantined_until
                .map(|until| until.saturating_duration_since(Instant::now()).as_secs()),
            latency: counts.durations.latency(),
            counts: Some(counts),
            updates: Some(member.seat.outbox.counts()),
        }
    }

    fn of_absent(absent: &Absent) -> Self {
        match absent {
            Absent::Disabled(config) => Self {
                name: Some(config.name.clone()),
                index: Some(config.index),
                state: Some(State::Disabled),
                ..Self::default()
            },
            Absent::Broken {
                name,
                index,
                required,
                reason,
            } => Self {
                name: name.clone(),
                index: *index,
                state: Some(State::Failed),
                reason: Some(reason.clone()),
                required: *required,
                ..Self::default()
            },
        }
    }
}
