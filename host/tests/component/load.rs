//! What is loaded is what was inspected, and what cannot be used is refused without harm.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::fixture::{Workshop, note_name, patched};
use nri_host::child::Refusal;
use nri_host::component::inspect::{Inspected, inspect};
use nri_host::component::load::{DescriptorError, Libraries, LoadError, Probe, ProbeError};

fn inspected(path: &Path) -> Inspected {
    inspect(path).expect("it is fit to be loaded")
}

fn libraries(workshop: &Workshop) -> Libraries {
    let probe = Probe::new(env!("CARGO_BIN_EXE_nri-host").into());
    Libraries::new(workshop.path("state"), probe)
}

/// Why a component compiled like this is not loaded.
fn refusal(args: &[&str]) -> Arc<LoadError> {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", args);
    libraries(&workshop)
        .load(&inspected(&path))
        .expect_err("it is refused")
}

#[test]
fn a_component_is_loaded_as_its_descriptor_says() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &["-DMETHODS=0x30"]);
    let inspected = inspected(&path);
    let library = libraries(&workshop).load(&inspected).unwrap();
    assert_eq!(library.path, inspected.path);
    assert_eq!(library.digest, inspected.digest);
    assert_eq!(
        (library.id.as_str(), library.version.as_str()),
        ("dev.example.fixture", "1.2.3")
    );
    assert_eq!((library.methods, library.flags), (0x30, 0));
    assert!(library.border.get_interface.is_none());
}

#[test]
fn each_library_is_itself() {
    // Were the descriptor of a copy closed, its number would come again, and with it the name by
    // which the dynamic loader knows the first library.
    let workshop = Workshop::new();
    let libraries = libraries(&workshop);
    for methods in 1..=4u64 {
        let path = workshop.component(&format!("{methods}.so"), &[&format!("-DMETHODS={methods}")]);
        assert_eq!(libraries.load(&inspected(&path)).unwrap().methods, methods);
    }
}

#[test]
fn equal_files_are_loaded_once() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &[]);
    let copy = workshop.file("b.so", &fs::read(&path).unwrap());
    let libraries = libraries(&workshop);
    let first = libraries.load(&inspected(&path)).unwrap();
    let second = libraries.load(&inspected(&copy)).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn a_changed_file_is_loaded_beside_the_old_one() {
    let workshop = Workshop::new();
    let libraries = libraries(&workshop);
    let old = libraries
        .load(&inspected(&workshop.component("a.so", &["-DMETHODS=1"])))
        .unwrap();
    let new = libraries
        .load(&inspected(&workshop.component("a.so", &["-DMETHODS=2"])))
        .unwrap();
    assert_eq!((old.methods, new.methods), (1, 2));
    assert_eq!(old.path, new.path);
}

#[test]
fn what_happens_to_the_file_after_inspection_changes_nothing() {
    let workshop = Workshop::new();
    let path = workshop.component("a.so", &["-DMETHODS=5"]);
    let inspected = inspected(&path);
    fs::write(&path, "").unwrap();
    assert_eq!(libraries(&workshop).load(&inspected).unwrap().methods, 5);
}

#[test]
fn no_code_runs_before_the_file_is_loaded() {
    let workshop = Workshop::new();
    let marker = workshop.path("marker");
    let marker_arg = format!("-DMARKER=\"{}\"", marker.display());
    let path = workshop.component("a.so", &[&marker_arg]);
    let bytes = fs::read(&path).unwrap();
    let other_abi = patched(&bytes, note_name(&bytes) + 8, &2u16.to_le_bytes());
    inspect(&workshop.file("b.so", &other_abi)).expect_err("it is for another host");
    let inspected = inspected(&path);
    assert!(!marker.exists());
    libraries(&workshop).load(&inspected).unwrap();
    assert!(marker.exists());
}

#[test]
fn a_missing_function_is_found_when_the_library_is_loaded() {
    let workshop = Workshop::new();
    let code = "extern int nobody_has_this(void);\n\
                __attribute__((used)) static int call(void) { return nobody_has_this(); }";
    let path = workshop.component_with("a.so", code, &[]);
    let error = libraries(&workshop)
        .load(&inspected(&path))
        .expect_err("it is refused");
    assert!(error.to_string().contains("nobody_has_this"), "{error}");
}

#[test]
fn a_descriptor_that_cannot_be_used_is_refused() {
    let differs = |what| DescriptorError::DiffersFromNote { what };
    for (arg, expected) in [
        ("-DMAGIC=42", DescriptorError::BadMagic { found: 42 }),
        ("-DSTRUCT_SIZE=40", DescriptorError::TooSmall { size: 40 }),
        ("-DMAJOR=2", DescriptorError::WrongAbi { found: 2 }),
        (
            "-DHANDLE=0",
            DescriptorError::NoFunction { function: "handle" },
        ),
        ("-DDESCRIPTOR_ID=\"dev.example.fixtures\"", differs("id")),
        ("-DDESCRIPTOR_ID=\"\"", differs("id")),
        ("-DDESCRIPTOR_ID=0", differs("id")),
        ("-DDESCRIPTOR_VERSION=\"1.2.30\"", differs("version")),
        ("-DDESCRIPTOR_FLAGS=2", differs("flags")),
    ] {
        match &*refusal(&[arg]) {
            LoadError::Probe(ProbeError::Refused(Refusal { reason, .. })) => {
                assert!(reason.ends_with(&expected.to_string()), "{arg}: {reason}");
            }
            other => panic!("{arg}: {other}"),
        }
    }
}

#[test]
fn fields_behind_the_end_of_a_descriptor_are_not_read() {
    // The descriptor ends with destroy, and what follows it is not a function.
    let code = r#"
        __attribute__((used)) const nrih_component short_component = {
          NRIH_MAGIC, offsetof(nrih_component, get_interface), 1, 0, 0, 0, ID, VERSION, 8,
          create, handle, destroy, (const void *(*)(const char *, size_t))1
        };
        __asm__(".globl nrih_component_v1\n.set nrih_component_v1, short_component");
    "#;
    let workshop = Workshop::new();
    let path = workshop.component_with("a.so", code, &["-DNO_DESCRIPTOR"]);
    let library = libraries(&workshop).load(&inspected(&path)).unwrap();
    assert_eq!(library.methods, 8);
    assert!(library.border.get_interface.is_none());
}

#[test]
fn a_library_for_one_instance_serves_one_at_a_time() {
    let workshop = Workshop::new();
    let libraries = libraries(&workshop);
    let one = inspected(&workshop.component("a.so", &["-DFLAGS=NRIH_FLAG_ONE_INSTANCE"]));
    let first = libraries.load(&one).unwrap();
    let error = libraries.load(&one).expect_err("it serves one already");
    assert!(matches!(*error, LoadError::OneInstance), "{error}");
    drop(first);
    libraries.load(&one).expect("it serves none any more");
}

#[test]
fn a_second_go_runtime_is_refused() {
    let workshop = Workshop::new();
    let libraries = libraries(&workshop);
    let go = |methods| {
        let args = [
            &format!("-DMETHODS={methods}"),
            "-DFLAGS=NRIH_FLAG_GO_RUNTIME",
        ];
        inspected(&workshop.component(&format!("{methods}.so"), &args))
    };
    let first = go(1);
    let held = libraries.load(&first).unwrap();
    let error = libraries.load(&go(2)).expect_err("there is one already");
    assert!(error.to_string().contains("1.so"), "{error}");
    assert!(Arc::ptr_eq(&held, &libraries.load(&first).unwrap()));
}

#[test]
fn the_private_copy_is_a_memory_file_where_the_kernel_allows_it() {
    let workshop = Workshop::new();
    let path = workshop.component("libvisible.so", &[]);
    libraries(&workshop).load(&inspected(&path)).unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let in_memory = maps
        .lines()
        .any(|line| line.contains("/memfd:libvisible.so"));
    assert!(
        in_memory || workshop.path("state/libraries").exists(),
        "{maps}"
    );
}
