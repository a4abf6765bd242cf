//! Describing a runtime before it starts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nri_plugin_api::api;

use super::board::{Board, Settings, State};
use super::fault::{Fault, Victim};
use super::mux::Cut;
use super::{FakeRuntime, Profile, RegisterReply, Split};
use crate::patience::PATIENCE;

/// Longest path of a Unix socket that every system takes.
const MAX_SOCKET_PATH: usize = 107;

/// A runtime that does not exist yet.
#[derive(Debug)]
pub struct Builder {
    profile: Profile,
    socket: Option<PathBuf>,
    registration_timeout: Duration,
    request_timeout: Duration,
    register_reply: RegisterReply,
    serialize_updates: bool,
    replaces_namesakes: bool,
    state: State,
}

impl Builder {
    pub(super) fn new(profile: Profile) -> Self {
        Self {
            profile,
            socket: None,
            // Runtimes have 5 s and 2 s. A slow machine must not look like a late plugin.
            registration_timeout: PATIENCE,
            request_timeout: PATIENCE,
            register_reply: RegisterReply::default(),
            serialize_updates: false,
            replaces_namesakes: false,
            state: State::default(),
        }
    }

    /// Listens at a path instead of in a folder of its own.
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = Some(path.into());
        self
    }

    /// Time that a connection has to register; far more than anything takes unless it is set.
    #[must_use]
    pub fn registration_timeout(mut self, timeout: Duration) -> Self {
        self.registration_timeout = timeout;
        self
    }

    /// Time that a plugin has for each call, and for all messages of a synchronization; far more
    /// than anything takes unless it is set.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// When RegisterPlugin is answered.
    #[must_use]
    pub fn register_reply(mut self, reply: RegisterReply) -> Self {
        self.register_reply = reply;
        self
    }

    /// Makes unsolicited updates wait for the call under way, as runtimes do.
    #[must_use]
    pub fn serialize_updates(mut self) -> Self {
        self.serialize_updates = true;
        self
    }

    /// Lets a plugin that becomes active take the place of an older one with the same index and
    /// name, where known runtimes call both.
    #[must_use]
    pub fn replace_namesakes(mut self) -> Self {
        self.replaces_namesakes = true;
        self
    }

    /// What Synchronize lists.
    #[must_use]
    pub fn state(mut self, pods: Vec<api::PodSandbox>, containers: Vec<api::Container>) -> Self {
        (self.state.pods, self.state.containers) = (pods, containers);
        self
    }

    /// How Synchronize is cut.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.state.split = split;
        self
    }

    /// How messages are cut into frames.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Self {
        self.state.cut = cut;
        self
    }

    /// Orders a fault for the next connection that has none yet.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.state.faults.add(Victim::NextConnection, fault);
        self
    }

    /// The runtime, not listening yet: see [`FakeRuntime::listen`].
    ///
    /// # Errors
    ///
    /// When a folder cannot be made, or the socket's path is too long.
    pub fn build(self) -> Result<FakeRuntime> {
        let (folder, socket) = match self.socket {
            Some(socket) => (None, socket),
            None => {
                let folder = tempfile::Builder::new()
                    .prefix("nri-")
                    .tempdir()
                    .context("cannot make a folder for the socket")?;
                let socket = folder.path().join("nri.sock");
                (Some(folder), socket)
            }
        };
        let length = socket.as_os_str().len();
        ensure!(
            length <= MAX_SOCKET_PATH,
            "{} is too long for a socket",
            socket.display()
        );
        let settings = Settings {
            profile: self.profile,
            socket,
            registration_timeout: self.registration_timeout,
            request_timeout: self.request_timeout,
            register_reply: self.register_reply,
            serialize_updates: self.serialize_updates,
            replaces_namesakes: self.replaces_namesakes,
        };
        let board = Arc::new(Board::new(settings, self.state));
        Ok(FakeRuntime {
            board,
            listening: None,
            _folder: folder,
        })
    }
}
