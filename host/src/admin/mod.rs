//! For those who run the host: what is going on, and who is told.
//!
//! | module | job |
//! |---|---|
//! | [`status`] | the state of everything, as a table and as JSON |
//! | [`socket`] | HTTP on the admin socket: the daemon's side and the commands' side |
//! | [`notify`] | systemd |

pub mod notify;
pub mod socket;
pub mod status;
