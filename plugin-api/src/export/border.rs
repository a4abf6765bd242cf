//! The functions of the descriptor.
//!
//! Each body checks its pointers, and runs code of the component only inside [`guarded`].

use std::ffi::c_void;
use std::mem::offset_of;
use std::slice;

use super::Exported;
use super::HostFunctions;
use super::answer::{Answer, answer};
use super::barrier::{Panicked, guarded};
use super::command;
use super::create;
use super::table::read_field;
use crate::abi::{
    COMMAND_ID, CommandInterface, CreateArgs, HostTable, METHODS_ID, Method, MethodsInterface,
    Request, Status, UPDATE_RESULT_ID, UpdateResultInterface, struct_size,
};
use crate::host::Host;
use crate::logging;
use crate::update_result::UpdateResult;

/// What `*instance` points to.
struct Instance<T> {
    /// `None` after a panic: what it left behind is not used any more.
    component: Option<T>,
    host: Host,
}

/// A slice from the other side; null stands for an empty one.
///
/// # Safety
///
/// `data` is null, or points to `len` bytes that stay as they are for `'a`.
pub(super) unsafe fn bytes<'a>(data: *const u8, len: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: not null, and as the caller vouches.
    unsafe { slice::from_raw_parts(data, len) }
}

/// The fields of `nrih_create_args` that are used here.
struct Args<'a> {
    name: &'a [u8],
    index: u32,
    config: &'a [u8],
    log_level: u32,
    flags: u32,
}

impl<'a> Args<'a> {
    /// # Safety
    ///
    /// `args` is null or points to arguments as the header describes them, valid for `'a`.
    unsafe fn read(args: *const CreateArgs) -> Option<Self> {
        if args.is_null() {
            return None;
        }
        // SAFETY: not null, and every struct of the border begins with its size.
        let size = unsafe { (&raw const (*args).struct_size).read() };
        let name = read_field!(args, size, CreateArgs, name)?;
        let name_len = read_field!(args, size, CreateArgs, name_len)?;
        let config = read_field!(args, size, CreateArgs, config)?;
        let config_len = read_field!(args, size, CreateArgs, config_len)?;
        Some(Self {
            index: read_field!(args, size, CreateArgs, index)?,
            log_level: read_field!(args, size, CreateArgs, log_level)?,
            flags: read_field!(args, size, CreateArgs, flags)?,
            // SAFETY: the caller vouches for both texts.
            name: unsafe { bytes(name, name_len) },
            // SAFETY: as above.
            config: unsafe { bytes(config, config_len) },
        })
    }
}

/// `create` of the descriptor.
///
/// # Safety
///
/// As the header says: `host` and `args` are valid, `instance` can be written.
pub(super) unsafe extern "C" fn create<T: Exported>(
    host: *const HostTable,
    args: *const CreateArgs,
    instance: *mut *mut c_void,
) -> Status {
    // SAFETY: the host vouches for its table and keeps it until `destroy` has returned.
    let Some(functions) = (unsafe { HostFunctions::read(host) }) else {
        return Status::FAILED;
    };
    // SAFETY: the host keeps the arguments until this function returns.
    let Some(args) = (unsafe { Args::read(args) }) else {
        return Status::FAILED;
    };
    if instance.is_null() {
        return Status::FAILED;
    }
    let name = String::from_utf8_lossy(args.name).into_owned();
    let host = Host::new(functions, name, args.index, args.log_level, args.flags);
    logging::start(&host);
    match create::create::<T>(&host, args.config) {
        Ok(component) => {
            let made = Box::new(Instance {
                component: Some(component),
                host,
            });
            // SAFETY: not null, and the host vouches that it can be written.
            unsafe { instance.write(Box::into_raw(made).cast()) };
            Status::OK
        }
        Err(status) => {
            create::end(&host);
            status
        }
    }
}

/// The fields of `nrih_request`.
struct Call<'a> {
    method: Option<Method>,
    token: u64,
    payload: &'a [u8],
}

impl<'a> Call<'a> {
    /// # Safety
    ///
    /// `request` is null or points to a request as the header describes it, valid for `'a`.
    unsafe fn read(request: *const Request) -> Option<Self> {
        if request.is_null() {
            return None;
        }
        // SAFETY: not null, and every struct of the border begins with its size.
        let size = unsafe { (&raw const (*request).struct_size).read() };
        let number = read_field!(request, size, Request, method)?;
        let name = read_field!(request, size, Request, method_name)?;
        let name_len = read_field!(request, size, Request, method_name_len)?;
        let payload = read_field!(request, size, Request, payload)?;
        let payload_len = read_field!(request, size, Request, payload_len)?;
        // SAFETY: the caller vouches for the text.
        let name = unsafe { bytes(name, name_len) };
        // A host that is older than the method sends 0 and the name.
        let by_name = || str::from_utf8(name).ok().and_then(Method::from_name);
        let method = if number == 0 {
            by_name()
        } else {
            Method::from_number(number)
        };
        Some(Self {
            method,
            token: read_field!(request, size, Request, token)?,
            // SAFETY: as above.
            payload: unsafe { bytes(payload, payload_len) },
        })
    }
}

/// `handle` of the descriptor.
///
/// # Safety
///
/// As the header says: `instance` comes from [`create()`] of the same component and was not destroyed,
/// `request` is valid, and no other call for this instance is under way.
pub(super) unsafe extern "C" fn handle<T: Exported>(
    instance: *mut c_void,
    request: *const Request,
) -> Status {
    if instance.is_null() {
        return Status::FAILED;
    }
    // SAFETY: the pointer comes from `create::<T>`, and the host makes one call at a time.
    let instance = unsafe { &mut *instance.cast::<Instance<T>>() };
    // SAFETY: the host keeps the request until this function returns.
    let Some(call) = (unsafe { Call::read(request) }) else {
        return Status::FAILED;
    };
    let Some(method) = call.method else {
        return Status::UNSUPPORTED;
    };
    let Some(component) = &mut instance.component else {
        return Status::DEAD;
    };

    let host = &instance.host;
    match guarded(host, || answer(component, method, call.payload)) {
        Ok(Answer { status, data }) => match host.functions().reply(call.token, status, &data) {
            // What became of a late answer is the host's affair.
            Status::OK | Status::STALE => Status::OK,
            refused => refused,
        },
        Err(panicked) => died(instance, call.token, panicked),
    }
}

/// Tells the host of a panic under this token, and drops the component.
fn died<T>(instance: &mut Instance<T>, token: u64, Panicked(message): Panicked) -> Status {
    let Answer { status, data } = Answer::failed(message);
    instance.host.functions().reply(token, status, &data);
    discard(instance);
    Status::DEAD
}

/// Drops the component.
fn discard<T>(instance: &mut Instance<T>) {
    let component = instance.component.take();
    // The panic is logged; there is nobody else to tell.
    let _ = guarded(&instance.host, move || drop(component));
}

/// `destroy` of the descriptor.
///
/// # Safety
///
/// As the header says: `instance` comes from [`create()`] of the same component, no call for it is
/// under way, and none follows.
pub(super) unsafe extern "C" fn destroy<T: Exported>(instance: *mut c_void) {
    if instance.is_null() {
        return;
    }
    // SAFETY: the pointer comes from `Box::into_raw` in `create::<T>`, and the host gives it back
    // for good.
    let mut instance = unsafe { Box::from_raw(instance.cast::<Instance<T>>()) };
    discard(&mut instance);
    create::end(&instance.host);
}

/// `get_interface` of the descriptor.
///
/// # Safety
///
/// As the header says: `id` points to `len` bytes.
pub(super) unsafe extern "C" fn get_interface<T: Exported>(
    id: *const u8,
    len: usize,
) -> *const c_void {
    // SAFETY: the host vouches for the text.
    let id = unsafe { bytes(id, len) };
    if id == METHODS_ID.as_bytes() {
        let interface: *const MethodsInterface = const { &methods_interface::<T>() };
        return interface.cast();
    }
    if id == UPDATE_RESULT_ID.as_bytes() {
        let interface: *const UpdateResultInterface = const { &update_result_interface::<T>() };
        return interface.cast();
    }
    if id == COMMAND_ID.as_bytes() && !T::COMMANDS.is_empty() {
        let interface: *const CommandInterface = const { &command::interface::<T>() };
        return interface.cast();
    }
    std::ptr::null()
}

const fn methods_interface<T: Exported>() -> MethodsInterface {
    MethodsInterface {
        struct_size: struct_size::<MethodsInterface>(),
        reserved: 0,
        methods: Some(methods::<T>),
    }
}

/// `methods` of `nrih.methods/1`.
///
/// # Safety
///
/// As the header says: `instance` comes from [`create()`] of the same component, and no other call
/// for it is under way.
unsafe extern "C" fn methods<T: Exported>(instance: *mut c_void) -> u64 {
    let all = T::METHODS.bits();
    if instance.is_null() {
        return all;
    }
    // SAFETY: as in `handle`.
    let instance = unsafe { &mut *instance.cast::<Instance<T>>() };
    let Some(component) = &instance.component else {
        return all;
    };
    match guarded(&instance.host, || component.methods()) {
        Ok(wanted) => wanted.bits() & all,
        Err(Panicked(_)) => {
            discard(instance);
            all
        }
    }
}

const fn update_result_interface<T: Exported>() -> UpdateResultInterface {
    UpdateResultInterface {
        struct_size: struct_size::<UpdateResultInterface>(),
        reserved: 0,
        on_result: Some(on_result::<T>),
    }
}

/// The token of texts that belong to no request.
const NO_REQUEST: u64 = 0;

/// `on_result` of `nrih.update-result/1`.
///
/// # Safety
///
/// As the header says: `instance` comes from [`create()`] of the same component, no other call for it
/// is under way, and `data` points to `len` bytes.
unsafe extern "C" fn on_result<T: Exported>(
    instance: *mut c_void,
    cookie: u64,
    status: Status,
    data: *const u8,
    len: usize,
) -> Status {
    if instance.is_null() {
        return Status::FAILED;
    }
    // SAFETY: as in `handle`.
    let instance = unsafe { &mut *instance.cast::<Instance<T>>() };
    // SAFETY: the host keeps the bytes until this function returns.
    let result = UpdateResult::read(cookie, status, unsafe { bytes(data, len) });
    let Some(component) = &mut instance.component else {
        return Status::DEAD;
    };
    match guarded(&instance.host, || component.update_result(&result)) {
        Ok(()) => Status::OK,
        Err(panicked) => died(instance, NO_REQUEST, panicked),
    }
}
