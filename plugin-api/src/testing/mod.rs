//! Tests a component without a host and without a runtime.
//!
//! A [`Harness`] drives a component through the functions that its library exports, so a test sees
//! what a host would see: the encoded answer, a rejection, a failure, a caught panic, the log.
//!
//! ```
//! use nri_plugin_api::testing::{self, Harness, json};
//! # use nri_plugin_api::{Adjustment, Component, CreateContainer, Error, Host};
//! # #[derive(serde::Deserialize)]
//! # struct Settings { greeting: String }
//! # struct Greeter { greeting: String }
//! # #[nri_plugin_api::component(id = "com.example.greeter")]
//! # impl Component for Greeter {
//! #     type Config = Settings;
//! #     fn create(config: Settings, _: Host) -> Result<Self, Error> {
//! #         Ok(Self { greeting: config.greeting })
//! #     }
//! #     fn create_container(&mut self, _: &CreateContainer) -> Result<Adjustment, Error> {
//! #         let mut adjustment = Adjustment::new();
//! #         adjustment.set_env("GREETING", &self.greeting)?;
//! #         Ok(adjustment)
//! #     }
//! # }
//!
//! let mut greeter = Harness::<Greeter>::create(json!({ "greeting": "hello" })).unwrap();
//! let pod = testing::pod("web-0", [("example.com/greet", "yes")]);
//! let answer = greeter.create_container(&pod, &testing::container(&pod, "nginx")).answer();
//! assert_eq!(answer.adjust.env[0].value, "hello");
//! ```

mod border;
mod command;
mod drop_in;
mod outcome;
mod samples;

use std::fmt;
use std::marker::PhantomData;

pub use command::{CommandOutcome, commands, run_command};
pub use drop_in::{assert_shows_defaults, shown_settings};
pub use outcome::{CreateFailure, FailureKind, LogLevel, LogLine, Outcome};
use protobuf::{Message, MessageField};
pub use samples::{container, pod};
/// Configurations.
pub use serde_json::{Value, json};

use crate::abi::{Method, Status, create_flags};
use crate::api;
use crate::export::{Exported, descriptor};
use crate::health::Health;
use crate::method_set::MethodSet;
use crate::request::RequestMessage;
use crate::runtime::Runtime;
use crate::update_result::UpdateId;
use border::{Identity, Instance};

/// Who an instance is, before it is created.
#[derive(Clone, Debug)]
pub struct Setup {
    name: String,
    index: u32,
    log_level: LogLevel,
    is_trial: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            name: "test".to_owned(),
            index: 10,
            log_level: LogLevel::Trace,
            is_trial: false,
        }
    }
}

impl Setup {
    /// An instance `10-test` whose log is kept whole.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the instance another name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Gives the instance another index.
    #[must_use]
    pub fn index(mut self, index: u32) -> Self {
        self.index = index;
        self
    }

    /// Keeps log lines up to this level only.
    #[must_use]
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.log_level = level;
        self
    }

    /// Tells the instance that it is only made to see whether it can be.
    #[must_use]
    pub fn trial(mut self) -> Self {
        self.is_trial = true;
        self
    }

    /// Creates the instance.
    ///
    /// # Errors
    ///
    /// The component failed to create it.
    pub fn create<T: Exported>(&self, config: &Value) -> Result<Harness<T>, CreateFailure> {
        let identity = Identity {
            name: &self.name,
            index: self.index,
            log_level: self.log_level.number(),
            flags: if self.is_trial {
                create_flags::TRIAL
            } else {
                0
            },
        };
        let instance = Instance::create(descriptor::<T>(), identity, &config.to_string())?;
        Ok(Harness {
            instance,
            component: PhantomData,
        })
    }
}

/// One instance of a component. It is destroyed when the harness is dropped.
pub struct Harness<T: Exported> {
    instance: Instance,
    component: PhantomData<T>,
}

impl<T: Exported> fmt::Debug for Harness<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness")
            .field("instance", &self.instance)
            .finish()
    }
}

impl<T: Exported> Harness<T> {
    /// Creates an instance with this configuration; [`Setup`] does it with other names.
    ///
    /// # Errors
    ///
    /// The component failed to create it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is called with json!({…})"
    )]
    pub fn create(config: Value) -> Result<Self, CreateFailure> {
        Setup::new().create(&config)
    }

    /// The methods that the host would call: those of the implementation, as far as the instance
    /// wants them.
    pub fn methods(&mut self) -> MethodSet {
        let wanted = self.instance.methods();
        T::METHODS
            .iter()
            .filter(|method| wanted & method.bit() != 0)
            .collect()
    }

    /// Sends a request; its message tells the method.
    ///
    /// # Panics
    ///
    /// The request cannot be encoded.
    pub fn call<M: RequestMessage>(&mut self, request: &M) -> Outcome<M::Response> {
        let payload = request
            .write_to_bytes()
            .expect("NRI has no required fields");
        let decode = |data: Vec<u8>| {
            M::Response::parse_from_bytes(&data).expect("the SDK encodes what it answers")
        };
        self.call_encoded(M::METHOD, &payload).map(decode)
    }

    /// Sends a request whose message is encoded already, well or badly.
    pub fn call_encoded(&mut self, method: Method, payload: &[u8]) -> Outcome<Vec<u8>> {
        self.call_number(method.number(), payload)
    }

    /// Sends a request for a method that may not exist.
    pub fn call_number(&mut self, method: u32, payload: &[u8]) -> Outcome<Vec<u8>> {
        let (status, reply) = self
            .instance
            .handle(method, border::method_name(method), payload);
        let text = |data: Vec<u8>| String::from_utf8_lossy(&data).into_owned();
        match (status, reply) {
            (Status::OK, Some((Status::OK, data))) => Outcome::Answer(data),
            (Status::OK, Some((Status::REJECTED, data))) => Outcome::Rejected(text(data)),
            (Status::OK, Some((_, data))) => Outcome::Failed(text(data)),
            (Status::OK, None) => Outcome::Failed("no reply".to_owned()),
            (Status::DEAD, Some((_, data))) => Outcome::Panicked(text(data)),
            (Status::DEAD, None) => Outcome::Dead,
            (Status::UNSUPPORTED, _) => Outcome::Unsupported,
            (Status(other), _) => Outcome::Failed(format!("handle returned {other}")),
        }
    }

    /// Sends `CreateContainer`.
    pub fn create_container(
        &mut self,
        pod: &api::PodSandbox,
        container: &api::Container,
    ) -> Outcome<api::CreateContainerResponse> {
        self.call(&api::CreateContainerRequest {
            pod: MessageField::some(pod.clone()),
            container: MessageField::some(container.clone()),
            ..Default::default()
        })
    }

    /// Sends `Synchronize`.
    pub fn synchronize(
        &mut self,
        pods: &[api::PodSandbox],
        containers: &[api::Container],
    ) -> Outcome<api::SynchronizeResponse> {
        self.call(&api::SynchronizeRequest {
            pods: pods.to_vec(),
            containers: containers.to_vec(),
            ..Default::default()
        })
    }

    /// Tells the instance which runtime it is with, from now on. Before, the host does not know it.
    pub fn set_runtime(&mut self, name: &str, version: &str, nri_version: &str) {
        self.instance.recorded().runtime = Some(Runtime {
            name: name.to_owned(),
            version: version.to_owned(),
            nri_version: nri_version.to_owned(),
        });
    }

    /// All lines that the instance logged so far.
    pub fn logs(&self) -> Vec<LogLine> {
        self.instance.recorded().logs.clone()
    }

    /// What the instance said of itself last, with [`Host::report_health`](crate::Host::report_health).
    pub fn health(&self) -> Option<Health> {
        self.instance.recorded().health.clone()
    }

    /// Takes the requests of [`Host::update_containers`](crate::Host::update_containers) so far.
    /// What comes of them is told by [`Harness::update_result`].
    ///
    /// # Panics
    ///
    /// A request cannot be decoded.
    pub fn take_updates(&mut self) -> Vec<(UpdateId, api::UpdateContainersRequest)> {
        let encoded = std::mem::take(&mut self.instance.recorded().updates);
        let decode = |data: &Vec<u8>| api::UpdateContainersRequest::parse_from_bytes(data);
        encoded
            .iter()
            .map(|(cookie, data)| {
                let request = decode(data).expect("the SDK encodes requests");
                (UpdateId(*cookie), request)
            })
            .collect()
    }

    /// Tells what came of an update: the containers that could not be updated, or an error.
    ///
    /// # Panics
    ///
    /// The response cannot be encoded.
    pub fn update_result(&mut self, id: UpdateId, result: Result<&[&str], &str>) -> Outcome<()> {
        let (status, data) = match result {
            Ok(failed) => {
                let failed = failed.iter().map(|container| api::ContainerUpdate {
                    container_id: (*container).to_owned(),
                    ..Default::default()
                });
                let response = api::UpdateContainersResponse {
                    failed: failed.collect(),
                    ..Default::default()
                };
                let data = response.write_to_bytes();
                (Status::OK, data.expect("NRI has no required fields"))
            }
            Err(error) => (Status::FAILED, error.as_bytes().to_vec()),
        };
        let text = |data: Vec<u8>| String::from_utf8_lossy(&data).into_owned();
        match self.instance.tell_update_result(id.0, status, &data) {
            (Status::OK, _) => Outcome::Answer(()),
            (Status::DEAD, Some((_, data))) => Outcome::Panicked(text(data)),
            (Status::DEAD, None) => Outcome::Dead,
            (Status(other), _) => Outcome::Failed(format!("on_result returned {other}")),
        }
    }

    /// Id and version, as the library tells them.
    pub fn identity(&self) -> (&'static str, &'static str) {
        border::texts(&descriptor::<T>())
    }
}
