//! Sends the updates that components ask for outside requests: one at a time for the whole host, in
//! turn, and never into a call.

use std::time::Instant;

use super::lull::Lull;
use super::member::{Member, SessionState};
use crate::component::seat::Condition;

/// Whose turn it is, and whether it may send.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Place of the member that may send first.
    first: usize,
}

impl Updates {
    /// Sends what may be sent now, and says when to look again at the latest. What ends a wait
    /// before that (an answer, the end of a session, of a synchronization) comes with a notice.
    pub(super) fn step(
        &mut self,
        members: &[Member],
        lull: &mut Lull,
        now: Instant,
    ) -> Option<Instant> {
        for member in members {
            member.seat.outbox.expire(now);
        }
        let due = members.iter().filter_map(|m| m.seat.outbox.answer_due());
        if let Some(due) = due.min() {
            return Some(due);
        }
        // There may be fewer by now.
        let first = self.first.min(members.len());
        let in_turn = (first..members.len()).chain(0..first);
        let next = in_turn.into_iter().find(|&i| may_send(&members[i]))?;
        let synchronizing = members.iter().filter_map(Member::served);
        let synchronizing = synchronizing
            .filter(|served| !served.session.has_ended())
            .any(|served| served.session.is_synchronizing());
        if synchronizing {
            return None;
        }
        if let Some(at) = lull.awaited(now) {
            return Some(at);
        }
        self.first = next + 1;
        send(&members[next], now)
    }
}

/// The component has something to send, and is there to be told what came of it.
fn may_send(member: &Member) -> bool {
    member.seat.outbox.has_queued()
        && matches!(&member.session, SessionState::Active(served) if served.session.goes_on())
        && matches!(member.seat.condition(), Condition::Ready)
        && !member.seat.quarantine.is_active()
}

fn send(member: &Member, now: Instant) -> Option<Instant> {
    let served = member.served()?;
    if member.seat.outbox.counts().sent == 0 {
        warn_of_old_runtime(member);
    }
    let number = served.session.update_call_number();
    // Noted before it is written: the answer comes on another thread.
    let request = member.seat.outbox.send(served.key(), number, now)?;
    served.session.update_containers(number, request);
    member.seat.outbox.answer_due()
}

/// What may happen all the same is to be found in the log.
fn warn_of_old_runtime(member: &Member) {
    let configured = member
        .served()
        .and_then(|s| s.session.progress().configured);
    if let Some(configured) = configured
        && configured.runtime.can_freeze_on_updates()
    {
        let runtime = &configured.runtime;
        tracing::warn!(
            component = member.plugin(),
            runtime = format!("{} {}", runtime.name, runtime.version),
            "updates containers outside requests, which can freeze a runtime with NRI before 0.12.1 \
             if it begins a request in the same moment"
        );
    }
}
