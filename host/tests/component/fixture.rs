//! Components made on the spot: a small C source, compiled with whatever is to be wrong with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use nri_host::component::inspect::{
    ElfError, InspectError, InspectWarning, inspect, inspect_bytes,
};
use tempfile::TempDir;

/// The source. Each macro is one thing that a test may want to be different.
const SOURCE: &str = r#"
#include <unistd.h>
#include <nri_component.h>

#ifndef ID
#define ID "dev.example.fixture"
#endif
#ifndef VERSION
#define VERSION "1.2.3"
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef METHODS
#define METHODS NRIH_METHOD_BIT(NRIH_METHOD_CREATE_CONTAINER)
#endif
#ifndef MAGIC
#define MAGIC NRIH_MAGIC
#endif
#ifndef STRUCT_SIZE
#define STRUCT_SIZE sizeof(nrih_component)
#endif
#ifndef MAJOR
#define MAJOR NRIH_ABI_MAJOR
#endif
#ifndef DESCRIPTOR_ID
#define DESCRIPTOR_ID ID
#endif
#ifndef DESCRIPTOR_VERSION
#define DESCRIPTOR_VERSION VERSION
#endif
#ifndef DESCRIPTOR_FLAGS
#define DESCRIPTOR_FLAGS FLAGS
#endif
#ifndef HANDLE
#define HANDLE handle
#endif

#ifndef NO_NOTE
NRIH_DEFINE_NOTE(ID, VERSION, FLAGS);
#endif

int32_t create(const nrih_host *host, const nrih_create_args *args, void **instance) {
  (void)host; (void)args;
  *instance = 0;
  return getpid() > 0 ? NRIH_OK : NRIH_FAILED;
}
int32_t handle(void *instance, const nrih_request *request) {
  (void)instance; (void)request;
  return NRIH_UNSUPPORTED;
}
void destroy(void *instance) { (void)instance; }

#ifdef CREATE
int32_t CREATE(const nrih_host *host, const nrih_create_args *args, void **instance);
#else
#define CREATE create
#endif

#ifdef GET_INTERFACE
const void *GET_INTERFACE(const char *id, size_t len);
#else
#define GET_INTERFACE 0
#endif

#ifndef NO_DESCRIPTOR
const nrih_component nrih_component_v1 = {
  MAGIC, STRUCT_SIZE, MAJOR, NRIH_ABI_MINOR, DESCRIPTOR_FLAGS, 0,
  DESCRIPTOR_ID, DESCRIPTOR_VERSION, METHODS, CREATE, HANDLE, destroy, GET_INTERFACE
};
#endif

#ifdef MARKER
#include <fcntl.h>
__attribute__((constructor)) static void mark(void) { close(open(MARKER, O_CREAT | O_WRONLY, 0600)); }
#endif
"#;

/// A folder for one test's libraries.
pub(crate) struct Workshop {
    dir: TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self {
            dir: TempDir::new().expect("a temporary folder can be made"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles the component. `args` go to the compiler: `-DNAME=VALUE` for the source, or
    /// anything else that it knows.
    pub(crate) fn component(&self, name: &str, args: &[&str]) -> PathBuf {
        self.compile(
            name,
            SOURCE,
            &[&["-fvisibility=hidden", "-shared"], args].concat(),
        )
    }

    /// Compiles a component that also has `code`.
    pub(crate) fn component_with(&self, name: &str, code: &str, args: &[&str]) -> PathBuf {
        let source = format!("{SOURCE}\n{code}\n");
        self.compile(
            name,
            &source,
            &[&["-fvisibility=hidden", "-shared"], args].concat(),
        )
    }

    /// Compiles a program that has all of a component, and `code` with its `main`.
    pub(crate) fn component_program(&self, name: &str, code: &str) -> PathBuf {
        self.compile(name, &format!("{SOURCE}\n{code}\n"), &["-pie"])
    }

    /// Compiles any C source.
    pub(crate) fn compile(&self, name: &str, source: &str, args: &[&str]) -> PathBuf {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-api/include");
        let file = self.path(&format!("{name}.c"));
        let output = self.path(name);
        fs::write(&file, source).expect("the source can be written");
        let mut command = Command::new("cc");
        command
            .args(["-std=gnu99", "-Wall", "-fPIC", "-o"])
            .arg(&output)
            .arg(&file);
        command
            .arg("-I")
            .arg(include)
            .arg(format!("-L{}", self.dir.path().display()));
        run(command.args(args));
        output
    }

    /// Runs a tool on a copy of a file and returns the copy.
    pub(crate) fn changed(&self, file: &Path, name: &str, tool: &[&str]) -> PathBuf {
        let output = self.path(name);
        fs::copy(file, &output).expect("the file can be copied");
        run(Command::new(tool[0]).args(&tool[1..]).arg(&output));
        output
    }

    /// Writes bytes to a file.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("the file can be written");
        path
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("the tool is there");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Puts other bytes at a place.
pub(crate) fn patched(bytes: &[u8], at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

/// Where a sequence first occurs.
pub(crate) fn find(bytes: &[u8], sequence: &[u8]) -> usize {
    bytes
        .windows(sequence.len())
        .position(|window| window == sequence)
        .expect("the sequence is there")
}

/// Where the name of the component's note is.
pub(crate) fn note_name(bytes: &[u8]) -> usize {
    find(bytes, b"NRIHOST\0")
}

/// A sound component.
pub(crate) fn sound() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        fs::read(Workshop::new().component("sound.so", &[])).expect("it was just compiled")
    })
}

pub(crate) fn elf_error(path: &Path) -> ElfError {
    match inspect(path) {
        Err(InspectError::Elf(error)) => error,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refusal(bytes: &[u8]) -> ElfError {
    inspect_bytes(bytes).expect_err("it is refused")
}

/// What is refused of a component compiled like this.
pub(crate) fn refusal_of(args: &[&str]) -> ElfError {
    elf_error(&Workshop::new().component("a.so", args))
}

pub(crate) fn warnings_of(args: &[&str]) -> Vec<InspectWarning> {
    inspect(&Workshop::new().component("a.so", args))
        .expect("it is accepted")
        .warnings
}

/// The place of the program header of this type.
pub(crate) fn program_header(bytes: &[u8], kind: u32) -> usize {
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (size, count) = (usize::from(number(54)), usize::from(number(56)));
    (0..count)
        .map(|index| 64 + index * size)
        .find(|at| bytes[*at..at + 4] == kind.to_le_bytes())
        .expect("there is such a segment")
}

pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_DYNAMIC: u32 = 2;
pub(crate) const PT_NOTE: u32 = 4;
pub(crate) const PT_GNU_STACK: u32 = 0x6474_e551;
pub(crate) const PT_GNU_RELRO: u32 = 0x6474_e552;
