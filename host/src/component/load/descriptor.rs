//! Reads the one constant that a component exports.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;

use nri_plugin_api::abi::{self, Descriptor};
use thiserror::Error;

use super::super::inspect::ComponentNote;
use super::Border;

/// A descriptor reaches at least to here: all up to `destroy` has been there from the beginning.
const REQUIRED_SIZE: usize = offset_of!(Descriptor, get_interface);
const SIZE_WITH_GET_INTERFACE: usize = REQUIRED_SIZE + size_of::<*const ()>();

/// Why a descriptor cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// The symbol is not where a descriptor could be.
    #[error("its address is not aligned")]
    Misaligned,
    /// The symbol is something else.
    #[error("does not begin with NRIH_MAGIC but with {found:#018x}")]
    BadMagic {
        /// What it begins with.
        found: u64,
    },
    /// It ends before its required fields do.
    #[error("is {size} bytes long (expected {REQUIRED_SIZE} or more)")]
    TooSmall {
        /// Its own word for its size.
        size: u32,
    },
    /// It is built for another border than the note says.
    #[error("is built for ABI {found} (expected {expected})", expected = abi::ABI_MAJOR)]
    WrongAbi {
        /// Its major version.
        found: u16,
    },
    /// A function that must be there is not.
    #[error("has no function {function}")]
    NoFunction {
        /// Which.
        function: &'static str,
    },
    /// What the file says without being loaded is not what it says now.
    #[error("has another {what} than the note")]
    DiffersFromNote {
        /// What is different.
        what: &'static str,
    },
}

/// What the host takes from the descriptor of a library that is mapped.
pub(crate) struct Mapped {
    /// [`Method::bit`](abi::Method::bit) of each method that the component handles.
    pub(super) methods: u64,
    /// Its functions.
    pub(super) border: Border,
}

/// Reads a descriptor and compares it with the note. Each field is read by itself through the raw
/// pointer: a reference would claim more than the component may have.
///
/// # Safety
///
/// `descriptor` is the address of a constant with the layout of [`Descriptor`] as far as its
/// `struct_size` goes, and its texts end with a NUL; all of it lives as long as the process.
pub(super) unsafe fn read(
    descriptor: *const Descriptor,
    note: &ComponentNote,
) -> Result<Mapped, DescriptorError> {
    if descriptor.is_null() || !descriptor.is_aligned() {
        return Err(DescriptorError::Misaligned);
    }
    // SAFETY: magic and struct_size come first and are in every version.
    let (magic, size) = unsafe { ((*descriptor).magic, (*descriptor).struct_size) };
    if magic != abi::MAGIC {
        return Err(DescriptorError::BadMagic { found: magic });
    }
    let len = usize::try_from(size).unwrap_or(usize::MAX);
    if len < REQUIRED_SIZE {
        return Err(DescriptorError::TooSmall { size });
    }
    // SAFETY: all fields up to get_interface are there; the rest is promised by the caller.
    unsafe {
        check_identity(descriptor, note)?;
        read_functions(descriptor, len)
    }
}

/// # Safety
///
/// As for [`read`]; all required fields are there.
unsafe fn check_identity(
    descriptor: *const Descriptor,
    note: &ComponentNote,
) -> Result<(), DescriptorError> {
    // SAFETY: the fields are there, and the texts end with a NUL, as the caller promises.
    let (found, flags, id_fits, version_fits) = unsafe {
        (
            (*descriptor).abi_major,
            (*descriptor).flags,
            is_text((*descriptor).id, &note.id),
            is_text((*descriptor).version, &note.version),
        )
    };
    if found != abi::ABI_MAJOR {
        return Err(DescriptorError::WrongAbi { found });
    }
    let differing = [
        ("id", id_fits),
        ("version", version_fits),
        ("flags", flags == note.flags),
    ]
    .into_iter()
    .find(|(_, fits)| !fits);
    match differing {
        Some((what, _)) => Err(DescriptorError::DiffersFromNote { what }),
        None => Ok(()),
    }
}

/// # Safety
///
/// As for [`read`]; all required fields are there, and those that end within `len`.
unsafe fn read_functions(
    descriptor: *const Descriptor,
    len: usize,
) -> Result<Mapped, DescriptorError> {
    // SAFETY: the fields are there. A null pointer is None; anything else that a component puts
    // there is a function of the type in the header, as the caller promises.
    let (methods, create, handle, destroy) = unsafe {
        (
            (*descriptor).methods,
            (*descriptor).create,
            (*descriptor).handle,
            (*descriptor).destroy,
        )
    };
    let get_interface = if len >= SIZE_WITH_GET_INTERFACE {
        // SAFETY: as above.
        unsafe { (*descriptor).get_interface }
    } else {
        None
    };
    let missing = |function| DescriptorError::NoFunction { function };
    Ok(Mapped {
        methods,
        border: Border {
            create: create.ok_or(missing("create"))?,
            handle: handle.ok_or(missing("handle"))?,
            destroy: destroy.ok_or(missing("destroy"))?,
            get_interface,
        },
    })
}

/// Whether `text` says just that.
///
/// # Safety
///
/// `text` is null or ends with a NUL, and lives during the call.
unsafe fn is_text(text: *const c_char, expected: &str) -> bool {
    // SAFETY: it is not null, and the rest is promised by the caller.
    !text.is_null() && unsafe { CStr::from_ptr(text) }.to_bytes() == expected.as_bytes()
}
