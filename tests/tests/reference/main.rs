//! Against the reference implementation of the runtime's side of NRI.

mod cuts;
mod harness;
mod plugins;
mod policy;
mod reload;
mod replies;
mod stage;
mod synchronize;
mod updates;
