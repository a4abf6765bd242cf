//! The binary; everything is in the library.

use nri_host::{cli, component};

fn main() {
    let reason = cli::main();
    component::border::end_process(reason)
}
