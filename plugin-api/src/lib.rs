#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! * [`Component`] and the attribute [`macro@component`]: what an author writes.
//! * [`request`]: what is asked. [`annotations`]: which annotation counts for a container.
//! * [`Adjustment`], [`Updates`]: what is answered. [`Error`]: what else is answered.
//! * [`cdi`]: names of CDI devices.
//! * [`Host`]: what a component can ask for. [`Health`]: what it can say of itself.
//! * [`Command`]: what an admin can have it do.
//! * [`testing`]: a host for tests.
//! * [`api`]: the messages of NRI. [`abi`] and [`export`]: the border to the host.
#![deny(missing_docs)]

// The attribute names this crate by its full path, in the tests of this crate as well.
extern crate self as nri_plugin_api;

pub mod abi;
mod adjust;
pub mod annotations;
pub mod api;
pub mod cdi;
mod command;
mod component;
mod error;
pub mod export;
mod health;
mod host;
mod logging;
mod method_set;
pub mod request;
mod runtime;
pub mod testing;
mod update_result;
mod wire;

pub use abi::Method;
pub use adjust::{
    Adjustment, AdjustmentError, ContainerUpdate, Device, DeviceKind, DeviceRule, Hook, HookStage,
    IoPriority, Item, MemoryPolicy, Mount, NamespaceKind, Rdt, Resources, Rlimit, Scheduler,
    SeccompPolicy, SeccompRule, Updates,
};
pub use command::{Command, CommandFn, CommandStatus, Output};
pub use component::{Component, NoConfig};
pub use error::{ConfigMistake, ConfigMistakes, Error};
pub use health::{Health, HealthProblem};
pub use host::{Host, UpdateError};
pub use logging::Attached;
pub use method_set::MethodSet;
pub use nri_plugin_api_macros::component;
/// The library of the messages, for `MessageField` and the like.
pub use protobuf;
pub use request::{
    CreateContainer, PostCreateContainer, PostStartContainer, PostUpdateContainer,
    PostUpdatePodSandbox, RemoveContainer, RemovePodSandbox, RunPodSandbox, StartContainer,
    StopContainer, StopPodSandbox, Synchronize, UpdateContainer, UpdatePodSandbox,
    ValidateContainerAdjustment,
};
pub use runtime::Runtime;
pub use update_result::{UpdateId, UpdateResult};
pub use wire::Malformed;
