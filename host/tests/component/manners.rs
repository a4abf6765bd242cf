//! What a library must not ask of the process.

use std::fs;

use nri_host::component::inspect::{
    ElfError, GlibcVersion, InspectWarning, inspect, inspect_bytes,
};

use crate::fixture::{
    PT_GNU_STACK, Workshop, elf_error, find, patched, program_header, refusal, refusal_of, sound,
    warnings_of,
};

#[test]
fn an_executable_stack_is_refused() {
    assert_eq!(refusal_of(&["-z", "execstack"]), ElfError::ExecutableStack);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_file_that_says_nothing_about_its_stack_asks_for_an_executable_one() {
    let at = program_header(sound(), PT_GNU_STACK);
    assert_eq!(
        refusal(&patched(sound(), at, &[0; 4])),
        ElfError::ExecutableStack
    );
}

#[test]
fn text_relocations_are_refused() {
    let workshop = Workshop::new();
    let code = "__asm__(\".section .rodata\\n.quad getpid\\n.text\\n\");";
    let path = workshop.component_with("a.so", code, &["-Wl,-z,notext"]);
    assert_eq!(elf_error(&path), ElfError::TextRelocations);
}

#[test]
fn libraries_beside_the_component_cannot_be_found() {
    for arg in [
        "-Wl,-rpath,$ORIGIN/lib",
        "-Wl,-rpath,/opt:${ORIGIN}",
        "-Wl,--disable-new-dtags,-rpath,$ORIGIN",
    ] {
        let error = refusal_of(&[arg]);
        assert!(
            matches!(error, ElfError::OriginPath { .. }),
            "{arg}: {error}"
        );
    }
    let path = "/opt/vendor/lib".to_owned();
    assert_eq!(
        warnings_of(&["-Wl,-rpath,/opt/vendor/lib"]),
        [InspectWarning::SearchPath { path }]
    );
}

#[test]
fn a_newer_glibc_is_named_together_with_the_running_one() {
    let bytes = sound();
    let newest = inspect_bytes(bytes).unwrap().glibc.unwrap();
    // The version of getpid: 2.2.5 on x86-64, 2.17 on aarch64.
    let at = find(bytes, b"GLIBC_2.");
    match refusal(&patched(bytes, at, b"GLIBC_9.")) {
        ElfError::GlibcTooOld { needed, running } => {
            assert_eq!(
                needed,
                GlibcVersion {
                    major: 9,
                    minor: newest.minor
                }
            );
            assert!(running > newest && running < needed);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_version_that_may_be_absent_does_not_count() {
    let at = find(sound(), b"GLIBC_2.");
    let name = sound()[at..].split(|byte| *byte == 0).next().unwrap();
    // The hash of its name begins the entry, the flags follow; 2 is VER_FLG_WEAK.
    let entry = find(sound(), &elf_hash(name).to_le_bytes());
    let newer = patched(sound(), at, b"GLIBC_9.");
    assert!(matches!(refusal(&newer), ElfError::GlibcTooOld { .. }));
    let weak = patched(&newer, entry + 4, &2u16.to_le_bytes());
    assert_eq!(inspect_bytes(&weak).expect("it is accepted").glibc, None);
}

/// As in the System V ABI.
fn elf_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash, byte| {
        let hash = (hash << 4) + u32::from(*byte);
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

/// A component that needs a library of this name.
fn needing(soname: &str) -> Vec<u8> {
    let workshop = Workshop::new();
    let soname = format!("-Wl,-soname,{soname}");
    workshop.compile("libstub.so", "int stub;", &["-shared", &soname]);
    let args = ["-Wl,--no-as-needed", "-lstub"];
    fs::read(workshop.component("a.so", &args)).expect("it was just compiled")
}

#[test]
fn a_component_for_musl_is_refused() {
    for library in ["libc.musl-x86_64.so.1", "libc.so"] {
        let error = refusal(&needing(library));
        assert_eq!(
            error,
            ElfError::Musl {
                library: library.to_owned()
            }
        );
    }
}

#[test]
fn a_library_that_is_not_of_the_system_is_odd() {
    let contents = inspect_bytes(&needing("libvendor.so.1")).unwrap();
    let library = "libvendor.so.1".to_owned();
    assert!(contents.needed.contains(&library));
    assert_eq!(
        contents.warnings,
        [InspectWarning::NeedsLibrary { library }]
    );
}

#[test]
fn much_static_thread_local_storage_is_odd() {
    let with = |len: usize| {
        let workshop = Workshop::new();
        let code = format!(
            "static __thread char tls[{len}] __attribute__((tls_model(\"initial-exec\")));\n\
             __attribute__((used)) static char *where(void) {{ return tls; }}"
        );
        inspect(&workshop.component_with("a.so", &code, &[]))
            .unwrap()
            .warnings
    };
    assert_eq!(with(8), []);
    assert_eq!(with(4096), [InspectWarning::StaticTls { bytes: 4096 }]);
}
