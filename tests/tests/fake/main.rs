//! The real nri-host with real components against the fake runtime.

#![expect(clippy::unwrap_used, reason = "a test may end by a panic")]

mod callbacks;
mod record;
mod scene;

mod away;
mod cdi;
mod config;
mod constructors;
mod crash;
mod creation;
mod cut;
mod deadlines;
mod dialects;
mod endpoints;
mod environment;
mod figures;
mod framing;
mod handshake;
mod log;
mod loss;
mod mistakes;
mod modes;
mod outcomes;
mod own_words;
mod promise;
mod quarantine;
mod reload;
mod reset;
mod restart;
mod service_manager;
mod shutdown;
mod socket;
mod status;
mod storm;
mod sync;
mod tolerance;
mod updates;
