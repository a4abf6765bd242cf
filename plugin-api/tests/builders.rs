//! What builders ask for, as it looks on the wire: encoded by this crate, and read again by the
//! definition of the protocol alone.

#[path = "builders/adjustments.rs"]
mod adjustments;
#[path = "builders/complete.rs"]
mod complete;
#[path = "builders/protocol.rs"]
mod protocol;
#[path = "builders/refusals.rs"]
mod refusals;
#[path = "builders/updates.rs"]
mod updates;
