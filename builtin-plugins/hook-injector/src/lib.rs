//! Gives containers the OCI hooks that the hook files of the node describe.
//!
//! `docs/components/hook-injector.md` tells users about files and settings. The work has two parts:
//!
//! * on a thread of its own, `watch` waits for changes, and `loader` reads the folders: `file`
//!   reads one file, `pattern` its regular expressions, `host_files` is what touches the disk,
//!   `problem` what is wrong, `report` who tells it. What comes out is a `table` of hooks;
//! * on the thread that the runtime waits for, `component` asks each `hook` of the table about the
//!   `subject`, a container, and `inject` makes an adjustment of those that run for it.
//!
//! `cri_o` knows when hooks run twice. `commands` are for administrators.

mod commands;
mod component;
mod cri_o;
mod file;
mod hook;
mod host_files;
mod inject;
mod loader;
mod pattern;
mod problem;
mod report;
mod settings;
mod subject;
mod table;
mod watch;

pub use component::HookInjector;
pub use settings::{BindMounts, RawExclude, RawSettings};

/// Reads the text of a hook file and says how many mistakes are in it: for the fuzzer.
#[doc(hidden)]
pub fn fuzz_hook_file(text: &str) -> usize {
    file::parse(text).err().map_or(0, |mistakes| mistakes.len())
}
