//! CDI files, which are written by vendors' tools and by hand.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nri_cdi_injector::spec::Spec;
use nri_plugin_api::cdi::DeviceName;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(spec) = Spec::parse(text) else {
        return;
    };
    // Each device of a file that is read has a name that pods can ask for.
    for device in &spec.devices {
        let name = format!("{}={}", spec.kind, device.name);
        let parsed: DeviceName = name.parse().expect("the parts were checked");
        assert_eq!(parsed.kind(), spec.kind.as_str());
        assert!(device.line >= 1);
    }
});
