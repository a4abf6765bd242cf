//! What is remembered of each connection.

use std::fmt;
use std::time::Instant;

use super::fault::Step;
use super::mux::End;

/// How far a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It was accepted.
    Accepted,
    /// The plugin told its name.
    Registered,
    /// The plugin answered Configure.
    Configured,
    /// Synchronize was answered: the plugin gets events.
    Active,
    /// It stays open and gets nothing: registration or synchronization failed.
    Dead,
    /// It was closed.
    Ended,
}

/// The story of one connection.
#[derive(Debug, Clone)]
pub struct Connection {
    /// 1 for the first connection of this fake runtime, restarts included.
    pub number: usize,
    /// The plugin with its index, as in `10-device-injector`, once it has told it.
    pub plugin: Option<String>,
    /// How far it came.
    pub stage: Stage,
    /// The step before which it is held.
    pub held: Option<Step>,
    /// When it was accepted.
    pub accepted: Instant,
    /// When RegisterPlugin arrived.
    pub registered: Option<Instant>,
    /// When Configure was answered.
    pub configured: Option<Instant>,
    /// When Synchronize was answered.
    pub active: Option<Instant>,
    /// Why it was closed.
    pub end: Option<End>,
}

impl Connection {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            plugin: None,
            stage: Stage::Accepted,
            held: None,
            accepted: Instant::now(),
            registered: None,
            configured: None,
            active: None,
            end: None,
        }
    }

    pub(super) fn reach(&mut self, stage: Stage) {
        self.stage = stage;
        let time = match stage {
            Stage::Registered => &mut self.registered,
            Stage::Configured => &mut self.configured,
            Stage::Active => &mut self.active,
            Stage::Accepted | Stage::Dead | Stage::Ended => return,
        };
        *time = Some(Instant::now());
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plugin = self.plugin.as_deref().unwrap_or("unnamed");
        write!(f, "connection {} ({plugin}): {:?}", self.number, self.stage)?;
        if let Some(step) = self.held {
            write!(f, ", held before {step:?}")?;
        }
        if let Some(end) = &self.end {
            write!(f, ", {end}")?;
        }
        Ok(())
    }
}
