//! The answer to a call, and what the host concludes from it.

use std::sync::atomic::Ordering;

use nri_plugin_api::abi::Method;

use super::trouble::Trouble;
use super::{Seat, Served};
use crate::component::policy::{Failure, Outcome, Subject};
use crate::runtime::connection::Patience;
use crate::runtime::fields;
use crate::runtime::session::Call;
use crate::runtime::ttrpc::Answer;

impl Seat {
    /// Answers a call, whatever came of it.
    pub fn conclude(&self, served: &Served, call: &Call, outcome: Outcome, patience: Patience) {
        let outcome = match outcome {
            Outcome::Reply(reply)
                if call.method == Method::CreateContainer
                    && fields::adjusts_sysctl(&reply)
                    && served.session.dies_of_sysctl() =>
            {
                Outcome::Failed(Failure::DeadlySysctl)
            }
            outcome => outcome,
        };
        // Before the answer: with it, a session may become active.
        let was_missed = outcome.is_missed();
        let news = match (call.method, &outcome) {
            (Method::Synchronize, outcome) => {
                let failed = !matches!(outcome, Outcome::Reply(_));
                self.out_of_step.store(failed, Ordering::Relaxed);
                was_missed
            }
            _ => was_missed && !self.out_of_step.swap(true, Ordering::Relaxed),
        };
        let trouble = Trouble::of(&outcome);
        let answer = self.policy().answer(call, outcome);
        let ignored = matches!(answer, Answer::Payload(_));
        served.session.answer(call, answer, patience);
        if let Some(trouble) = trouble {
            let subject = Subject::of(call);
            self.note(call.method.name(), &subject, trouble, ignored);
        }
        if news {
            self.notice.notify_one();
        }
    }
}
