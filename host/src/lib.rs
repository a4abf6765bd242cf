//! placeholder
pub mod component;
pub mod config;
