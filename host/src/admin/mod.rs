//! For those who run the host: what is going on, and who is told.
//!
//! | module | job |
//! |---|---|
//! | [`status`] | the state of everything, as a table and as JSON |
//! | [`socket`], [`tcp`] | what is listened at, and who is at the other end |
//! | `server` | HTTP within limits |
//! | `router` | which request goes to which endpoint; one module each, made of what `answer` has |
//! | [`client`] | the commands' side of the admin socket |
//! | [`log`] | the last lines of the log about each component |
//! | [`notify`] | systemd |

mod answer;
pub mod client;
mod health;
pub mod log;
mod metrics;
pub mod notify;
mod reload;
mod reset;
mod router;
mod server;
pub mod socket;
pub mod status;
pub mod tcp;
