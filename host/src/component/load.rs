//! Brings inspected libraries into the process, for ever.
#![expect(unsafe_code, reason = "this is where the dynamic loader is called")]

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

use nri_plugin_api::abi;
use thiserror::Error;

use super::inspect::{Digest, Inspected};

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
}

/// Why an inspected library could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {}

/// The libraries of the process, each loaded once for all its instances.
#[derive(Debug)]
pub struct Libraries {
    state_dir: PathBuf,
}

impl Libraries {
    /// No libraries yet. Where the kernel does not let a memory file be executed, private copies
    /// are kept in `state_dir`.
    pub fn new(state_dir: PathBuf) -> Self {
        Self { state_dir }
    }

    /// Loads what was inspected, or finds it among what is loaded already. Its constructors run
    /// on the calling thread.
    ///
    /// # Errors
    ///
    /// Says why it could not be loaded.
    pub fn load(&self, inspected: &Inspected) -> Result<Arc<Library>, LoadError> {
        let _ = (inspected, &self.state_dir);
        todo!()
    }
}
