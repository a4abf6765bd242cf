//! Files that are not libraries for this host, or only parts of one.

use nri_host::component::inspect::{ElfError, inspect_bytes};

use crate::fixture::{
    PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, Workshop, elf_error, patched, program_header, refusal, sound,
};

#[test]
fn what_is_not_elf_is_called_so() {
    for bytes in [&b""[..], b"\x7fEL", b"#!/bin/sh\n", b"{}", &[0; 100]] {
        assert_eq!(refusal(bytes), ElfError::NotElf);
    }
    assert_eq!(ElfError::NotElf.to_string(), "is not an ELF file");
}

#[test]
fn a_32_bit_library_is_refused() {
    assert_eq!(refusal(&patched(sound(), 4, &[1])), ElfError::WrongClass);
}

#[test]
fn another_machine_is_named() {
    for (machine, name) in [
        (3u16, "x86"),
        (40, "arm"),
        (243, "riscv"),
        (9999, "number 9999"),
    ] {
        match refusal(&patched(sound(), 18, &machine.to_le_bytes())) {
            ElfError::WrongMachine { found, .. } => assert_eq!(found, name),
            other => panic!("{other}"),
        }
    }
    let error = refusal(&patched(sound(), 5, &[2]));
    assert!(matches!(error, ElfError::WrongMachine { .. }), "{error}");
}

#[test]
fn only_shared_libraries_are_accepted() {
    let workshop = Workshop::new();
    let source = "int main(void) { return 0; }";
    let program = workshop.compile("program", source, &["-no-pie", "-fno-pic"]);
    let object = workshop.compile("object", source, &["-c"]);
    // A position-independent program is of the same ELF type as a library.
    let relocatable = workshop.component_program("pie", source);
    for (path, found) in [
        (program, "a program"),
        (object, "an object file"),
        (relocatable, "a program"),
    ] {
        assert_eq!(elf_error(&path), ElfError::NotSharedLibrary { found });
    }
}

#[test]
fn a_file_that_was_cut_off_is_recognized_wherever_that_was() {
    let whole = sound();
    for place in 1..=20 {
        let len = whole.len() * place / 21;
        let error = refusal(&whole[..len]);
        assert!(
            matches!(error, ElfError::Truncated { len: found, .. } if found == len as u64),
            "{len} of {}: {error}",
            whole.len()
        );
    }
    for len in [4, 63, 64, 65, whole.len() - 1] {
        let error = refusal(&whole[..len]);
        assert!(
            matches!(error, ElfError::Truncated { .. }),
            "{len}: {error}"
        );
    }
}

#[test]
fn a_stripped_file_that_was_cut_off_is_recognized_without_a_section_table() {
    // e_shoff, e_shnum and e_shstrndx are 0, as after sstrip.
    let bytes = patched(&patched(sound(), 40, &[0; 8]), 60, &[0; 4]);
    inspect_bytes(&bytes).expect("it is accepted");
    let (offset, _) = dynamic_entries(&bytes)[0];
    for len in [offset, offset + 8, 200, 4096] {
        let error = refusal(&bytes[..len]);
        assert!(
            matches!(error, ElfError::Truncated { .. }),
            "{len}: {error}"
        );
    }
}

#[test]
fn headers_that_would_lead_the_loader_astray_are_refused() {
    let bytes = sound();
    let load = program_header(bytes, PT_LOAD);
    let dynamic = program_header(bytes, PT_DYNAMIC);
    for (what, bytes) in [
        (
            "segment beyond the addresses",
            patched(bytes, load + 40, &[0xff; 8]),
        ),
        (
            "segment larger in the file",
            patched(bytes, load + 40, &[0; 8]),
        ),
        (
            "segments out of order",
            patched(bytes, load + 16, &[0, 0, 0, 1, 0, 0, 0, 0]),
        ),
        ("no dynamic table", patched(bytes, dynamic, &[0; 4])),
        (
            "dynamic table elsewhere",
            patched(bytes, dynamic + 16, &[0xf0; 6]),
        ),
        ("no program headers", patched(bytes, 56, &[0; 2])),
        ("odd program headers", patched(bytes, 54, &[57, 0])),
        ("unknown ELF version", patched(bytes, 6, &[9])),
    ] {
        let error = refusal(&bytes);
        assert!(matches!(error, ElfError::Damaged { .. }), "{what}: {error}");
    }
}

#[test]
fn write_protection_beyond_the_own_segments_is_refused() {
    let relro = program_header(sound(), PT_GNU_RELRO);
    for (what, at, value) in [
        ("another address", relro + 16, 0x70_0000u64),
        ("another size", relro + 40, 0x70_0000),
    ] {
        let error = refusal(&patched(sound(), at, &value.to_le_bytes()));
        assert!(matches!(error, ElfError::Damaged { .. }), "{what}: {error}");
    }
}

/// The place of each entry of the dynamic table, with its tag.
fn dynamic_entries(bytes: &[u8]) -> Vec<(usize, u64)> {
    let number = |at: usize| {
        let number = bytes[at..at + 8]
            .try_into()
            .expect("eight bytes are eight bytes");
        u64::from_le_bytes(number)
    };
    let table = number(program_header(bytes, PT_DYNAMIC) + 8);
    let table = usize::try_from(table).expect("it is an offset in the file");
    (table..)
        .step_by(16)
        .map(|at| (at, number(at)))
        .take_while(|(_, tag)| *tag != 0)
        .collect()
}

#[test]
fn tables_outside_the_file_are_refused() {
    // STRTAB, SYMTAB, RELA, INIT, FINI, INIT_ARRAY, FINI_ARRAY, GNU_HASH, VERSYM, VERNEED
    let addresses = [
        5,
        6,
        7,
        12,
        13,
        25,
        26,
        0x6fff_fef5,
        0x6fff_fff0,
        0x6fff_fffe,
    ];
    let mut seen = 0;
    for (at, tag) in dynamic_entries(sound()) {
        if addresses.contains(&tag) {
            seen += 1;
            let error = refusal(&patched(sound(), at + 8, &[0x7f; 8]));
            assert!(
                matches!(error, ElfError::Damaged { .. }),
                "{tag:#x}: {error}"
            );
        }
    }
    assert_eq!(seen, addresses.len());
}

#[test]
fn tables_of_other_dimensions_are_refused() {
    // RELASZ, RELAENT, STRSZ, SYMENT, INIT_ARRAYSZ
    let sizes = [8, 9, 10, 11, 27];
    let mut seen = 0;
    for (at, tag) in dynamic_entries(sound()) {
        if sizes.contains(&tag) {
            seen += 1;
            let error = refusal(&patched(sound(), at + 8, &0x7_0007u64.to_le_bytes()));
            assert!(
                matches!(error, ElfError::Damaged { .. }),
                "{tag:#x}: {error}"
            );
        }
    }
    assert_eq!(seen, sizes.len());
}
