//! One active plugin, as a test sees it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use nri_plugin_api::api;
use protobuf::MessageField;

use super::board::Board;
use super::call::{Call, CallError, Failure, Reply};
use super::mux::{Cut, End, Record};
use super::session::{Session, Subscription, Synchronized};
use crate::patience::patiently;

/// A connected plugin. Calls made through it are made to it alone, and do not wait for each other.
#[derive(Debug, Clone)]
pub struct Plugin {
    board: Arc<Board>,
    session: Arc<Session>,
    deadline: Duration,
}

impl Plugin {
    pub(super) fn new(board: Arc<Board>, session: Arc<Session>) -> Self {
        let deadline = board.settings.request_timeout;
        Self {
            board,
            session,
            deadline,
        }
    }

    /// The same plugin, with another time for each call.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self {
            deadline,
            ..self.clone()
        }
    }

    /// Its name with its index, as in `10-logger`.
    pub fn name(&self) -> &str {
        self.session.name()
    }

    /// Number of its connection; a later one has a greater number.
    pub fn connection(&self) -> usize {
        self.session.number
    }

    /// The mask that it answered to Configure.
    pub fn mask(&self) -> i32 {
        self.subscription().answered
    }

    /// Whether it asked that a call without an answer fails the operation. False where the runtime
    /// does not know the failure policy.
    pub fn asks_to_fail_requests(&self) -> bool {
        self.subscription().fail_request
    }

    /// Whether it asked to stay connected after a late answer. False where the runtime does not
    /// know the failure policy.
    pub fn asks_to_keep_connected(&self) -> bool {
        self.subscription().keep_connected
    }

    fn subscription(&self) -> Subscription {
        *self
            .session
            .subscription
            .get()
            .expect("an active plugin has been configured")
    }

    /// What it made of Synchronize.
    pub fn synchronized(&self) -> &Synchronized {
        self.session
            .synchronized
            .get()
            .expect("an active plugin has been synchronized")
    }

    /// Whether its connection is still there.
    pub fn is_connected(&self) -> bool {
        self.session.trunk.end().is_none()
    }

    /// Waits for the end of its connection.
    ///
    /// # Errors
    ///
    /// When it does not end for far too long.
    pub async fn ended(&self) -> Result<End> {
        patiently("the end of the connection", self.session.trunk.ended()).await
    }

    /// The frames that went over its connection.
    pub fn record(&self) -> Record {
        self.session.trunk.record()
    }

    /// Sets how messages are cut into frames from now on.
    pub fn set_cut(&self, cut: Cut) {
        self.session.trunk.set_cut(cut);
    }

    /// Writes bytes to its connection, between two messages.
    pub fn send_raw(&self, bytes: Vec<u8>) {
        self.session.trunk.send_raw(bytes);
    }

    /// Stops or resumes reading from its connection.
    pub fn set_reading(&self, reading: bool) {
        self.session.trunk.set_reading(reading);
    }

    /// Shuts the direction towards the plugin, after what was sent before.
    pub fn half_close(&self) {
        self.session.trunk.half_close();
    }

    /// Shuts the direction from the plugin without a sign: whatever it writes from now on fails.
    pub fn stop_taking(&self) {
        self.session.trunk.stop_taking();
    }

    /// Closes the connection.
    pub fn close(&self) {
        self.session.trunk.close("by the test");
    }

    /// Makes any call with any bytes, whether or not the plugin wants it.
    ///
    /// # Errors
    ///
    /// What came instead of a good answer. As in a runtime, a plugin that does not answer in time
    /// is dropped.
    pub async fn call_raw(
        &self,
        method: &str,
        payload: Vec<u8>,
    ) -> Result<Reply<Vec<u8>>, CallError> {
        let _turn = self.board.operations.read().await;
        let result = self.session.call_raw(method, payload, self.deadline).await;
        drop_if_lost(&self.session, &result);
        result
    }

    /// Tells an event, in the dialect of the runtime.
    ///
    /// # Errors
    ///
    /// As [`Self::call_raw`]; also when the plugin did not subscribe to the event.
    pub async fn call<C: Call>(&self, request: &C) -> Result<Reply<C::Reply>, CallError> {
        let _turn = self.board.operations.read().await;
        call(&self.board, &self.session, request, self.deadline).await
    }

    /// Tells the plugin to end, which no known runtime does.
    ///
    /// # Errors
    ///
    /// As [`Self::call_raw`].
    pub async fn shutdown(&self) -> Result<Reply<Vec<u8>>, CallError> {
        self.call_raw("Shutdown", Vec::new()).await
    }

    /// CreateContainer.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub async fn create_container(
        &self,
        pod: &api::PodSandbox,
        container: &api::Container,
    ) -> Result<Reply<api::CreateContainerResponse>, CallError> {
        self.call(&create_container(pod, container)).await
    }

    /// RunPodSandbox.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub async fn run_pod(
        &self,
        pod: &api::PodSandbox,
    ) -> Result<Reply<api::RunPodSandboxResponse>, CallError> {
        let pod = MessageField::some(pod.clone());
        self.call(&api::RunPodSandboxRequest {
            pod,
            ..Default::default()
        })
        .await
    }

    /// StopPodSandbox.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub async fn stop_pod(
        &self,
        pod: &api::PodSandbox,
    ) -> Result<Reply<api::StopPodSandboxResponse>, CallError> {
        let pod = MessageField::some(pod.clone());
        self.call(&api::StopPodSandboxRequest {
            pod,
            ..Default::default()
        })
        .await
    }

    /// StopContainer.
    ///
    /// # Errors
    ///
    /// As [`Self::call`].
    pub async fn stop_container(
        &self,
        pod: &api::PodSandbox,
        container: &api::Container,
    ) -> Result<Reply<api::StopContainerResponse>, CallError> {
        let request = api::StopContainerRequest {
            pod: MessageField::some(pod.clone()),
            container: MessageField::some(container.clone()),
            ..Default::default()
        };
        self.call(&request).await
    }
}

pub(super) fn create_container(
    pod: &api::PodSandbox,
    container: &api::Container,
) -> api::CreateContainerRequest {
    api::CreateContainerRequest {
        pod: MessageField::some(pod.clone()),
        container: MessageField::some(container.clone()),
        ..Default::default()
    }
}

/// Tells an event to one plugin and drops it if it is lost.
pub(super) async fn call<C: Call>(
    board: &Board,
    session: &Session,
    request: &C,
    deadline: Duration,
) -> Result<Reply<C::Reply>, CallError> {
    let result = session
        .call(request, board.settings.profile.dedicated_calls, deadline)
        .await;
    drop_if_lost(session, &result);
    result
}

/// Closes the connection of a plugin that a runtime would drop after this.
fn drop_if_lost<T>(session: &Session, result: &Result<T, CallError>) {
    let Err(CallError { failure, .. }) = result else {
        return;
    };
    let keep = session
        .subscription
        .get()
        .is_some_and(|subscription| subscription.keep_connected);
    match failure {
        Failure::Timeout if !keep => session.trunk.close("no answer in time"),
        Failure::ConnectionLost(_) => session.trunk.close("connection lost in a call"),
        _ => {}
    }
}
