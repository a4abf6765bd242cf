//! What a library may offer to others.

use nri_host::component::inspect::{ElfError, InspectWarning, inspect};

use crate::fixture::{Workshop, elf_error, refusal_of};

#[test]
fn a_component_without_descriptor_is_refused() {
    let error = refusal_of(&["-DNO_DESCRIPTOR"]);
    assert_eq!(
        error,
        ElfError::NoDescriptor {
            symbol: "nrih_component_v1"
        }
    );
}

#[test]
fn a_hidden_descriptor_is_none() {
    let workshop = Workshop::new();
    let script = workshop.file("hide.map", b"{ local: *; };");
    let script = format!("-Wl,--version-script={}", script.display());
    let error = elf_error(&workshop.component("a.so", &[&script]));
    assert!(matches!(error, ElfError::NoDescriptor { .. }), "{error}");
}

#[test]
fn an_allocator_for_everybody_is_refused() {
    for symbol in ["malloc", "free", "calloc", "realloc"] {
        let workshop = Workshop::new();
        let code = format!("NRIH_EXPORT void *{symbol}() {{ return 0; }}");
        let path = workshop.component_with("a.so", &code, &["-fno-builtin", "-w"]);
        assert_eq!(elf_error(&path), ElfError::ExportsAllocator { symbol });
    }
}

#[test]
fn further_exports_are_odd() {
    let workshop = Workshop::new();
    let code = "NRIH_EXPORT int a, b, c; NRIH_EXPORT int d(void); \
                NRIH_EXPORT int d(void) { return 0; }";
    match &inspect(&workshop.component_with("a.so", code, &[]))
        .unwrap()
        .warnings[..]
    {
        [InspectWarning::MoreExports { count: 4, some }] => assert_eq!(some.len(), 3),
        other => panic!("{other:?}"),
    }
}
