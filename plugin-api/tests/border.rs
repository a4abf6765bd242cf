//! What a component does is what the host gets to see: through the exported functions.

#[path = "border/config.rs"]
mod config;
#[path = "border/logs.rs"]
mod logs;
#[path = "border/outcomes.rs"]
mod outcomes;
#[path = "border/panics.rs"]
mod panics;
#[path = "border/updates.rs"]
mod updates;
