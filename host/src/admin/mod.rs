//! For those who run the host: what is going on, and who is told.
//!
//! | module | job |
//! |---|---|
//! | [`status`] | the state of everything, as a table and as JSON |
//! | [`socket`] | the daemon's side of the admin socket: who is let in, and within which limits |
//! | `router` | which request goes to which endpoint; one module each, made of what `answer` has |
//! | [`client`] | the commands' side of the admin socket |
//! | [`log`] | the last lines of the log about each component |
//! | [`notify`] | systemd |

mod answer;
pub mod client;
pub mod log;
pub mod notify;
mod reload;
mod reset;
mod router;
pub mod socket;
pub mod status;
