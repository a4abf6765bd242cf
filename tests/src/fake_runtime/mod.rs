//! A container runtime's side of NRI, for tests and for the demonstration.
//!
//! It listens on a socket of its own, takes plugins through registration, configuration and
//! synchronization one after another, and then makes the calls that a test orders. It behaves like
//! the reference implementation, in any of its versions ([`Profile`]), and misbehaves on order
//! ([`Fault`]). It shares no code with the host: the mux is written anew, and ttrpc is that of the
//! `ttrpc` crate.
//!
//! ```no_run
//! # use nri_host_tests::{fake_runtime::{FakeRuntime, Profile}, pods};
//! # async fn example() -> anyhow::Result<()> {
//! let runtime = FakeRuntime::start(Profile::newest()).await?;
//! let plugin = runtime.plugin("10-device-injector").await?;
//! let pod = pods::pod("web").build();
//! let reply = plugin.create_container(&pod, &pods::container(&pod, "server").build()).await?;
//! assert!(reply.adjust.linux.devices.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! What a plugin must never do, above all framing that the reference runtime would not survive, is
//! collected as [`Complaint`]s; dropping a runtime with complaints fails the test.

pub mod mux;

mod accept;
mod board;
mod builder;
mod call;
mod connection;
mod fault;
mod handshake;
mod operation;
mod plugin;
mod profile;
mod raw;
mod rpc;
mod session;
mod sync;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nri_plugin_api::api;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

pub use board::{Complaint, Unsolicited, UpdateAnswer};
pub use builder::Builder;
pub use call::{Call, CallError, Failure, Reply, event_bit};
pub use connection::{Connection, Stage};
pub use fault::{Fault, Step};
pub use operation::Operation;
pub use plugin::Plugin;
pub use profile::{EVENTS_0_3, EVENTS_0_10, Profile};
pub use raw::{RawConnection, RawMessage};
pub use session::Synchronized;
pub use sync::Split;

use board::{Board, State};
use fault::Victim;
use mux::Cut;

/// When RegisterPlugin is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RegisterReply {
    /// Before Configure is called.
    First,
    /// After Configure was answered, which the reference's order of things allows.
    #[default]
    AfterConfigure,
}

/// What a runtime that ends leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketFile {
    /// The file, on which nobody listens: what `kill -9` does.
    Left,
    /// Nothing.
    Removed,
}

/// A runtime. Dropping it ends it.
#[derive(Debug)]
pub struct FakeRuntime {
    board: Arc<Board>,
    /// The loop that accepts connections, while the runtime listens.
    listening: Option<JoinHandle<()>>,
    /// Holds the socket, unless the test gave a path.
    _folder: Option<TempDir>,
}

impl FakeRuntime {
    /// A runtime that listens on a socket of its own, with nothing running.
    ///
    /// # Errors
    ///
    /// When the socket cannot be made.
    #[expect(
        clippy::unused_async,
        reason = "it spawns tasks, so it belongs into a tokio runtime"
    )]
    pub async fn start(profile: Profile) -> Result<Self> {
        let mut runtime = Self::builder(profile).build()?;
        runtime.listen()?;
        Ok(runtime)
    }

    /// A runtime to be described further.
    pub fn builder(profile: Profile) -> Builder {
        Builder::new(profile)
    }

    /// Path of the socket.
    pub fn socket(&self) -> &Path {
        &self.board.settings.socket
    }

    /// The runtime that is played.
    pub fn profile(&self) -> &Profile {
        &self.board.settings.profile
    }

    /// Begins to listen, on a new socket file.
    ///
    /// # Errors
    ///
    /// When it listens already, or the socket cannot be made.
    pub fn listen(&mut self) -> Result<()> {
        ensure!(self.listening.is_none(), "the runtime listens already");
        let socket = self.socket();
        if let Err(error) = fs::remove_file(socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            bail!("cannot remove the old socket {}: {error}", socket.display());
        }
        let listener = UnixListener::bind(socket)
            .with_context(|| format!("cannot listen on {}", socket.display()))?;
        self.listening = Some(tokio::spawn(accept::run(listener, Arc::clone(&self.board))));
        Ok(())
    }

    /// Ends the runtime at once: no more listening, every connection is closed.
    ///
    /// # Errors
    ///
    /// When the socket file cannot be removed.
    pub async fn kill(&mut self, file: SocketFile) -> Result<()> {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            // The listener is closed when the task is gone; it was asked to be cancelled.
            let _ = listening.await;
        }
        self.board.close_connections();
        if file == SocketFile::Removed {
            fs::remove_file(self.socket()).context("cannot remove the socket")?;
        }
        Ok(())
    }

    /// Ends the runtime as `kill -9` does, and starts it again.
    ///
    /// # Errors
    ///
    /// As [`Self::listen`].
    pub async fn restart(&mut self) -> Result<()> {
        self.kill(SocketFile::Left).await?;
        self.listen()
    }

    /// Waits until a plugin, named with its index as in `10-logger`, is active.
    ///
    /// # Errors
    ///
    /// When it does not come; the error tells what came instead.
    pub async fn plugin(&self, name: &str) -> Result<Plugin> {
        self.plugin_after(name, 0).await
    }

    /// Waits until the plugin is active by a later connection than `plugin` has.
    ///
    /// # Errors
    ///
    /// As [`Self::plugin`].
    pub async fn reconnected(&self, plugin: &Plugin) -> Result<Plugin> {
        self.plugin_after(plugin.name(), plugin.connection()).await
    }

    async fn plugin_after(&self, name: &str, connection: usize) -> Result<Plugin> {
        let session = self
            .board
            .wait_for(&format!("plugin {name}"), |state| {
                let mut sessions = state.active.iter();
                sessions
                    .find(|session| session.name() == name && session.number > connection)
                    .cloned()
            })
            .await?;
        Ok(Plugin::new(Arc::clone(&self.board), session))
    }

    /// Waits until exactly these plugins are active, and returns them in the order given.
    ///
    /// # Errors
    ///
    /// As [`Self::plugin`].
    pub async fn plugins(&self, names: &[&str]) -> Result<Vec<Plugin>> {
        let mut plugins = Vec::with_capacity(names.len());
        for name in names {
            plugins.push(self.plugin(name).await?);
        }
        let count = self.active().len();
        ensure!(
            count == names.len(),
            "{count} plugins are active: {:?}",
            self.active()
        );
        Ok(plugins)
    }

    /// Names of the active plugins, in the order in which they are called.
    pub fn active(&self) -> Vec<String> {
        self.board
            .state()
            .active
            .iter()
            .map(|session| session.name().to_owned())
            .collect()
    }

    /// The connections so far, oldest first.
    pub fn connections(&self) -> Vec<Connection> {
        self.board.state().connections.clone()
    }

    /// How many connections wait for the end of another one's handshake.
    pub fn waiting(&self) -> usize {
        self.board.state().waiting.len()
    }

    /// Waits for a connection of which `condition` is true.
    ///
    /// # Errors
    ///
    /// When there is none for far too long; the error tells `what` was waited for.
    pub async fn connection(
        &self,
        what: &str,
        condition: impl Fn(&Connection) -> bool,
    ) -> Result<Connection> {
        let find = |state: &mut State| {
            state
                .connections
                .iter()
                .find(|known| condition(known))
                .cloned()
        };
        self.board.wait_for(what, find).await
    }

    /// Sets what Synchronize lists from now on.
    pub fn set_state(&self, pods: Vec<api::PodSandbox>, containers: Vec<api::Container>) {
        self.board
            .change(|state| (state.pods, state.containers) = (pods, containers));
    }

    /// Sets how Synchronize is cut from now on.
    pub fn set_split(&self, split: Split) {
        self.board.change(|state| state.split = split);
    }

    /// Sets how messages are cut into frames on connections from now on.
    pub fn set_cut(&self, cut: Cut) {
        self.board.change(|state| state.cut = cut);
    }

    /// Orders a fault for the next connection that has none yet.
    pub fn inject(&self, fault: Fault) {
        self.board.state().faults.add(Victim::NextConnection, fault);
    }

    /// Orders a fault for the next handshake of a plugin. Only from the moment on that it told its
    /// name can it happen.
    pub fn inject_for(&self, plugin: &str, fault: Fault) {
        self.board
            .state()
            .faults
            .add(Victim::Plugin(plugin.to_owned()), fault);
    }

    /// Waits until a connection is held by [`Fault::Hold`].
    ///
    /// # Errors
    ///
    /// When none is for far too long.
    pub async fn held(&self) -> Result<Connection> {
        self.connection("a held connection", |connection| connection.held.is_some())
            .await
    }

    /// Lets go on what is held.
    pub fn release(&self) {
        self.board.releases.send_modify(|releases| *releases += 1);
    }

    /// Waits for a connection that [`Fault::Raw`] was ordered for.
    ///
    /// # Errors
    ///
    /// When none comes for far too long.
    pub async fn raw_connection(&self) -> Result<RawConnection> {
        self.board
            .wait_for("a raw connection", |state| state.raw.pop_front())
            .await
    }

    /// Sets the answer to unsolicited updates from now on.
    pub fn set_update_answer(&self, answer: UpdateAnswer) {
        self.board.change(|state| state.update_answer = answer);
    }

    /// Waits until there were at least `count` unsolicited updates, and returns all.
    ///
    /// # Errors
    ///
    /// When there are fewer for far too long.
    pub async fn updates(&self, count: usize) -> Result<Vec<Unsolicited>> {
        let enough =
            |state: &mut State| (state.updates.len() >= count).then(|| state.updates.clone());
        self.board
            .wait_for(&format!("{count} unsolicited updates"), enough)
            .await
    }

    /// Makes a call to all plugins that want it, one after another in the order of their indexes.
    pub async fn call<C: Call>(&self, request: &C) -> Operation<C::Reply> {
        operation::run(&self.board, request).await
    }

    /// Creates a container: [`Self::call`] with CreateContainer.
    pub async fn create_container(
        &self,
        pod: &api::PodSandbox,
        container: &api::Container,
    ) -> Operation<api::CreateContainerResponse> {
        self.call(&plugin::create_container(pod, container)).await
    }

    /// The time that a plugin has for a call.
    pub fn request_timeout(&self) -> Duration {
        self.board.settings.request_timeout
    }

    /// What plugins did that they must not do; they are forgotten with it.
    pub fn take_complaints(&self) -> Vec<Complaint> {
        self.board.take_complaints()
    }
}

impl Drop for FakeRuntime {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
        self.board.close_connections();
        let complaints = self.board.take_complaints();
        if !std::thread::panicking() {
            assert!(
                complaints.is_empty(),
                "plugins broke the protocol: {complaints:#?}"
            );
        }
    }
}
