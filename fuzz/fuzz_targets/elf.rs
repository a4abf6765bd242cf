//! A component's file, inspected before any of its code runs: whatever its headers claim, the
//! inspection ends, without a panic and without believing a size. (The fuzzer is run with a limit
//! for a single allocation.)

#![no_main]

use libfuzzer_sys::fuzz_target;
use nri_host::component::inspect::inspect_bytes;

fuzz_target!(|file: &[u8]| {
    let once = inspect_bytes(file);
    // What is refused is refused again, with the same words: these are what an admin sees.
    let again = inspect_bytes(file);
    match (once, again) {
        (Ok(once), Ok(again)) => assert_eq!(once, again),
        (Err(once), Err(again)) => assert_eq!(once.to_string(), again.to_string()),
        (once, again) => panic!("{once:?}, then {again:?}"),
    }
});
