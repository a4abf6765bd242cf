//! Whom the end of the whole process is put down to.
//!
//! Components run in this process, so a fault in one of them ends it for all. What can be done is to
//! say who it was, to let the process die as it would have without us, and to leave out whoever did
//! it too often.
//!
//! | module | job |
//! |---|---|
//! | [`doing`] | what each thread is doing for whom, as the fault handler reads it |
//! | [`handler`] | the handlers of fault signals and of `exit` |
//! | [`report`] | what they say, in a line and in a record, without allocating |
//! | [`record`] | the records as they are read at the next start |
//! | [`history`] | the crashes of each component, kept over restarts, and who stays out for them |
//!
//! Not seen are `_exit`, SIGKILL, and a stack overflow on a thread that a component started without
//! an alternate signal stack.

pub mod doing;
pub mod handler;
pub mod history;
pub mod record;
mod report;

pub use doing::{Identity, Step, during};
