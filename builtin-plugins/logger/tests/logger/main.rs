//! What the logger writes, and where.

mod lines;

mod events;
mod output;
mod redaction;
mod sample_plugin;
mod settings;
