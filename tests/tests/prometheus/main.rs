//! What the host gives to Prometheus, read by Prometheus' own code.

mod alerts;
mod metrics;
mod scene;
