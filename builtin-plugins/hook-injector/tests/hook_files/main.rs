//! Hook files, and what containers get of them.

mod arbitrary;
mod commands;
mod conditions;
mod files;
mod folders;
mod node;
mod watching;
