//! The stages of a succession: what is due in each, and what follows.

use std::sync::Arc;
use std::time::Instant;

use super::{Before, ENDING_LIMIT, MAKING_LIMIT, REPLACED, Stage, Successor, Trial};
use crate::component::border::NotCreated;
use crate::component::seat::{Condition, Seat};
use crate::config::ComponentConfig;
use crate::supervisor::member::{Member, SessionState, failure_of, making};
use crate::supervisor::reload::Outcome;

impl Member {
    pub(super) fn make_room(&mut self, successor: &mut Successor, now: Instant) {
        if self.has_instance()
            && let Some(library) = self.seat.library()
        {
            successor.before = Some(Before {
                config: self.config.clone(),
                policy: (*self.seat.policy()).clone(),
                library: Arc::clone(library),
            });
        }
        successor.stage = Stage::Alone;
        successor.until = now + ENDING_LIMIT;
        self.retire(now);
    }

    /// Does what is due of a reload, and says when to look again at the latest.
    pub(in crate::supervisor::member) fn observe_succession(
        &mut self,
        now: Instant,
    ) -> Option<Instant> {
        let Some(successor) = self.succession.successor.take() else {
            return self.observe_trial(now);
        };
        match successor.stage {
            Stage::Beside => self.observe_beside(successor, now),
            Stage::Made | Stage::Alone => self.observe_ending(successor, now),
        }
    }

    fn observe_beside(&mut self, mut successor: Successor, now: Instant) -> Option<Instant> {
        let seat = &successor.seat;
        match seat.condition() {
            Condition::Ready => {
                successor.stage = Stage::Made;
                self.retire(now);
            }
            // What loads libraries was short of something otherwise.
            Condition::NotCreated(NotCreated::TryLater(reason)) if seat.library().is_some() => {
                let component = self.plugin();
                tracing::info!(component, reason, "it ends before its successor is made");
                self.make_room(&mut successor, now);
            }
            _ => match unmade(seat, &successor.config, successor.until, now) {
                Some(reason) => {
                    self.succession.in_vain = seat.library().map(|library| library.digest);
                    self.discard(successor.seat);
                    self.hold_back(reason);
                    return None;
                }
                None => {
                    let until = made_until(seat, successor.until, now);
                    self.succession.successor = Some(successor);
                    return until;
                }
            },
        }
        self.succession.successor = Some(successor);
        Some(now)
    }

    fn observe_ending(&mut self, successor: Successor, now: Instant) -> Option<Instant> {
        let has_session = !matches!(self.session, SessionState::Waiting { .. });
        // One that does not come back from its end keeps its successor no longer.
        let is_there =
            successor.stage == Stage::Alone && !self.seat.has_ended() && successor.until > now;
        if has_session || is_there {
            let until = Some(successor.until).filter(|until| *until > now);
            self.succession.successor = Some(successor);
            return until;
        }
        self.take_place(successor, now);
        Some(now)
    }

    fn take_place(&mut self, successor: Successor, now: Instant) {
        let Successor {
            config,
            seat,
            stage,
            started,
            before,
            ..
        } = successor;
        // What does not come back keeps what it has from the instance before as well.
        let before = before.filter(|_| self.seat.has_ended());
        self.sit_down(config, seat, now);
        self.succession.held_back = None;
        if stage == Stage::Made {
            tracing::info!(component = self.plugin(), "restarted by a reload");
            self.succession.outcome = Some((Outcome::Restarted, None));
            return;
        }
        // Its time begins now.
        self.seat.create_again();
        if !started {
            self.start_thread();
        }
        self.succession.trial = Some(Trial {
            outcome: Outcome::Restarted,
            before,
            until: now + MAKING_LIMIT,
        });
    }

    /// Another seat is that of the component from now on.
    fn sit_down(&mut self, config: ComponentConfig, seat: Arc<Seat>, now: Instant) {
        let former = std::mem::replace(&mut self.seat, seat);
        self.succession.former.push(former);
        self.config = config;
        self.begin_anew(now);
    }

    fn start_thread(&mut self) {
        if let Err(error) = self.means.start(&self.seat, &self.config.library) {
            self.seat.thread_failed(NotCreated::Failed {
                reason: format!("it gets no thread: {error}"),
                config: Vec::new(),
            });
        }
    }

    fn discard(&mut self, seat: Arc<Seat>) {
        seat.stop(REPLACED);
        self.succession.former.push(seat);
    }

    fn observe_trial(&mut self, now: Instant) -> Option<Instant> {
        let trial = self.succession.trial.take()?;
        let reason = match self.seat.condition() {
            Condition::Ready | Condition::Away(_) => None,
            _ => match self.unmade(trial.until, now) {
                None => {
                    let until = made_until(&self.seat, trial.until, now);
                    self.succession.trial = Some(trial);
                    return until;
                }
                reason => reason,
            },
        };
        match (reason, trial.before) {
            (None, _) => {
                tracing::info!(component = self.plugin(), "{} by a reload", trial.outcome);
                self.succession.outcome = Some((trial.outcome, None));
            }
            (Some(reason), None) => {
                self.succession.outcome = Some((Outcome::Failed, Some(reason)));
            }
            (Some(reason), Some(before)) => {
                self.go_back(before, now);
                self.hold_back(reason);
            }
        }
        Some(now)
    }

    /// Why there is no instance, or not yet.
    fn unmade(&self, until: Instant, now: Instant) -> Option<String> {
        match self.kept_out() {
            Some((reason, _)) => Some(reason),
            None => unmade(&self.seat, &self.config, until, now),
        }
    }

    /// The component is made again as it was.
    fn go_back(&mut self, before: Before, now: Instant) {
        let Before {
            config,
            policy,
            library,
        } = before;
        self.succession.in_vain = self.seat.library().map(|library| library.digest);
        self.seat.stop(REPLACED);
        let seat = self.seat_like_this(&config, policy, Some(library));
        self.sit_down(config, seat, now);
        self.start_thread();
    }
}

/// Why a component could not be made, or not yet.
fn unmade(seat: &Seat, config: &ComponentConfig, until: Instant, now: Instant) -> Option<String> {
    if let Condition::NotCreated(NotCreated::TryLater(reason)) = seat.condition() {
        return Some(reason);
    }
    let late = || format!("it was not there after {} s", MAKING_LIMIT.as_secs());
    failure_of(seat, config).or_else(|| (until <= now).then(late))
}

/// When to look again whether it is made.
fn made_until(seat: &Seat, until: Instant, now: Instant) -> Option<Instant> {
    let limit = making(&seat.condition()).map(|(_, limit)| seat.since() + limit);
    let until = limit.map_or(until, |limit| limit.min(until));
    Some(until).filter(|until| *until > now)
}
