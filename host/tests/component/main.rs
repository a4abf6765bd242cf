//! Components as files and in the process: what is refused before any code of it runs, with which
//! words, and that what is loaded is what was inspected.

mod accepted;
mod commands;
mod exports;
mod files;
mod fixture;
mod garbage;
mod headers;
mod load;
mod manners;
mod notes;
mod own_commands;
mod probe;
mod trial;
