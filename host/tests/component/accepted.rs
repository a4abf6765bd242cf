//! What is accepted, and what is read of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use nri_host::component::inspect::{ElfError, inspect, inspect_bytes};

use crate::fixture::{
    PT_NOTE, Workshop, note_name, patched, program_header, refusal_of, sound, warnings_of,
};

#[test]
fn a_sound_component_says_what_it_is() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    let inspected = inspect(&path).expect("it is accepted");
    assert_eq!(inspected.path, fs::canonicalize(&path).unwrap());
    assert_eq!(inspected.bytes, fs::read(&path).unwrap());
    assert_eq!(inspected.note.id, "dev.example.fixture");
    assert_eq!(inspected.note.version, "1.2.3");
    assert_eq!((inspected.note.abi_major, inspected.note.abi_minor), (1, 0));
    assert_eq!(
        (inspected.note.min_host_minor, inspected.note.flags),
        (0, 0)
    );
    assert_eq!(inspected.needed, ["libc.so.6"]);
    assert!(inspected.glibc.is_some());
    assert!(!inspected.go_runtime);
    assert_eq!(inspected.warnings, []);
}

#[test]
fn the_digest_is_the_one_that_sha256sum_prints() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    let output = Command::new("sha256sum").arg(&path).output().unwrap();
    let expected = String::from_utf8(output.stdout).unwrap();
    let digest = inspect(&path).unwrap().digest.to_string();
    assert!(expected.starts_with(&digest), "{digest} {expected}");
}

#[test]
fn a_stripped_component_is_accepted() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    let stripped = workshop.changed(&path, "b.so", &["strip", "--strip-all"]);
    assert_eq!(
        inspect(&stripped).unwrap().note,
        inspect(&path).unwrap().note
    );
}

#[test]
fn both_kinds_of_hash_table_are_read() {
    for style in ["sysv", "gnu", "both"] {
        let style = format!("-Wl,--hash-style={style}");
        assert_eq!(warnings_of(&[&style]), [], "{style}");
        let error = refusal_of(&[&style, "-DNO_DESCRIPTOR"]);
        assert!(
            matches!(error, ElfError::NoDescriptor { .. }),
            "{style}: {error}"
        );
    }
}

#[test]
fn a_symbolic_link_is_followed() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    symlink(&path, workshop.path("link.so")).unwrap();
    let inspected = inspect(&workshop.path("link.so")).unwrap();
    assert_eq!(inspected.path, fs::canonicalize(&path).unwrap());
}

#[test]
fn a_note_that_only_the_section_table_knows_is_found() {
    let mut bytes = sound().to_vec();
    // Each PT_NOTE becomes PT_NULL.
    while bytes_have(&bytes, PT_NOTE) {
        let at = program_header(&bytes, PT_NOTE);
        bytes = patched(&bytes, at, &0u32.to_le_bytes());
    }
    assert_eq!(
        inspect_bytes(&bytes).unwrap().note.id,
        "dev.example.fixture"
    );
}

fn bytes_have(bytes: &[u8], kind: u32) -> bool {
    let count = usize::from(bytes[56]);
    (0..count).any(|index| bytes[64 + index * 56..][..4] == kind.to_le_bytes())
}

#[test]
fn flags_that_may_be_ignored_are() {
    let bytes = patched(sound(), note_name(sound()) + 16, &0x8000u32.to_le_bytes());
    assert_eq!(inspect_bytes(&bytes).unwrap().note.flags, 0x8000);
}

#[test]
fn a_longer_note_of_a_newer_header_is_read() {
    let workshop = Workshop::new();
    let path = workshop.component_with(
        "a.so",
        "__attribute__((used, section(\".note.nrih\"), aligned(4))) static const struct {\n\
         nrih_note note; uint32_t more; } longer = {{8, sizeof(nrih_note) - 20 + 4,\n\
         NRIH_NOTE_TYPE, NRIH_NOTE_NAME, 1, 7, 0, 0, 0, \"dev.example.newer\", \"2\"}, 42};\n",
        &["-DNO_NOTE"],
    );
    let note = inspect(&path).unwrap().note;
    assert_eq!((note.id.as_str(), note.abi_minor), ("dev.example.newer", 7));
}

#[test]
fn a_go_runtime_is_recognized_by_the_note_of_the_go_linker() {
    let workshop = Workshop::new();
    let path = workshop.component_with(
        "a.so",
        "__attribute__((used, section(\".note.go.buildid\"), aligned(4))) static const struct {\n\
         uint32_t namesz, descsz, type; char name[4], desc[4]; } go = {4, 4, 4, \"Go\", \"abc\"};\n",
        &[],
    );
    assert!(inspect(&path).unwrap().go_runtime);
    let bytes = patched(sound(), note_name(sound()) + 16, &1u32.to_le_bytes());
    assert!(inspect_bytes(&bytes).unwrap().go_runtime);
}
