//! What a component is in the middle of, in one word.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::component::border::NotCreated;
use crate::component::seat::{Absence, Condition};
use crate::supervisor::{Member, SessionState};

/// One word for a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has no session, and will get one.
    Waiting,
    /// It is being registered, configured or synchronized.
    Handshaking,
    /// It is synchronized and serves calls.
    Active,
    /// It serves calls, and may have missed some.
    Unsynced,
    /// It has not come back from a call; the host answers for it.
    Overdue,
    /// It failed or crashed too often, and is not called for a time; the host answers for it.
    Quarantined,
    /// There is no instance.
    Failed,
    /// It is switched off.
    Disabled,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Handshaking,
        Self::Active,
        Self::Unsynced,
        Self::Overdue,
        Self::Quarantined,
        Self::Failed,
        Self::Disabled,
    ];

    /// As in the JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Handshaking => "handshaking",
            Self::Active => "active",
            Self::Unsynced => "unsynced",
            Self::Overdue => "overdue",
            Self::Quarantined => "quarantined",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// One word, what there is to say, and since when.
pub(super) fn of(member: &Member) -> (State, Option<String>, Instant) {
    let since = member.seat.since();
    if let Some(reason) = member.failure() {
        return (State::Failed, Some(reason), since);
    }
    if let Some((reason, _)) = member.kept_out() {
        return (State::Quarantined, Some(reason), since);
    }
    if let Some((state, reason)) = by_condition(member.seat.condition()) {
        return (state, Some(reason), since);
    }
    let (state, reason) = match &member.session {
        SessionState::Waiting { reason, .. } => (State::Waiting, Some(reason.clone())),
        SessionState::Handshaking(served) => {
            let awaited = served.session.progress().awaited();
            (
                State::Handshaking,
                Some(format!("waiting for the runtime: no {awaited} yet")),
            )
        }
        SessionState::Active(_) if member.seat.quarantine.is_active() => {
            return quarantined(member);
        }
        SessionState::Active(_) if member.is_unsynced() => {
            let reason = "it missed a call, or failed in Synchronize".to_owned();
            (State::Unsynced, Some(reason))
        }
        SessionState::Active(_) => (State::Active, None),
    };
    (state, reason, member.since)
}

/// What a condition says whatever the session is; `None`: it depends on the session.
fn by_condition(condition: Condition) -> Option<(State, String)> {
    let (state, reason) = match condition {
        Condition::Away(Absence::Call(method)) => {
            let reason = format!("{} has not returned", method.name());
            return Some((State::Overdue, reason));
        }
        Condition::NotCreated(NotCreated::TryLater(reason)) => {
            let reason = format!("there is no instance yet, trying again: {reason}");
            return Some((State::Waiting, reason));
        }
        Condition::Away(Absence::UpdateResult) => {
            (State::Overdue, "update_result has not returned")
        }
        Condition::Away(Absence::Creation) => (State::Overdue, "is being created again"),
        Condition::Loading => (
            State::Waiting,
            "its library is tried out, or waits until others are loaded",
        ),
        Condition::Constructing => (
            State::Waiting,
            "the constructors of its library are running",
        ),
        Condition::Creating => (State::Waiting, "create is under way"),
        _ => return None,
    };
    Some((state, reason.to_owned()))
}

fn quarantined(member: &Member) -> (State, Option<String>, Instant) {
    let quarantine = &member.seat.quarantine;
    let rule = quarantine.rule();
    let reason = format!(
        "{} of its calls failed or were late within {}",
        rule.failures,
        humantime::format_duration(rule.window)
    );
    let since = quarantine.term().map_or(member.since, |term| term.since);
    (State::Quarantined, Some(reason), since)
}
