//! What a component says about itself, and what of it this host cannot go by.

use std::fs;

use nri_host::component::inspect::ElfError;

use crate::fixture::{Workshop, elf_error, note_name, patched, refusal, refusal_of, sound};

/// The sound component with other bytes at this distance from the name of its note.
fn with_note(at: usize, bytes: &[u8]) -> Vec<u8> {
    patched(sound(), note_name(sound()) + at, bytes)
}

#[test]
fn a_library_without_note_is_no_component() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    let tool = ["objcopy", "--remove-section=.note.nrih"];
    assert_eq!(
        elf_error(&workshop.changed(&path, "b.so", &tool)),
        ElfError::NoNote
    );
    assert_eq!(refusal_of(&["-DNO_NOTE"]), ElfError::NoNote);
}

#[test]
fn two_components_in_one_file_are_refused() {
    let workshop = Workshop::new();
    let second = "static const nrih_note second __attribute__((used, \
                  section(\".note.nrih\"), aligned(4))) = {8, 108, NRIH_NOTE_TYPE, \
                  NRIH_NOTE_NAME, 1, 0, 0, 0, 0, \"dev.example.second\", \"1\"};";
    let path = workshop.component_with("a.so", second, &[]);
    assert_eq!(elf_error(&path), ElfError::SeveralNotes { count: 2 });
}

#[test]
fn another_abi_is_refused_before_anything_else_is_judged() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &["-z", "execstack", "-DNO_DESCRIPTOR"]);
    let bytes = fs::read(path).unwrap();
    let bytes = patched(&bytes, note_name(&bytes) + 8, &2u16.to_le_bytes());
    let error = refusal(&bytes);
    assert_eq!(
        error,
        ElfError::WrongAbi {
            found: 2,
            expected: 1
        }
    );
    assert_eq!(error.to_string(), "is built for ABI 2; this host has ABI 1");
}

#[test]
fn a_component_for_a_newer_host_is_refused() {
    let error = refusal(&with_note(12, &9u16.to_le_bytes()));
    assert_eq!(
        error,
        ElfError::HostTooOld {
            major: 1,
            needed: 9,
            running: 0
        }
    );
}

#[test]
fn flags_that_must_be_understood_are() {
    assert_eq!(
        refusal(&with_note(16, &0x8000_0000u32.to_le_bytes())),
        ElfError::UnknownFlags {
            unknown: 0x8000_0000
        }
    );
    for flag in [0x0001_0000u32, 0x0002_0000] {
        let error = refusal(&with_note(16, &flag.to_le_bytes()));
        assert!(matches!(error, ElfError::NeedsProcess { .. }), "{error}");
    }
}

#[test]
fn texts_that_are_none_are_refused() {
    for (at, bytes) in [
        (20, &[0][..]),
        (20, b"a b"),
        (20, b"\xff"),
        (20, &[b'a'; 64]),
        (84, &[0]),
        (84, b"\x1b[31m"),
        (84, b"\xff\xfe"),
        (84, &[b'1'; 32]),
    ] {
        let error = refusal(&with_note(at, bytes));
        assert!(
            matches!(error, ElfError::BadNote { .. }),
            "{at} {bytes:?}: {error}"
        );
    }
}

#[test]
fn a_note_that_is_too_short_is_refused() {
    let name = note_name(sound());
    let error = refusal(&patched(sound(), name - 8, &100u32.to_le_bytes()));
    assert!(matches!(error, ElfError::BadNote { .. }), "{error}");
}

#[test]
fn a_note_of_another_owner_or_type_is_not_ours() {
    assert_eq!(refusal(&with_note(0, b"NRIGUEST")), ElfError::NoNote);
    let name = note_name(sound());
    assert_eq!(
        refusal(&patched(sound(), name - 4, &7u32.to_le_bytes())),
        ElfError::NoNote
    );
}
