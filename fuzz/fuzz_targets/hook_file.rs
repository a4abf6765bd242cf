//! A hook file, and the regular expressions in it: whatever is in it, reading ends, without a panic
//! and without much memory, and what is refused comes with a reason. (The fuzzer is run with a limit
//! for a single allocation.)

#![no_main]

use libfuzzer_sys::fuzz_target;
use nri_hook_injector::fuzz_hook_file;

fuzz_target!(|text: &str| {
    fuzz_hook_file(text);
});
