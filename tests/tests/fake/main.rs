//! The real nri-host with real components against the fake runtime.

#![expect(clippy::unwrap_used, reason = "a test may end by a panic")]

mod callbacks;
mod record;
mod scene;

mod config;
mod creation;
mod deadlines;
mod dialects;
mod framing;
mod handshake;
mod promise;
mod restart;
mod service_manager;
mod shutdown;
mod sync;
mod tolerance;
