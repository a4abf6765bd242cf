//! Files that are large, and files that only look small.

use std::fs;
use std::time::{Duration, Instant};

use nri_cdi_injector::spec::Spec;

use crate::folder::Node;

/// A file of this many devices.
fn large(devices: usize) -> String {
    let mut text = "cdiVersion: 0.6.0\nkind: acme.com/dev\ndevices:\n".to_owned();
    for i in 0..devices {
        text.push_str(&format!(
            "- name: gpu{i}\n  containerEdits:\n    env: [\"GPU={i}\"]\n    deviceNodes:\n    \
             - {{path: /dev/gpu{i}, type: c, major: 195, minor: {i}}}\n"
        ));
    }
    text
}

/// Devices that share one list by an alias.
fn bomb(devices: usize, entries: usize) -> String {
    let mut text = "cdiVersion: 0.6.0\nkind: acme.com/dev\ndevices:\n- name: d\n  \
                    containerEdits:\n    env: &e ["
        .to_owned();
    for i in 0..entries {
        text.push_str(&format!("A={i}, "));
    }
    text.push_str("]\n");
    for i in 0..devices {
        text.push_str(&format!("- name: d{i}\n  containerEdits: {{env: *e}}\n"));
    }
    text
}

#[test]
fn ten_thousand_devices_of_one_file_are_indexed() {
    let node = Node::with(&[("a.yaml", &large(10_000))]);
    let index = node.index();
    assert_eq!(index.device_count(), 10_000, "{:?}", index.problems());
    assert!(
        index
            .find(&"acme.com/dev=gpu9999".parse().unwrap())
            .is_some()
    );
}

/// Run with `cargo test --release -p nri-cdi-injector --test cases -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, for a release build"]
fn measure_ten_thousand_devices() {
    let node = Node::with(&[("a.yaml", &large(10_000))]);
    let before = resident();
    let start = Instant::now();
    let index = node.index();
    let (time, peak, kept) = (start.elapsed(), peak(), resident());
    assert_eq!(index.device_count(), 10_000);
    println!(
        "10,000 devices: {time:?}, peak {} MiB, {} MiB kept",
        peak.saturating_sub(before) >> 10,
        kept.saturating_sub(before) >> 10
    );
}

/// Memory of this process in KiB.
fn resident() -> u64 {
    status("VmRSS:")
}

fn peak() -> u64 {
    status("VmHWM:")
}

fn status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .expect("the field is there")
}

#[test]
fn bombs_are_refused_at_once() {
    for (name, text) in [
        ("42 KB of aliases", bomb(300, 3_000)),
        ("166 KB of aliases", bomb(3_000, 10_000)),
        ("nested lists", "[".repeat(100_000)),
        ("nested mappings", "{a: ".repeat(100_000)),
        ("nested items", "- ".repeat(100_000)),
        (
            "nested in a field",
            format!("annotations: {}", "[".repeat(100_000)),
        ),
    ] {
        let start = Instant::now();
        assert!(Spec::parse(&text).is_err(), "{name}");
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{name}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn aliases_are_read_where_they_stand_for_little() {
    let spec = Spec::parse(&bomb(10, 10)).unwrap();
    assert_eq!(spec.devices.len(), 11);
    assert_eq!(spec.devices[0].edits.env, spec.devices[10].edits.env);
}

#[test]
fn devices_that_many_files_define_are_told_once_for_each_file() {
    let node = Node::new();
    let text = large(200);
    for i in 0..50 {
        node.write(&format!("{i:02}.yaml"), &text);
    }
    let index = node.index();
    assert_eq!((index.device_count(), index.problems().len()), (0, 50));
    let text = &index.problems()[0].text;
    assert!(
        text.contains("and 46 more files as well") && text.contains("199 more of its devices"),
        "{text}"
    );
    assert!(index.problems().iter().all(|p| p.text.len() <= 600));
}
