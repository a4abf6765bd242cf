//! What a component does is what the host gets to see: through the exported functions.

#[path = "border/commands.rs"]
mod commands;
#[path = "border/config.rs"]
mod config;
#[path = "border/health.rs"]
mod health;
#[path = "border/logs.rs"]
mod logs;
#[path = "border/outcomes.rs"]
mod outcomes;
#[path = "border/panics.rs"]
mod panics;
#[path = "border/runtime.rs"]
mod runtime;
#[path = "border/updates.rs"]
mod updates;
