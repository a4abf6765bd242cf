//! Calls into a component, made safe: an instance from `create` to `destroy`.
//!
//! An instance stays on the thread that made it, as `nri_component.h` promises to components.
#![expect(unsafe_code, reason = "the functions of a component are called here")]

use std::ffi::c_void;
use std::sync::Arc;

use nri_plugin_api::abi::{
    CreateArgs, METHODS_ID, Method, MethodsInterface, Request, Status, UPDATE_RESULT_ID,
    UpdateResultInterface, create_flags, log_level,
};
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;

use super::context::{ConfigError, Context, MAX_REPLY, Replied, Reply};
use super::health::LastHealth;
use super::inspect::Digest;
use super::load::{Library, Place};
use super::outbox::{Outbox, UpdateResult};
use super::policy::{Failure, MAX_REASON, Outcome, cut};
use super::seat::Served;
use crate::config::plugin_name;
use crate::crash::{Identity, Step, during};
use crate::runtime::session::Call;
use crate::runtime::shape::Shape;
use crate::runtime::update::normal_synchronization;

/// Why there is no instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotCreated {
    /// The component says: not now. Or the system is short of something.
    TryLater(String),
    /// It failed, or its configuration is wrong.
    Failed {
        /// Its own words.
        reason: String,
        /// The mistakes in its configuration, by key.
        config: Vec<ConfigError>,
    },
}

/// What an instance is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blueprint {
    /// Name in the configuration.
    pub name: String,
    /// Plugin index.
    pub index: u8,
    /// `[component.config]` as a JSON object.
    pub config: String,
}

impl Blueprint {
    /// Index and name, as the runtime and the log have them.
    pub fn plugin(&self) -> String {
        plugin_name(self.index, &self.name)
    }

    /// Whom a crash of an instance from this library is put down to.
    pub fn identity(&self, library: &Digest) -> Identity {
        Identity::new(self.plugin(), library, &self.config)
    }
}

/// An instance of a component, on the thread that created it.
#[derive(Debug)]
pub struct Instance {
    library: Arc<Library>,
    instance: *mut c_void,
    context: &'static Context,
    identity: Identity,
    methods: u64,
    on_result: Option<OnResult>,
    /// Given back after `destroy`.
    _place: Place,
}

type OnResult =
    unsafe extern "C" fn(*mut c_void, cookie: u64, Status, data: *const u8, len: usize) -> Status;

/// What is said where a library can have one instance only, and still has it.
const PLACE_TAKEN: &str = "there can be one instance only, and the one before is not back yet: if it \
                           never is, a restart of the host is the way out";

/// What came of a call, and whether the instance outlived it.
#[derive(Debug)]
pub struct Handled {
    /// What came of it.
    pub outcome: Outcome,
    /// The instance can no longer be used: it is to be dropped and created again.
    pub dead: bool,
}

impl Instance {
    /// Makes an instance and ends it, to see whether it can be made.
    ///
    /// # Errors
    ///
    /// What the component said against it.
    pub fn try_create(library: &Arc<Library>, blueprint: &Blueprint) -> Result<(), NotCreated> {
        let plugin = plugin_name(blueprint.index, &blueprint.name);
        let outbox = Arc::new(Outbox::new(plugin, Arc::default()));
        let flags = create_flags::TRIAL;
        let health = Arc::default();
        Self::make(library, blueprint, flags, &outbox, &health, &mut None).map(drop)
    }

    /// Calls `create`. `outbox` takes the instance's updates, `health` what it says of itself; `spare`
    /// keeps the context of one that failed, for the next.
    ///
    /// # Errors
    ///
    /// What the component said against it.
    pub fn create(
        library: &Arc<Library>,
        blueprint: &Blueprint,
        outbox: &Arc<Outbox>,
        health: &Arc<LastHealth>,
        spare: &mut Option<&'static Context>,
    ) -> Result<Self, NotCreated> {
        Self::make(library, blueprint, 0, outbox, health, spare)
    }

    fn make(
        library: &Arc<Library>,
        blueprint: &Blueprint,
        flags: u32,
        outbox: &Arc<Outbox>,
        health: &Arc<LastHealth>,
        spare: &mut Option<&'static Context>,
    ) -> Result<Self, NotCreated> {
        let Some(place) = library.place() else {
            return Err(NotCreated::TryLater(PLACE_TAKEN.to_owned()));
        };
        let context = spare.take().unwrap_or_else(|| {
            Context::leak(&blueprint.plugin(), Arc::clone(outbox), Arc::clone(health))
        });
        let args = CreateArgs {
            struct_size: struct_size::<CreateArgs>(),
            index: u32::from(blueprint.index),
            name: blueprint.name.as_ptr(),
            name_len: blueprint.name.len(),
            config: blueprint.config.as_ptr(),
            config_len: blueprint.config.len(),
            log_level: kept_log_level(),
            flags,
        };
        let mut instance = std::ptr::null_mut();
        let identity = blueprint.identity(&library.digest);
        context.expect_create();
        let status = during(&identity, Step::Create, || {
            // SAFETY: the library stays loaded for ever and its pointers were checked when it was
            // loaded. The table lives for ever; args and all that it points to outlive the call.
            unsafe { (library.border.create)(context.table(), &raw const args, &raw mut instance) }
        });
        let reason = match context.take_reply() {
            Replied::Yes(Reply { data, .. }) => text(&data),
            _ => format!("create returned {}", status.0),
        };
        let config = context.take_config_errors();
        if status == Status::OK {
            let on_result = during(&identity, Step::Interface, || on_result(library));
            outbox.keep_results(on_result.is_some());
            let instance = Self {
                library: Arc::clone(library),
                instance,
                context,
                identity,
                methods: library.methods,
                on_result,
                _place: place,
            };
            // A mistake that was reported is one: dropping the instance destroys it.
            return match config.is_empty() {
                true => Ok(instance.narrowed()),
                false => Err(NotCreated::Failed { reason, config }),
            };
        }
        context.bury();
        *spare = Some(context);
        Err(match status {
            Status::TRY_LATER => NotCreated::TryLater(reason),
            _ => NotCreated::Failed { reason, config },
        })
    }

    /// The methods that this instance wants, as [`Method::bit`]s.
    pub fn methods(&self) -> u64 {
        self.methods
    }

    /// From now on the instance serves this session.
    pub fn serves(&self, served: &Arc<Served>) {
        self.context.serves(served);
    }

    /// Asks the instance, once, which methods it wants.
    fn narrowed(mut self) -> Self {
        let Some(get_interface) = self.library.border.get_interface else {
            return self;
        };
        // SAFETY: the library stays loaded for ever; the id is readable. The header binds the
        // component to return null or the interface that was asked for, which stays for ever.
        let narrowed = during(&self.identity, Step::Interface, || unsafe {
            let found =
                get_interface(METHODS_ID.as_ptr(), METHODS_ID.len()).cast::<MethodsInterface>();
            if found.is_null() || (*found).struct_size < struct_size::<MethodsInterface>() {
                None
            } else {
                (*found).methods.map(|methods| methods(self.instance))
            }
        });
        self.methods &= narrowed.unwrap_or(u64::MAX);
        self
    }

    /// Tells what came of an update, if the component wants to know.
    ///
    /// # Errors
    ///
    /// The instance can no longer be used: it is to be dropped and created again.
    pub fn tell(&mut self, result: &UpdateResult) -> Result<(), Failure> {
        let Some(on_result) = self.on_result else {
            return Ok(());
        };
        let error;
        let (status, data) = match &result.outcome {
            Ok(response) => (Status::OK, response.as_slice()),
            Err(failure) => {
                error = crate::chain(failure);
                (Status::FAILED, error.as_bytes())
            }
        };
        self.context.expect_text();
        let (data, len) = (data.as_ptr(), data.len());
        let status = during(&self.identity, Step::UpdateResult, || {
            // SAFETY: the instance is alive and on its thread; the data outlives the call.
            unsafe { on_result(self.instance, result.cookie, status, data, len) }
        });
        let replied = self.context.take_reply();
        match (status, replied) {
            (Status::DEAD, Replied::Yes(reply)) => Err(Failure::Panic(text(&reply.data))),
            (Status::DEAD, _) => Err(Failure::Panic("without a word".to_owned())),
            _ => Ok(()),
        }
    }

    /// Calls `handle`, and checks what comes back.
    pub fn handle(&mut self, call: &Call, deadline_ns: u64) -> Handled {
        let token = self.context.expect();
        let name = call.method.name();
        let request = Request {
            struct_size: struct_size::<Request>(),
            method: call.method.number(),
            token,
            deadline_ns,
            method_name: name.as_ptr(),
            method_name_len: name.len(),
            payload: call.payload.as_ptr(),
            payload_len: call.payload.len(),
        };
        let status = during(&self.identity, Step::Handle(call), || {
            // SAFETY: the instance is alive and on its thread; the request and all that it points
            // to outlive the call.
            unsafe { (self.library.border.handle)(self.instance, &raw const request) }
        });
        let replied = self.context.take_reply();
        Handled {
            outcome: outcome(call.method, status, replied),
            dead: status == Status::DEAD,
        }
    }
}

impl Drop for Instance {
    /// Calls `destroy`.
    fn drop(&mut self) {
        during(&self.identity, Step::Destroy, || {
            // SAFETY: the instance is alive and on its thread, and is not used after this.
            unsafe { (self.library.border.destroy)(self.instance) };
        });
        self.context.bury();
    }
}

/// The function that takes results of updates, if the component has it.
fn on_result(library: &Library) -> Option<OnResult> {
    let get_interface = library.border.get_interface?;
    // SAFETY: as for `nrih.methods/1`.
    unsafe {
        let found = get_interface(UPDATE_RESULT_ID.as_ptr(), UPDATE_RESULT_ID.len())
            .cast::<UpdateResultInterface>();
        let known =
            !found.is_null() && (*found).struct_size >= struct_size::<UpdateResultInterface>();
        known.then(|| (*found).on_result).flatten()
    }
}

fn outcome(method: Method, status: Status, replied: Replied) -> Outcome {
    let reply = match replied {
        Replied::Yes(reply) => reply,
        Replied::Bad(why) => return Outcome::Failed(Failure::BadReply(why)),
        Replied::No => {
            return match status {
                Status::REJECTED => Outcome::Rejected("without a reason".to_owned()),
                Status::OK => Outcome::Failed(Failure::NoReply),
                Status::DEAD => Outcome::Failed(Failure::Panic("without a word".to_owned())),
                other => Outcome::Failed(Failure::Error(format!("status {}", other.0))),
            };
        }
    };
    match (status, reply.status) {
        (Status::DEAD, _) => Outcome::Failed(Failure::Panic(text(&reply.data))),
        (Status::OK, Status::OK) => match usable(method, reply.data) {
            Ok(reply) => Outcome::Reply(reply),
            Err(failure) => Outcome::Failed(failure),
        },
        (Status::OK, Status::REJECTED) => Outcome::Rejected(text(&reply.data)),
        (Status::OK, _) => Outcome::Failed(Failure::Error(text(&reply.data))),
        // It took its reply back.
        (other, _) => Outcome::Failed(Failure::Error(format!("status {} after a reply", other.0))),
    }
}

/// As much of a component's own words as is ever shown.
fn text(data: &[u8]) -> String {
    // Characters have at most four bytes, so this is enough to cut them from.
    let enough = &data[..data.len().min(4 * MAX_REASON)];
    cut(&String::from_utf8_lossy(enough)).to_owned()
}

/// The reply as the runtime can read it, and survives it.
fn usable(method: Method, reply: Vec<u8>) -> Result<Vec<u8>, Failure> {
    // Most replies are empty.
    if reply.is_empty() {
        return Ok(reply);
    }
    if let Some(shape) = Shape::of(&format!("{}Response", method.name())) {
        shape.check(&reply)?;
    }
    if method != Method::Synchronize {
        return Ok(reply);
    }
    let normal = normal_synchronization(&reply)?;
    match normal.len() {
        ..=MAX_REPLY => Ok(normal),
        _ => Err(Failure::BadReply(
            "too large with all that runtimes rely on",
        )),
    }
}

fn struct_size<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("the border's structs are small")
}

/// The most talkative level that any log line gets through with.
fn kept_log_level() -> u32 {
    match LevelFilter::current() {
        LevelFilter::TRACE => log_level::TRACE,
        LevelFilter::DEBUG => log_level::DEBUG,
        LevelFilter::INFO => log_level::INFO,
        LevelFilter::WARN => log_level::WARN,
        _ => log_level::ERROR,
    }
}
