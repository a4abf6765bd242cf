//! The trait that a component implements.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::method_set::MethodSet;
use crate::request::{
    CreateContainer, PostCreateContainer, PostStartContainer, PostUpdateContainer,
    PostUpdatePodSandbox, RemoveContainer, RemovePodSandbox, RunPodSandbox, StartContainer,
    StopContainer, StopPodSandbox, Synchronize, UpdateContainer, UpdatePodSandbox,
    ValidateContainerAdjustment,
};
use crate::{Adjustment, Command, Error, Host, UpdateResult, Updates};

/// The configuration of a component that has nothing to configure: any key is a mistake.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// One instance of a component.
///
/// Put [`#[component]`](macro@crate::component) on the implementation: it exports the component and
/// subscribes to those methods that the implementation has. The default of each method does nothing
/// and is never called.
///
/// # Threads
///
/// [`create`](Component::create), all methods, and `drop` run on one thread that belongs to the
/// instance, one at a time; so an implementation needs no `Send` and no locks. Instances made from
/// one library share its `static` variables and run beside each other. Threads that a component
/// starts itself must have ended when `drop` returns; see [`Host::attach`] for their log lines.
///
/// # Time
///
/// The runtime waits for each answer and gives up after a short time, 2 s in most installations.
/// The host then answers in place of the component. Anything slow belongs on a thread of its own.
///
/// # Errors
///
/// A decision against a pod or container is an [`Error::reject`]. Any other error is a failure: the
/// component's `on_failure` setting says whether the runtime goes on without an answer.
///
/// # Panics
///
/// A panic is caught and logged. The request fails, the instance is dropped and created anew.
pub trait Component: Sized + 'static {
    /// The configuration, from `[component.config]` of the host's file. Use
    /// `#[serde(deny_unknown_fields)]`, so that a mistyped key is found; [`NoConfig`] if there is
    /// nothing to configure.
    type Config: DeserializeOwned;

    /// The commands of its own: `nri-host component NAME COMMAND ARGS...`.
    const COMMANDS: &'static [Command<Self>] = &[];

    /// Makes an instance. The host waits 5 s for it. `nri-host check` makes one, too, to learn what is
    /// wrong with the configuration; [`Host::is_trial`] tells.
    ///
    /// # Errors
    ///
    /// [`Error::config`] or [`ConfigMistakes`](crate::ConfigMistakes) for what is wrong with the
    /// configuration, [`Error::try_later`] if something is not there yet, else any error.
    fn create(config: Self::Config, host: Host) -> Result<Self, Error>;

    /// The methods that this instance wants, if its configuration decides about that. Methods that
    /// the implementation does not have are ignored. Called once, after [`Component::create`].
    fn methods(&self) -> MethodSet {
        MethodSet::ALL
    }

    /// Learns about all pods and containers: the new truth, whatever was known before. Comes first,
    /// and again each time the runtime was restarted. Can update any container.
    ///
    /// # Errors
    ///
    /// A failure is answered without updates, and the state is sent again later.
    fn synchronize(&mut self, request: &Synchronize<'_>) -> Result<Updates, Error> {
        let _ = request;
        Ok(Updates::new())
    }

    /// Learns what came of an update that [`Host::update_containers`] took: once for each, never
    /// during another method.
    ///
    /// An answer of the runtime is told when it arrives. Any other result, of an update that the
    /// runtime did not answer or had not to be asked about, waits for the thread to have a turn:
    /// after a request, or at the beginning or the end of a session. Requests wait meanwhile, so
    /// this has to be as quick as any other method.
    fn update_result(&mut self, result: &UpdateResult) {
        let _ = result;
    }

    /// A pod was started.
    ///
    /// # Errors
    ///
    /// A rejection stops the pod from being run.
    fn run_pod_sandbox(&mut self, request: &RunPodSandbox<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// The resources of a pod are about to change.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn update_pod_sandbox(&mut self, request: &UpdatePodSandbox<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// The resources of a pod have changed.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn post_update_pod_sandbox(&mut self, request: &PostUpdatePodSandbox<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// A pod was stopped.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn stop_pod_sandbox(&mut self, request: &StopPodSandbox<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// A pod was removed.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn remove_pod_sandbox(&mut self, request: &RemovePodSandbox<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// A container is being created. Can adjust it, and update others.
    ///
    /// # Errors
    ///
    /// A rejection stops the container from being created.
    fn create_container(&mut self, request: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        let _ = request;
        Ok(Adjustment::new())
    }

    /// A container was created.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn post_create_container(&mut self, request: &PostCreateContainer<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// A container is about to be started.
    ///
    /// # Errors
    ///
    /// A rejection stops the container from being started.
    fn start_container(&mut self, request: &StartContainer<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// A container was started.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn post_start_container(&mut self, request: &PostStartContainer<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// The resources of a container are about to change. Can change what is applied, to it and to
    /// others.
    ///
    /// # Errors
    ///
    /// A rejection stops the update.
    fn update_container(&mut self, request: &UpdateContainer<'_>) -> Result<Updates, Error> {
        let _ = request;
        Ok(Updates::new())
    }

    /// The resources of a container have changed.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn post_update_container(&mut self, request: &PostUpdateContainer<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// A container was stopped. Can update others.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn stop_container(&mut self, request: &StopContainer<'_>) -> Result<Updates, Error> {
        let _ = request;
        Ok(Updates::new())
    }

    /// A container was removed.
    ///
    /// # Errors
    ///
    /// A rejection is only logged.
    fn remove_container(&mut self, request: &RemoveContainer<'_>) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }

    /// All plugins have adjusted a container: may it be created like that?
    ///
    /// # Errors
    ///
    /// A rejection stops the container from being created. So does any other error: a check that
    /// did not run has not passed.
    fn validate_container_adjustment(
        &mut self,
        request: &ValidateContainerAdjustment<'_>,
    ) -> Result<(), Error> {
        let _ = request;
        Ok(())
    }
}
