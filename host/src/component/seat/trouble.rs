//! What is counted, logged and concluded of a call whose outcome is no reply.

use std::fmt;
use std::time::Instant;

use crate::component::policy::{Failure, Outcome};

use super::Seat;

/// An outcome that is no reply, as far as the host itself is concerned.
pub(super) struct Trouble {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy)]
enum Kind {
    Rejected,
    Error,
    Panic,
    BadReply,
    /// It answered well, but this runtime would not bear the answer.
    Withheld,
    Late,
    Away,
    Quarantined,
}

impl Trouble {
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        let (kind, text) = match outcome {
            Outcome::Reply(_) => return None,
            Outcome::Rejected(reason) => (Kind::Rejected, reason.clone()),
            Outcome::Failed(failure) => {
                let kind = match failure {
                    Failure::Late => Kind::Late,
                    Failure::Away => Kind::Away,
                    Failure::Quarantined => Kind::Quarantined,
                    Failure::DeadlySysctl => Kind::Withheld,
                    Failure::Error(_) => Kind::Error,
                    Failure::Panic(_) => Kind::Panic,
                    Failure::Garbage(_)
                    | Failure::Unfit(_)
                    | Failure::NoReply
                    | Failure::BadReply(_) => Kind::BadReply,
                };
                (kind, failure.to_string())
            }
        };
        Some(Self { kind, text })
    }
}

impl Seat {
    /// Takes note of a call that came to no reply. `ignored`: the runtime was not told.
    pub(super) fn note(
        &self,
        method: &str,
        subject: &dyn fmt::Display,
        trouble: Trouble,
        ignored: bool,
    ) {
        let component = self.plugin.as_str();
        let Trouble { kind, text } = trouble;
        let counters = &self.counters;
        let counter = match kind {
            Kind::Rejected => &counters.rejections,
            Kind::Error => &counters.failures.errors,
            Kind::Panic => &counters.failures.panics,
            Kind::BadReply => &counters.failures.bad_replies,
            Kind::Withheld => &counters.failures.withheld,
            Kind::Late => &counters.late,
            Kind::Away | Kind::Quarantined => &counters.missed,
        };
        counter.add_one();
        if let Kind::Rejected = kind {
            tracing::info!(component, method, %subject, reason = text, "rejected");
            return;
        }
        if ignored {
            counters.ignored.add_one();
        }
        if let Kind::Quarantined = kind {
            // For as long as a day: what led to it is to be found, not each call.
            tracing::debug!(component, method, %subject, ignored, "in quarantine: not called");
            return;
        }
        tracing::warn!(component, method, %subject, error = text, ignored, "call failed");
        // A call that came while it was away shows what an earlier one did.
        if !matches!(kind, Kind::Away) {
            self.last_errors
                .add(&format!("{method} for {subject}: {text}"));
        }
        if let Kind::Error | Kind::Panic | Kind::BadReply | Kind::Late = kind {
            self.note_failure();
        }
    }

    /// The component itself failed: perhaps once too often.
    fn note_failure(&self) {
        let Some(term) = self.quarantine.failed(Instant::now()) else {
            return;
        };
        let component = self.plugin.as_str();
        let rule = self.quarantine.rule();
        tracing::warn!(
            component,
            failures = rule.failures,
            within = ?rule.window,
            lasts = ?(term.until - term.since),
            "in quarantine: it failed too often and is not called; `nri-host reset {}` ends this",
            self.blueprint.name
        );
        self.notice.notify_one();
    }
}
