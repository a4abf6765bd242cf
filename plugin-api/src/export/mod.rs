//! Puts a [`Component`] behind the border of `include/nri_component.h`.
//!
//! Called by the code that [`#[component]`](macro@crate::component) writes, and by [`crate::testing`].
//! All `unsafe` code that a component needs is below this module.
#![expect(
    unsafe_code,
    reason = "the border is made of raw pointers and foreign functions"
)]

mod answer;
mod barrier;
mod border;
mod command;
mod create;
mod table;

use std::ffi::CStr;

use crate::abi::{self, Descriptor, Note, struct_size};
use crate::component::Component;
use crate::method_set::MethodSet;

pub(crate) use table::HostFunctions;

/// A component with all that its library says about itself. Implemented by
/// [`#[component]`](macro@crate::component).
pub trait Exported: Component {
    /// Reverse-DNS name.
    const ID: &'static CStr;
    /// Version of the component, free text.
    const VERSION: &'static CStr;
    /// See [`abi::flags`].
    const FLAGS: u32;
    /// The methods that the implementation has.
    const METHODS: MethodSet;
}

/// The descriptor of a component.
pub const fn descriptor<T: Exported>() -> Descriptor {
    Descriptor {
        magic: abi::MAGIC,
        struct_size: struct_size::<Descriptor>(),
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        flags: T::FLAGS,
        reserved: 0,
        id: T::ID.as_ptr(),
        version: T::VERSION.as_ptr(),
        methods: T::METHODS.bits(),
        create: Some(border::create::<T>),
        handle: Some(border::handle::<T>),
        destroy: Some(border::destroy::<T>),
        get_interface: Some(border::get_interface::<T>),
    }
}

/// The bytes of a note that are not counted in its `descsz`.
const HEADER_SIZE: u32 = 20;

/// The note of a component.
///
/// # Panics
///
/// Id or version do not fit; in a constant this is an error of the compiler.
pub const fn note<T: Exported>() -> Note {
    Note {
        namesz: 8,
        descsz: struct_size::<Note>() - HEADER_SIZE,
        kind: abi::NOTE_TYPE,
        name: abi::NOTE_NAME,
        abi_major: abi::ABI_MAJOR,
        abi_minor: abi::ABI_MINOR,
        min_host_minor: 0,
        reserved: 0,
        flags: T::FLAGS,
        id: padded(T::ID, "the id of a component has at most 63 bytes"),
        version: padded(
            T::VERSION,
            "the version of a component has at most 31 bytes",
        ),
    }
}

/// The version of a package, with its NUL.
///
/// # Panics
///
/// The text holds another NUL; in a constant this is an error of the compiler.
pub const fn version(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("the version of a package holds no NUL"),
    }
}

/// A text, filled up with NUL; at least one.
const fn padded<const N: usize>(text: &CStr, too_long: &str) -> [u8; N] {
    let text = text.to_bytes();
    let mut padded = [0; N];
    assert!(text.len() < N, "{}", too_long);
    let mut i = 0;
    while i < text.len() {
        padded[i] = text[i];
        i += 1;
    }
    padded
}

#[cfg(test)]
mod tests;
