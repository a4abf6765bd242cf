//! Brings inspected libraries into the process, for ever.
//!
//! At first sight of a file, a throw-away process loads it: constructors run before anybody can
//! object, and one that crashes, exits or never returns takes its process with it.
//!
//! What is loaded is a private copy of the bytes that were inspected. So nobody can change the code
//! under the process by overwriting the file, and a changed file can be loaded beside the old one:
//! `dlopen` of the same path would return what is there already.
//!
//! Nothing is ever unloaded: threads, thread-local destructors and exit handlers of a library keep
//! pointing into it. The descriptor of the copy stays open just as long, because the dynamic loader
//! tells libraries apart by name first, and `/proc/self/fd/N` must not come to mean another file.
#![expect(unsafe_code, reason = "this is where the dynamic loader is called")]

mod descriptor;
mod libraries;
mod place;
mod private_copy;
mod probe;
mod verdicts;

use std::ffi::{CStr, c_void};
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd as _, IntoRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nri_plugin_api::abi;
use thiserror::Error;

use super::inspect::{ComponentNote, Digest, GlibcVersion};
pub use descriptor::DescriptorError;
pub(crate) use descriptor::Mapped;
pub use libraries::{Libraries, LoadError};
pub use place::Place;
pub use private_copy::CopyError;
pub use probe::{PROBE_LIMIT, Printed, Probe, ProbeError};

/// `create` of a component.
pub type CreateFn = unsafe extern "C" fn(
    host: *const abi::HostTable,
    args: *const abi::CreateArgs,
    instance: *mut *mut c_void,
) -> abi::Status;
/// `handle` of a component.
pub type HandleFn =
    unsafe extern "C" fn(instance: *mut c_void, request: *const abi::Request) -> abi::Status;
/// `destroy` of a component.
pub type DestroyFn = unsafe extern "C" fn(instance: *mut c_void);
/// `get_interface` of a component.
pub type GetInterfaceFn = unsafe extern "C" fn(id: *const u8, len: usize) -> *const c_void;

/// The functions of a component; what each promises is written in `nri_component.h`.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Makes an instance.
    pub create: CreateFn,
    /// Serves a request.
    pub handle: HandleFn,
    /// Ends an instance.
    pub destroy: DestroyFn,
    /// Looks up an interface of the component.
    pub get_interface: Option<GetInterfaceFn>,
}

/// A library that is mapped into the process and stays there.
#[derive(Debug)]
pub struct Library {
    /// Where the file was when it was read.
    pub path: PathBuf,
    /// What was loaded.
    pub digest: Digest,
    /// Reverse-DNS name of the component.
    pub id: String,
    /// The component's own version.
    pub version: String,
    /// See [`abi::flags`].
    pub flags: u32,
    /// [`abi::Method::bit`] of each method that the component handles.
    pub methods: u64,
    /// The component's functions.
    pub border: Border,
    /// See [`Place`].
    taken: AtomicBool,
}

/// Why the dynamic loader's work comes to nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The dynamic loader refused the file.
    #[error("cannot be loaded")]
    Open(#[source] libloading::Error),
    /// The dynamic loader does not find what the file exports.
    #[error("its descriptor cannot be found")]
    NoDescriptor(#[source] libloading::Error),
    /// A library that this one needs is a component, this one is not.
    #[error("its descriptor is not its own but one of a library that it needs")]
    ForeignDescriptor,
    /// The descriptor does not hold what it should.
    #[error("its descriptor cannot be used")]
    Descriptor(#[from] DescriptorError),
}

/// Ends of the dynamic loader's messages when the system was short of something: it tells no error
/// number. The process sets no locale, so the words are those of the C library.
const SHORTAGES: [&str; 4] = [
    "Cannot allocate memory",
    "Resource temporarily unavailable",
    "Too many open files",
    "Too many open files in system",
];

impl MapError {
    /// The system was short of something, which says nothing about the file.
    pub fn is_shortage(&self) -> bool {
        let Self::Open(error) = self else {
            return false;
        };
        let text = crate::chain(error);
        SHORTAGES.iter().any(|shortage| text.ends_with(shortage))
    }
}

/// The glibc that this process runs on; `None` if its version cannot be read.
pub(crate) fn running_glibc() -> Option<GlibcVersion> {
    // SAFETY: the function has no conditions and returns a constant string of the C library.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    GlibcVersion::parse(version.to_str().ok()?)
}

/// Maps a library into the process for ever. Its constructors run on the calling thread; glibc
/// loads one library at a time.
///
/// `fd` holds bytes that were inspected and that nobody can change, and `note` is theirs.
///
/// # Errors
///
/// Says why it is no component. What the dynamic loader has mapped by then stays mapped.
pub(crate) fn map(fd: OwnedFd, note: &ComponentNote) -> Result<Mapped, MapError> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    // Open for as long as the library is mapped, which is as long as the process lives.
    let _ = fd.into_raw_fd();
    // RTLD_NOW: a missing function is an error here instead of the end of the process when it is
    // called. RTLD_LOCAL: components do not see each other's symbols.
    //
    // SAFETY: this runs the constructors of the library, and no Rust rule binds those. They have
    // the rights of this process, so the file was checked: only root or the user of this process
    // can have put it there, its headers are sound, and it says that it is a component for this
    // border, which forbids constructors to disturb the process. Nothing more can be known.
    let library = unsafe { unix::Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(MapError::Open)?;
    // SAFETY: the header declares the symbol as a constant, so its address is the address of one;
    // nothing is read from it here. The library is never closed.
    let address = unsafe { library.get::<*const abi::Descriptor>(abi::COMPONENT_SYMBOL) }
        .map(|symbol| *symbol)
        .map_err(MapError::NoDescriptor);
    // Closing would run its destructors.
    let _ = library.into_raw();
    let address = address?;
    if !belongs_to(address, &path) {
        return Err(MapError::ForeignDescriptor);
    }
    // SAFETY: the address is that of the symbol in the library that was just loaded and is never
    // unloaded. Its note says that it is built for this major version of the border, so the symbol
    // is a constant of the layout that the header gives.
    Ok(unsafe { descriptor::read(address, note) }?)
}

/// Whether an address lies in the library that was loaded under this name. `dlsym` also looks into
/// the libraries that it needs.
fn belongs_to(address: *const abi::Descriptor, path: &str) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: any address may be asked about; info is writable.
    let found = unsafe { libc::dladdr(address.cast(), info.as_mut_ptr()) };
    if found == 0 {
        return false;
    }
    // SAFETY: dladdr has filled it in, as it did not return 0.
    let name = unsafe { info.assume_init() }.dli_fname;
    // SAFETY: the name is a string of the dynamic loader that lives as long as the library, which
    // is never unloaded; it is null only if nothing was found.
    !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes() == path.as_bytes()
}

/// Whether the kernel lets this process execute what is in the file.
fn may_be_executed(file: &OwnedFd, len: NonZeroUsize) -> bool {
    let protection = ProtFlags::PROT_READ | ProtFlags::PROT_EXEC;
    // SAFETY: a new private mapping at an address of the kernel's choice replaces no other.
    let mapping = unsafe { mmap(None, len, protection, MapFlags::MAP_PRIVATE, file, 0) };
    match mapping {
        // SAFETY: the mapping was made above with this length, and nothing points into it.
        Ok(mapping) => unsafe { munmap(mapping, len.get()) }.is_ok(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::super::inspect::inspect;
    use super::private_copy::PrivateCopy;
    use super::*;

    const SOURCE: &str = r#"
#include <nri_component.h>
NRIH_DEFINE_NOTE("dev.example.disk", "1", 0);
static int32_t create(const nrih_host *h, const nrih_create_args *a, void **i) {
  (void)h; (void)a; (void)i;
  return NRIH_FAILED;
}
static int32_t handle(void *i, const nrih_request *r) { (void)i; (void)r; return NRIH_FAILED; }
static void destroy(void *i) { (void)i; }
const nrih_component nrih_component_v1 = {
  NRIH_MAGIC, sizeof(nrih_component), NRIH_ABI_MAJOR, NRIH_ABI_MINOR, 0, 0,
  "dev.example.disk", "1", 0x10, create, handle, destroy, 0
};
"#;

    fn compile(dir: &Path, name: &str, source: &str, args: &[&str]) -> PathBuf {
        let (file, library) = (dir.join(format!("{name}.c")), dir.join(name));
        fs::write(&file, source).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-I"])
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../plugin-api/include"
            ))
            .arg("-o")
            .args([&library, &file])
            .args(args)
            .status()
            .unwrap();
        assert!(compiled.success());
        library
    }

    /// Elsewhere the tests see memory files only: no test can forbid the kernel to execute them.
    #[test]
    fn a_copy_on_disk_can_be_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let inspected = inspect(&compile(dir.path(), "a.so", SOURCE, &[])).unwrap();
        let copy = PrivateCopy::on_disk(&inspected.bytes, dir.path()).unwrap();
        let mapped = map(copy.into_file(), &inspected.note).unwrap();
        assert_eq!(mapped.methods, 0x10);
    }

    /// The dynamic loader ends its messages with the words of the C library.
    #[test]
    fn the_words_of_a_shortage_are_those_of_the_c_library() {
        for number in [libc::ENOMEM, libc::EAGAIN, libc::EMFILE, libc::ENFILE] {
            let text = std::io::Error::from_raw_os_error(number).to_string();
            let (words, _) = text.split_once(" (os error").unwrap();
            assert!(SHORTAGES.contains(&words), "{words}");
        }
    }

    /// Inspection finds this too, so such a file comes no further than that.
    #[test]
    fn the_descriptor_of_a_needed_library_is_not_taken_for_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let soname = ["-Wl,-soname,libneeded.so"];
        let needed = inspect(&compile(dir.path(), "libneeded.so", SOURCE, &soname)).unwrap();
        let rpath = format!("-Wl,--no-as-needed,-rpath,{}", dir.path().display());
        let folder = format!("-L{}", dir.path().display());
        let source = "int nothing_of_a_component;";
        let args = [&rpath, &folder, "-lneeded"];
        let other = compile(dir.path(), "other.so", source, &args);
        let error = map(fs::File::open(other).unwrap().into(), &needed.note).err();
        assert!(
            matches!(error, Some(MapError::ForeignDescriptor)),
            "{error:?}"
        );
    }
}
