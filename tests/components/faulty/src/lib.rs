//! A component that does what its configuration says, faults included. For tests of the host.
//!
//! ```toml
//! [component.config]
//! create = "ok"                 # ok, error, panic, try-later, hang
//! until = "/tmp/go"             # "hang" and "try-later" end when this file exists; without it never
//! methods = ["CreateContainer"] # narrows the methods that it wants; without it all 15
//! record = "/tmp/calls.jsonl"   # one JSON line for each call
//! alone = "/tmp/lock"            # create says "later" while another instance has this file
//!
//! [component.config.health]      # what it says of itself, in create
//! summary = "12 hooks"
//! problems = [{ message = "no such key", file = "/etc/a.json", line = 3 }]
//!
//! [component.config.on.CreateContainer]
//! do = "reject"
//! for = { pod_name_prefix = "bad-", container_name = "web" }
//! times = 3
//! text = "not today"
//!
//! [component.config.updates]
//! in_create = ["0123"]          # asks for an update of each of these containers in create
//! burst = { after = "/tmp/go", containers = ["0123", "4567"] } # and from a thread, after the file exists
//! on_result = { do = "panic" }  # what it does when it is told a result
//! ```
//!
//! `on` has an entry for each method that is not just answered. `do` is one of
//!
//! | `do` | what happens |
//! |---|---|
//! | `answer` | an empty answer |
//! | `reject` | a rejection with `text` |
//! | `error` | a failure with `text` |
//! | `panic` | a panic with `text` |
//! | `sleep` | an empty answer after `ms` milliseconds |
//! | `hang` | an empty answer once the file `until` exists; without `until` never |
//! | `abort`, `exit` | the process ends, by a signal or with status 3 |
//! | `annotate` | `CreateContainer`: sets the annotation `KEY=VALUE` in `text` |
//! | `large` | `CreateContainer`: an answer of exactly `bytes` bytes: 0, or 20 and more (an error for the few sizes that no answer has). `Synchronize`, `UpdateContainer`, `StopContainer`: an update with a text of so many bytes |
//!
//! | `update` | in calls about containers: asks for an update of the container with the id `text` (of the call's own, if that is empty) outside the request, then answers |
//!
//! `for` picks calls by the beginning of the pod's name and by the container's name; others are
//! answered. `times` ends the fault after so many calls. `create` fails with "as configured".
//!
//! The record has the keys `instance`, `method`, and those of `namespace`, `pod`, `container` that
//! are not empty; for `Synchronize` the numbers `pods` and `containers`. A line is written before
//! anything else is done. The instance itself leaves lines with the methods `create` and `destroy`,
//! each update asked for one with `update_containers`, `container` and `status` (`queued`, `full`,
//! `refused`), and each result one with `update_result`, `container`, and what of `error` and `failed`
//! there is.
//!
//! Its own commands are `methods`, `fail TEXT` and `panic`.
#![forbid(unsafe_code)]

mod alone;
mod answers;
mod behaviour;
mod commands;
mod health;
mod record;
mod updates;

use std::collections::BTreeMap;
use std::path::PathBuf;

use nri_plugin_api::request::{ContainerRequest, PodRequest, Request};
use nri_plugin_api::{
    Adjustment, Command, Component, ConfigMistakes, CreateContainer, Error, Host, Method,
    MethodSet, PostCreateContainer, PostStartContainer, PostUpdateContainer, PostUpdatePodSandbox,
    RemoveContainer, RemovePodSandbox, RunPodSandbox, StartContainer, StopContainer,
    StopPodSandbox, Synchronize, UpdateContainer, UpdatePodSandbox, UpdateResult, Updates,
    ValidateContainerAdjustment,
};
use serde::Deserialize;

use alone::Alone;
use behaviour::{Action, Behaviour, Creation};
use health::HealthSettings;
use record::{Entry, Record};
use updates::{Asker, Burst, Bursting};

/// `[component.config]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default)]
    create: Creation,
    #[serde(default)]
    until: Option<PathBuf>,
    #[serde(default)]
    methods: Option<Vec<String>>,
    #[serde(default)]
    record: Option<PathBuf>,
    #[serde(default)]
    alone: Option<PathBuf>,
    #[serde(default)]
    on: BTreeMap<String, Behaviour>,
    #[serde(default)]
    updates: UpdateSettings,
    #[serde(default)]
    health: Option<HealthSettings>,
}

/// `[component.config.updates]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateSettings {
    #[serde(default)]
    in_create: Vec<String>,
    #[serde(default)]
    burst: Option<Burst>,
    #[serde(default)]
    on_result: Option<Behaviour>,
}

/// The component.
#[derive(Debug)]
pub struct Faulty {
    instance: String,
    methods: MethodSet,
    record: Record,
    on: BTreeMap<Method, Behaviour>,
    on_result: Option<Behaviour>,
    asker: Asker,
    _burst: Option<Bursting>,
    _alone: Option<Alone>,
}

/// Turns names into methods; wrong ones are mistakes in the configuration.
fn method(name: &str, key: &str, mistakes: &mut ConfigMistakes) -> Option<Method> {
    let method = Method::from_name(name);
    if method.is_none() {
        mistakes.add(key, format!("{name:?} is not a method"));
    }
    method
}

impl Faulty {
    fn new(settings: Settings, host: Host) -> Result<Self, Error> {
        let mut mistakes = ConfigMistakes::new();
        let methods = settings.methods.map_or(MethodSet::ALL, |names| {
            let key = |i| format!("methods[{i}]");
            let found = names.iter().enumerate();
            found
                .filter_map(|(i, name)| method(name, &key(i), &mut mistakes))
                .collect()
        });
        let on = settings.on.into_iter();
        let on = on.filter_map(|(name, behaviour)| {
            Some((
                method(&name, &format!("on.{name}"), &mut mistakes)?,
                behaviour,
            ))
        });
        let on = on.collect();
        mistakes.into_result()?;
        let record = Record::open(settings.record.as_deref())
            .map_err(|error| Error::from(error).context("opening the record"))?;
        let instance = host.name().to_owned();
        if let Some(health) = settings.health {
            host.report_health(&health.into());
        }
        let alone = settings.alone.map(Alone::take).transpose()?;
        let asker = Asker::new(host);
        let burst = settings.updates.burst;
        let burst = burst.map(|b| Bursting::start(b, asker.clone(), settings.record.as_deref()));
        Ok(Self {
            instance,
            methods,
            record,
            on,
            on_result: settings.updates.on_result,
            asker,
            _burst: burst.transpose()?,
            _alone: alone,
        })
    }

    /// Writes the call down, and does what the configuration says about it.
    fn perform(&mut self, method: Method, entry: Entry<'_>) -> Result<Option<Behaviour>, Error> {
        let (pod, container) = (entry.pod, entry.container);
        self.record.write(&Entry {
            instance: &self.instance,
            method: method.name(),
            ..entry
        })?;
        let Some(behaviour) = self.on.get_mut(&method) else {
            return Ok(None);
        };
        if !behaviour.scope.covers(pod, container) {
            return Ok(None);
        }
        if let Some(left) = &mut behaviour.times {
            let Some(fewer) = left.checked_sub(1) else {
                return Ok(None);
            };
            *left = fewer;
        }
        let behaviour = behaviour.clone();
        behaviour.perform()?;
        Ok(Some(behaviour))
    }

    fn on_pod<M: PodRequest>(&mut self, request: &Request<'_, M>) -> Result<(), Error> {
        let pod = request.pod_view();
        let entry = Entry {
            namespace: pod.namespace(),
            pod: pod.name(),
            ..Default::default()
        };
        self.perform(M::METHOD, entry).map(drop)
    }

    fn on_container<M: ContainerRequest>(
        &mut self,
        request: &Request<'_, M>,
    ) -> Result<Option<Behaviour>, Error> {
        let entry = Entry {
            namespace: request.pod_namespace(),
            pod: request.pod_name(),
            container: request.container_name(),
            ..Default::default()
        };
        let behaviour = self.perform(M::METHOD, entry)?;
        if let Some(behaviour) = &behaviour
            && behaviour.action == Action::Update
        {
            let container = match behaviour.text.as_str() {
                "" => request.container_id(),
                text => text,
            };
            self.asker.ask(container, &mut self.record)?;
        }
        Ok(behaviour)
    }
}

/// What the behaviour answers, or nothing.
fn answer<A: Default>(
    behaviour: Option<&Behaviour>,
    make: impl FnOnce(&Behaviour) -> Result<A, Error>,
) -> Result<A, Error> {
    behaviour.map_or_else(|| Ok(A::default()), make)
}

#[nri_plugin_api::component(id = "dev.nri-host.faulty")]
impl Component for Faulty {
    type Config = Settings;
    const COMMANDS: &'static [Command<Self>] = commands::COMMANDS;

    fn create(settings: Settings, host: Host) -> Result<Self, Error> {
        tracing::info!(create = ?settings.create, "creating");
        let (creation, until) = (settings.create, settings.until.clone());
        let containers = settings.updates.in_create.clone();
        let mut faulty = Self::new(settings, host)?;
        let entry = Entry {
            instance: &faulty.instance,
            method: "create",
            ..Default::default()
        };
        faulty.record.write(&entry)?;
        for container in &containers {
            faulty.asker.ask(container, &mut faulty.record)?;
        }
        match creation {
            Creation::Ok => {}
            Creation::Error => return Err(Error::failed("as configured")),
            Creation::Panic => panic!("as configured"),
            Creation::TryLater if until.as_ref().is_some_and(|file| file.exists()) => {}
            Creation::TryLater => return Err(Error::try_later("as configured")),
            Creation::Hang => behaviour::hang(until.as_deref()),
        }
        Ok(faulty)
    }

    fn methods(&self) -> MethodSet {
        self.methods
    }

    fn synchronize(&mut self, request: &Synchronize<'_>) -> Result<Updates, Error> {
        let (pods, containers) = (request.pods().count(), request.containers().count());
        let entry = Entry {
            pods: Some(pods),
            containers: Some(containers),
            ..Default::default()
        };
        answer(
            self.perform(Method::Synchronize, entry)?.as_ref(),
            answers::updates,
        )
    }

    fn update_result(&mut self, result: &UpdateResult) {
        let told = self.asker.told(result, &mut self.record);
        let done = self.on_result.as_ref().map_or(Ok(()), Behaviour::perform);
        if let Err(error) = told.and(done) {
            tracing::error!(%error, "cannot take the result of an update in");
        }
    }

    fn run_pod_sandbox(&mut self, request: &RunPodSandbox<'_>) -> Result<(), Error> {
        self.on_pod(request)
    }

    fn update_pod_sandbox(&mut self, request: &UpdatePodSandbox<'_>) -> Result<(), Error> {
        self.on_pod(request)
    }

    fn post_update_pod_sandbox(&mut self, request: &PostUpdatePodSandbox<'_>) -> Result<(), Error> {
        self.on_pod(request)
    }

    fn stop_pod_sandbox(&mut self, request: &StopPodSandbox<'_>) -> Result<(), Error> {
        self.on_pod(request)
    }

    fn remove_pod_sandbox(&mut self, request: &RemovePodSandbox<'_>) -> Result<(), Error> {
        self.on_pod(request)
    }

    fn create_container(&mut self, request: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        answer(self.on_container(request)?.as_ref(), answers::adjustment)
    }

    fn post_create_container(&mut self, request: &PostCreateContainer<'_>) -> Result<(), Error> {
        self.on_container(request).map(drop)
    }

    fn start_container(&mut self, request: &StartContainer<'_>) -> Result<(), Error> {
        self.on_container(request).map(drop)
    }

    fn post_start_container(&mut self, request: &PostStartContainer<'_>) -> Result<(), Error> {
        self.on_container(request).map(drop)
    }

    fn update_container(&mut self, request: &UpdateContainer<'_>) -> Result<Updates, Error> {
        answer(self.on_container(request)?.as_ref(), answers::updates)
    }

    fn post_update_container(&mut self, request: &PostUpdateContainer<'_>) -> Result<(), Error> {
        self.on_container(request).map(drop)
    }

    fn stop_container(&mut self, request: &StopContainer<'_>) -> Result<Updates, Error> {
        answer(self.on_container(request)?.as_ref(), answers::updates)
    }

    fn remove_container(&mut self, request: &RemoveContainer<'_>) -> Result<(), Error> {
        self.on_container(request).map(drop)
    }

    fn validate_container_adjustment(
        &mut self,
        request: &ValidateContainerAdjustment<'_>,
    ) -> Result<(), Error> {
        self.on_container(request).map(drop)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        let entry = Entry {
            instance: &self.instance,
            method: "destroy",
            ..Default::default()
        };
        if let Err(error) = self.record.write(&entry) {
            tracing::error!(%error, "cannot write the record");
        }
    }
}

#[cfg(test)]
mod tests;
