//! The table of cases in `docs/components/cdi-injector.md`, row by row, and what goes beyond it.

mod commands;
mod edits;
mod files;
mod folder;
mod gaps;
mod nobody;
mod requests;
mod scale;
mod watching;
