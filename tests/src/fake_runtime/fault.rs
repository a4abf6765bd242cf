//! What a runtime may do to a plugin that connects.

use super::mux::Limits;

/// A point in the handshake, named by what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The connection was accepted; nothing was read yet.
    Read,
    /// RegisterPlugin was received and is to be answered.
    Register,
    /// Configure is to be called.
    Configure,
    /// Configure was answered; Synchronize is to be called.
    Synchronize,
    /// Synchronize was answered; the plugin is about to get events.
    Activate,
}

impl Step {
    /// Every step, in the order in which they come.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Register,
        Self::Configure,
        Self::Synchronize,
        Self::Activate,
    ];
}

/// Something that goes wrong before a step of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Everything stands still until [`FakeRuntime::release`](super::FakeRuntime::release), or the
    /// plugin gives up. Later connections wait, as with a real runtime.
    Hold(Step),
    /// The connection is closed. Before [`Step::Synchronize`] it is what a plugin sees that
    /// subscribed to unknown events.
    Close(Step),
    /// The direction to the plugin is shut; then the handshake goes on as if nothing had happened.
    HalfClose(Step),
    /// Bytes that no runtime would send, between two messages.
    Send(Step, Vec<u8>),
    /// RegisterPlugin is answered with an error. The connection stays open and dead.
    RefuseRegistration,
    /// The connection is cut off after a number of bytes.
    CutOff(Limits),
    /// The connection is not served at all but handed to the test, see
    /// [`FakeRuntime::raw_connection`](super::FakeRuntime::raw_connection).
    Raw,
}

/// To whom a fault happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Victim {
    /// Whoever connects next.
    NextConnection,
    /// The plugin of this name, once it has told it.
    Plugin(String),
}

/// Faults to come.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<(Victim, Fault)>);

impl Faults {
    pub(super) fn add(&mut self, victim: Victim, fault: Fault) {
        self.0.push((victim, fault));
    }

    /// Takes the first fault that waits for `victim`.
    pub(super) fn take(&mut self, victim: &Victim) -> Option<Fault> {
        let position = self.0.iter().position(|(waiting, _)| waiting == victim)?;
        Some(self.0.remove(position).1)
    }
}
