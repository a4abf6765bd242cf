//! What components share that read folders of the node: [`read()`] never waits for whoever might write
//! a file, and a [`Watcher`] notices changes, on a thread of its own.

mod read;
mod watcher;
mod watches;

pub use read::{ReadError, on_host, read};
pub use watcher::Watcher;
