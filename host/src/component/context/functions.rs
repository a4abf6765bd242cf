//! The functions of the table: what a component passed, checked.

use std::ffi::c_void;

use nri_plugin_api::abi::{CONFIG_ERROR_ID, HEALTH_ID, RUNTIME_ID, Status};

use super::{Context, config_error, health, runtime};

/// The context behind `ctx`, as a component passed it.
///
/// # Safety
///
/// `ctx` is null or was given out by [`Context::leak`].
pub(super) unsafe fn context<'a>(ctx: *mut c_void) -> Option<&'a Context> {
    // SAFETY: contexts are never freed and are only ever shared, see `Context::leak`; null is
    // turned into None.
    unsafe { ctx.cast::<Context>().as_ref() }
}

/// The bytes that a component passed; `None` for null with a length, or a length that no object
/// has.
///
/// # Safety
///
/// A non-null `data` leads to `len` readable bytes that do not change while `'a` lasts.
pub(in crate::component) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Option<&'a [u8]> {
    if len == 0 {
        return Some(&[]);
    }
    if data.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: not null, a possible length, and readable by the caller's promise.
    Some(unsafe { std::slice::from_raw_parts(data, len) })
}

pub(super) unsafe extern "C" fn log(ctx: *mut c_void, level: u32, message: *const u8, len: usize) {
    // SAFETY: the header binds the component to pass the ctx of its table and a readable message.
    let (context, message) = unsafe { (context(ctx), bytes(message, len)) };
    if let (Some(context), Some(message)) = (context, message) {
        context.take_log(level, &String::from_utf8_lossy(message));
    }
}

pub(super) unsafe extern "C" fn reply(
    ctx: *mut c_void,
    token: u64,
    status: Status,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the header binds the component to pass the ctx of its table and readable data.
    let (context, data) = unsafe { (context(ctx), bytes(data, len)) };
    context.map_or(Status::FAILED, |context| context.take(token, status, data))
}

pub(super) unsafe extern "C" fn update_containers(
    ctx: *mut c_void,
    cookie: u64,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the header binds the component to pass the ctx of its table and readable data.
    let (context, data) = unsafe { (context(ctx), bytes(data, len)) };
    context.map_or(Status::FAILED, |context| context.take_update(cookie, data))
}

pub(super) unsafe extern "C" fn get_interface(
    _ctx: *mut c_void,
    id: *const u8,
    len: usize,
) -> *const c_void {
    // SAFETY: the header binds the component to pass a readable id.
    match unsafe { bytes(id, len) } {
        Some(id) if id == CONFIG_ERROR_ID.as_bytes() => (&raw const config_error::INTERFACE).cast(),
        Some(id) if id == HEALTH_ID.as_bytes() => (&raw const health::INTERFACE).cast(),
        Some(id) if id == RUNTIME_ID.as_bytes() => (&raw const runtime::INTERFACE).cast(),
        _ => std::ptr::null(),
    }
}
