//! Towards components: from a file to answers.
//!
//! | module | job |
//! |---|---|
//! | [`inspect`] | reads a file and says what it is, without running its code |
//! | [`load`] | brings it into the process |
//! | `trials` | has it loaded elsewhere, to see whether that goes well |
//! | [`context`] | the host's functions as a component sees them |
//! | [`border`] | calls into a component, made safe |
//! | [`seat`] | what the thread, the watchdog and the supervisor share of a component |
//! | [`instance`] | the thread that serves one component |
//! | [`turn`] | whose turn it is to answer |
//! | [`watchdog`] | answers for components that do not come back |
//! | [`policy`] | what the runtime is told |
//! | [`quarantine`] | leaves a component alone that fails again and again |
//! | [`outbox`] | updates that a component asks for outside requests |
//! | [`health`] | what a component says of itself |
//! | [`last_errors`] | what went wrong in its last failed calls |
//! | [`command`] | a component's own commands, in a process of their own |
//! | [`counters`], [`latency`] | what is counted, and how long calls take |
//! | [`clock`] | the clock of deadlines |

pub mod border;
pub mod clock;
pub mod command;
pub mod context;
pub mod counters;
pub mod health;
pub mod inspect;
pub mod instance;
pub mod last_errors;
pub mod latency;
pub mod load;
pub mod outbox;
pub mod policy;
pub mod quarantine;
pub mod seat;
pub(crate) mod trials;
pub mod turn;
pub mod watchdog;

/// The atomics of [`turn`]; its model checker puts others in their place.
mod atomic {
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}
