//! `nrih.runtime/1`: what the runtime said of itself, for a component.

use std::ffi::c_void;

use nri_plugin_api::Runtime;
use nri_plugin_api::abi::RuntimeInterface;

use super::Context;
use super::functions::context;
use crate::lock::lock;

pub(super) static INTERFACE: RuntimeInterface = RuntimeInterface {
    struct_size: 16,
    reserved: 0,
    describe: Some(describe),
};

impl Context {
    /// The runtime of the session that the instance serves.
    fn runtime(&self) -> Option<Runtime> {
        let served = lock(&self.served).upgrade()?;
        let runtime = served.session.progress().configured?.runtime;
        let nri_version = runtime.nri().map(|version| version.to_string());
        Some(Runtime {
            name: runtime.name,
            version: runtime.version,
            nri_version: nri_version.unwrap_or_default(),
        })
    }
}

unsafe extern "C" fn describe(ctx: *mut c_void, buffer: *mut u8, capacity: usize) -> usize {
    // SAFETY: the header binds the component to pass the ctx of its table.
    let runtime = unsafe { context(ctx) }.and_then(Context::runtime);
    let Some(json) = runtime.and_then(|runtime| serde_json::to_vec(&runtime).ok()) else {
        return 0;
    };
    if !buffer.is_null() && json.len() <= capacity {
        // SAFETY: not null, and the header binds the component to pass a buffer of this capacity.
        unsafe { buffer.copy_from_nonoverlapping(json.as_ptr(), json.len()) };
    }
    json.len()
}
