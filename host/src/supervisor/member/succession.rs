//! A component that a reload changes: its successor is made beside it, and takes its place.
//!
//! | | the component | its successor |
//! |---|---|---|
//! | beside | serves | is loaded and created; if that fails, everything stays as it was |
//! | made | ends its session, after the call under way | waits |
//! | alone | has to end first: the successor says "later", or there can be one instance only | waits |
//!
//! Who had to end first and whose successor cannot be made even then is made again as it was.

mod stages;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{CONSTRUCTORS_LIMIT, CREATE_LIMIT, Member, SessionState, StuckWatch};
use crate::component::inspect::Digest;
use crate::component::load::{Library, PROBE_LIMIT};
use crate::component::policy::Policy;
use crate::component::seat::{Absence, Condition, Seat};
use crate::config::ComponentConfig;
use crate::runtime::session::End;
use crate::supervisor::parting::PartingOf;
use crate::supervisor::reload::Outcome;

/// How long a successor may take until it is there. Others may be before it.
const MAKING_LIMIT: Duration = PROBE_LIMIT
    .saturating_add(CONSTRUCTORS_LIMIT)
    .saturating_add(CREATE_LIMIT);
/// How long a component has to end, when its successor waits for that.
const ENDING_LIMIT: Duration = Duration::from_secs(10);
/// Why a component ends.
const REPLACED: &str = "a reload takes its place";
/// Why a session ends whose component stays.
const TOLD_ANEW: &str =
    "reconnecting, as the runtime is told of on_failure at the start of a session";

/// The component as it is to be.
#[derive(Debug)]
pub(super) struct Successor {
    config: ComponentConfig,
    seat: Arc<Seat>,
    stage: Stage,
    /// Its thread runs.
    started: bool,
    /// What to go back to.
    before: Option<Before>,
    until: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Beside,
    Made,
    Alone,
}

/// A component that is in its place and has yet to show that it can be made.
#[derive(Debug)]
pub(super) struct Trial {
    /// What came of the reload if it can.
    outcome: Outcome,
    before: Option<Before>,
    until: Instant,
}

/// An instance as it was.
#[derive(Debug)]
struct Before {
    config: ComponentConfig,
    policy: Policy,
    library: Arc<Library>,
}

/// What a reload means for one component.
#[derive(Debug, Default)]
pub(super) struct Succession {
    successor: Option<Successor>,
    trial: Option<Trial>,
    /// It is not to be run any more.
    leaves: bool,
    /// Seats that were left, whose threads may not have ended.
    former: Vec<Arc<Seat>>,
    /// What was loaded for a successor that did not make it.
    in_vain: Option<Digest>,
    outcome: Option<(Outcome, Option<String>)>,
    /// Why a newer configuration is not in force.
    pub(super) held_back: Option<String>,
}

impl Member {
    /// Why the component runs with an older configuration than the one that was read last.
    pub fn held_back(&self) -> Option<&str> {
        self.succession.held_back.as_deref()
    }

    /// The component has an instance, which may be away.
    pub(in crate::supervisor) fn has_instance(&self) -> bool {
        match self.seat.condition() {
            Condition::Ready => true,
            Condition::Away(absence) => absence != Absence::Creation,
            _ => false,
        }
    }

    /// The component has been told to end, for a successor or for good.
    pub(super) fn is_retiring(&self) -> bool {
        let successor = self.succession.successor.as_ref();
        self.succession.leaves || successor.is_some_and(|it| it.stage != Stage::Beside)
    }

    /// A reload has begun to change it, and is not done with it.
    pub(in crate::supervisor) fn is_changing(&self) -> bool {
        let Succession {
            successor,
            trial,
            leaves,
            ..
        } = &self.succession;
        *leaves || successor.is_some() || trial.is_some()
    }

    /// It is not to be run any more.
    pub(crate) fn leaves(&self) -> bool {
        self.succession.leaves
    }

    /// It was not to be run any more, and the runtime knows it no longer.
    pub(in crate::supervisor) fn has_left(&self) -> bool {
        self.succession.leaves && matches!(self.session, SessionState::Waiting { .. })
    }

    /// Seats that were left since the last time, whose threads may not have ended.
    pub(in crate::supervisor) fn take_former(&mut self) -> Vec<Arc<Seat>> {
        std::mem::take(&mut self.succession.former)
    }

    /// All its seats whose threads may run.
    pub(in crate::supervisor) fn seats(&self) -> impl Iterator<Item = &Arc<Seat>> {
        let successor = self.succession.successor.as_ref();
        let successor = successor.filter(|successor| successor.started);
        let former = self.succession.former.iter();
        former
            .chain(successor.map(|successor| &successor.seat))
            .chain([&self.seat])
    }

    /// What was loaded since the last time for a successor that did not make it.
    pub(in crate::supervisor) fn take_in_vain(&mut self) -> Option<Digest> {
        self.succession.in_vain.take()
    }

    /// What came of the reload for it, and why; told once.
    pub(in crate::supervisor) fn take_outcome(&mut self) -> Option<(Outcome, Option<String>)> {
        self.succession.outcome.take()
    }

    /// Ends the component for good.
    pub(in crate::supervisor) fn leave(&mut self, now: Instant) {
        self.succession.leaves = true;
        self.retire(now);
    }

    /// Ends its session at once, with the call that it may be in.
    pub(in crate::supervisor) fn end_session(&self) {
        if let Some(served) = self.served() {
            served.session.end(End::Asked(REPLACED));
        }
    }

    /// The component was started by a reload.
    pub(in crate::supervisor) fn added(&mut self, now: Instant) {
        self.succession.trial = Some(Trial {
            outcome: Outcome::Added,
            before: None,
            until: now + MAKING_LIMIT,
        });
    }

    /// The newer configuration is not in force, for this reason; what runs goes on.
    pub(in crate::supervisor) fn hold_back(&mut self, reason: String) {
        tracing::error!(
            component = self.plugin(),
            reason,
            "the reload does not change it: it goes on as before"
        );
        self.succession.held_back = Some(reason.clone());
        self.succession.outcome = Some((Outcome::Failed, Some(reason)));
    }

    /// Takes over a configuration with which the instance can go on.
    pub(in crate::supervisor) fn adopt(
        &mut self,
        config: ComponentConfig,
        policy: Policy,
        now: Instant,
    ) {
        self.succession.held_back = None;
        self.seat.set_policy(policy);
        self.seat.quarantine.set_rule(config.quarantine);
        let mut as_before = config.clone();
        as_before.origin.clone_from(&self.config.origin);
        as_before.library.clone_from(&self.config.library);
        let is_as_before = as_before == self.config;
        let reason = self.failure();
        let outcome = match (&reason, is_as_before) {
            (Some(_), _) => Outcome::Failed,
            (None, true) => Outcome::Unchanged,
            (None, false) => Outcome::Changed,
        };
        let reason = reason.or_else(|| self.kept_out().map(|(reason, _)| reason));
        self.succession.outcome = Some((outcome, reason));
        let told_anew = config.on_failure != self.config.on_failure;
        if config.on_stuck != self.config.on_stuck {
            // What it is stuck in now is treated by the new rule.
            self.stuck = StuckWatch::default();
        }
        self.config = config;
        if is_as_before {
            return;
        }
        tracing::info!(component = self.plugin(), "its configuration is changed");
        if self.seat.quarantine.reset() {
            tracing::info!(component = self.plugin(), "its quarantine is ended");
            self.past.resynced = None;
        }
        if told_anew && self.served().is_some() {
            self.part(PartingOf::Session(TOLD_ANEW), now);
            self.past.begin_anew();
        }
    }

    /// Puts an instance of another configuration in the place of this one. `library`: what it is
    /// made from, if that is loaded.
    pub(in crate::supervisor) fn replace(
        &mut self,
        config: ComponentConfig,
        policy: Policy,
        library: Option<Arc<Library>>,
        now: Instant,
    ) {
        let one_only = library
            .as_ref()
            .is_some_and(|library| library.has_one_place());
        let alone = one_only || !self.has_instance();
        let mut successor = Successor {
            seat: self.seat_like_this(&config, policy, library),
            config,
            stage: Stage::Beside,
            started: false,
            before: None,
            until: now + MAKING_LIMIT,
        };
        if alone {
            self.make_room(&mut successor, now);
        } else {
            let path = &successor.config.library;
            if let Err(error) = self.means.start(&successor.seat, path) {
                self.hold_back(format!("it gets no thread: {error}"));
                return;
            }
            successor.started = true;
        }
        self.succession.successor = Some(successor);
    }

    fn seat_like_this(
        &self,
        config: &ComponentConfig,
        policy: Policy,
        library: Option<Arc<Library>>,
    ) -> Arc<Seat> {
        let seat = self.means.seat(config, policy).counting_on(&self.seat);
        Arc::new(match library {
            Some(library) => seat.made_from(library),
            None => seat,
        })
    }

    /// The component ends after the call under way.
    fn retire(&mut self, now: Instant) {
        self.part(PartingOf::Instance(REPLACED), now);
        self.past.begin_anew();
    }
}

#[cfg(test)]
mod tests;
