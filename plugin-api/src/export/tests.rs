//! A host that breaks the rules, and hosts of other versions.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{from_mut, from_ref, null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use super::descriptor;
use crate::abi::{
    CreateArgs, Descriptor, HostTable, METHODS_ID, Request, Status, flags, struct_size,
};
use crate::{Adjustment, Component, CreateContainer, Error, Host, NoConfig};

struct Plain;

#[crate::component(id = "com.example.plain", no_export)]
impl Component for Plain {
    type Config = NoConfig;

    fn create(_: NoConfig, _: Host) -> Result<Self, Error> {
        Ok(Self)
    }

    fn create_container(&mut self, _: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        Ok(Adjustment::new())
    }
}

const DESCRIPTOR: Descriptor = descriptor::<Plain>();

unsafe extern "C" fn log(_: *mut c_void, _: u32, _: *const u8, _: usize) {}

/// Keeps the status of the last reply in the context.
unsafe extern "C" fn reply(
    ctx: *mut c_void,
    _: u64,
    status: Status,
    _: *const u8,
    _: usize,
) -> Status {
    // SAFETY: every table of these tests has such a context.
    unsafe { &*ctx.cast::<AtomicI32>() }.store(status.0, Ordering::Relaxed);
    Status::OK
}

/// Not a status that a component replies with.
const NO_REPLY: i32 = 1000;

fn table(replied: &AtomicI32) -> HostTable {
    HostTable {
        struct_size: struct_size::<HostTable>(),
        abi_major: 1,
        abi_minor: 0,
        ctx: from_ref(replied).cast_mut().cast(),
        log: Some(log),
        reply: Some(reply),
        update_containers: None,
        get_interface: None,
    }
}

fn args() -> CreateArgs {
    CreateArgs {
        struct_size: struct_size::<CreateArgs>(),
        index: 10,
        name: b"plain".as_ptr(),
        name_len: 5,
        config: b"{}".as_ptr(),
        config_len: 2,
        log_level: 5,
        flags: 0,
    }
}

fn request() -> Request {
    Request {
        struct_size: struct_size::<Request>(),
        method: crate::Method::CreateContainer.number(),
        token: 1,
        deadline_ns: 0,
        method_name: null(),
        method_name_len: 0,
        payload: null(),
        payload_len: 0,
    }
}

/// `None` stands for a null pointer.
fn create(
    host: Option<&HostTable>,
    args: Option<&CreateArgs>,
    at: Option<&mut *mut c_void>,
) -> Status {
    let (host, args) = (host.map_or(null(), from_ref), args.map_or(null(), from_ref));
    // SAFETY: each pointer is null or leads to something that lives for the whole test.
    unsafe { DESCRIPTOR.create.unwrap()(host, args, at.map_or(null_mut(), from_mut)) }
}

/// `None` stands for a null pointer.
fn handle(instance: *mut c_void, request: Option<&Request>) -> Status {
    // SAFETY: as above; the tests make one call at a time.
    unsafe { DESCRIPTOR.handle.unwrap()(instance, request.map_or(null(), from_ref)) }
}

fn destroy(instance: *mut c_void) {
    // SAFETY: as above; nothing is called after it.
    unsafe { DESCRIPTOR.destroy.unwrap()(instance) }
}

/// Runs a test with an instance whose host has this table.
fn with_instance(table: &HostTable, test: impl FnOnce(*mut c_void)) {
    let mut instance = null_mut();
    assert_eq!(
        create(Some(table), Some(&args()), Some(&mut instance)),
        Status::OK
    );
    test(instance);
    destroy(instance);
}

#[test]
fn null_pointers_are_refused() {
    let replied = AtomicI32::new(NO_REPLY);
    let (table, args, mut instance) = (table(&replied), args(), null_mut());
    assert_eq!(
        create(None, Some(&args), Some(&mut instance)),
        Status::FAILED
    );
    assert_eq!(
        create(Some(&table), None, Some(&mut instance)),
        Status::FAILED
    );
    assert_eq!(create(Some(&table), Some(&args), None), Status::FAILED);
    assert_eq!(handle(null_mut(), Some(&request())), Status::FAILED);
    with_instance(&table, |instance| {
        assert_eq!(handle(instance, None), Status::FAILED);
    });
    destroy(null_mut());
}

#[test]
fn a_host_without_optional_functions_is_enough() {
    let replied = AtomicI32::new(NO_REPLY);
    let mut table = table(&replied);
    // A table of a host that ends before the optional functions.
    table.struct_size = u32::try_from(offset_of!(HostTable, update_containers)).unwrap();
    with_instance(&table, |instance| {
        assert_eq!(handle(instance, Some(&request())), Status::OK);
        assert_eq!(replied.load(Ordering::Relaxed), Status::OK.0);
    });
}

#[test]
fn structs_that_lack_what_every_host_has_are_refused() {
    let replied = AtomicI32::new(NO_REPLY);
    let mut instance = null_mut();
    let mut short = table(&replied);
    short.struct_size = u32::try_from(offset_of!(HostTable, reply)).unwrap();
    assert_eq!(
        create(Some(&short), Some(&args()), Some(&mut instance)),
        Status::FAILED
    );
    let mut empty = table(&replied);
    empty.reply = None;
    assert_eq!(
        create(Some(&empty), Some(&args()), Some(&mut instance)),
        Status::FAILED
    );
    let mut short = args();
    short.struct_size = u32::try_from(offset_of!(CreateArgs, log_level)).unwrap();
    assert_eq!(
        create(Some(&table(&replied)), Some(&short), Some(&mut instance)),
        Status::FAILED
    );

    let table = table(&replied);
    with_instance(&table, |instance| {
        let mut short = request();
        short.struct_size = u32::try_from(offset_of!(Request, payload)).unwrap();
        assert_eq!(handle(instance, Some(&short)), Status::FAILED);
        assert_eq!(replied.load(Ordering::Relaxed), NO_REPLY);
    });
}

#[test]
fn a_method_without_a_number_is_found_by_its_name() {
    let replied = AtomicI32::new(NO_REPLY);
    let table = table(&replied);
    with_instance(&table, |instance| {
        let mut request = request();
        request.method = 0;
        assert_eq!(handle(instance, Some(&request)), Status::UNSUPPORTED);
        (request.method_name, request.method_name_len) = (b"CreateContainer".as_ptr(), 15);
        assert_eq!(handle(instance, Some(&request)), Status::OK);
        assert_eq!(replied.load(Ordering::Relaxed), Status::OK.0);
    });
}

#[test]
fn unknown_interfaces_are_answered_with_null() {
    let is_known = |id: &str| {
        // SAFETY: the id outlives the call.
        let interface = unsafe { DESCRIPTOR.get_interface.unwrap()(id.as_ptr(), id.len()) };
        !interface.is_null()
    };
    for id in ["", "nrih.methods/2", "nrih.methods", "com.vendor.x/1"] {
        assert!(!is_known(id), "{id}");
    }
    assert!(is_known(METHODS_ID));
}

#[test]
fn note_and_descriptor_say_the_same() {
    struct Single;
    #[crate::component(id = "com.example.single", no_export, one_instance)]
    impl Component for Single {
        type Config = NoConfig;
        fn create(_: NoConfig, _: Host) -> Result<Self, Error> {
            Ok(Self)
        }
    }
    let (note, descriptor) = (super::note::<Single>(), descriptor::<Single>());
    assert_eq!(
        (note.flags, descriptor.flags),
        (flags::ONE_INSTANCE, flags::ONE_INSTANCE)
    );
    // SAFETY: the descriptor's texts are constants that end with NUL.
    let id = unsafe { std::ffi::CStr::from_ptr(descriptor.id) }.to_bytes();
    assert_eq!(&note.id[..id.len()], id);
    assert!(note.id[id.len()..].iter().all(|byte| *byte == 0));
    assert_eq!(descriptor.methods, 0);
    assert_eq!(
        note.descsz as usize,
        size_of_val(&note) - offset_of!(crate::abi::Note, abi_major)
    );
}

#[test]
fn a_function_that_is_configured_away_is_not_subscribed_to() {
    struct Conditional;
    #[crate::component(id = "com.example.conditional", no_export)]
    impl Component for Conditional {
        type Config = NoConfig;
        fn create(_: NoConfig, _: Host) -> Result<Self, Error> {
            Ok(Self)
        }
        #[cfg(any())]
        fn create_container(&mut self, _: &CreateContainer<'_>) -> Result<Adjustment, Error> {
            Ok(Adjustment::new())
        }
        #[cfg(test)]
        fn stop_pod_sandbox(&mut self, _: &crate::StopPodSandbox<'_>) -> Result<(), Error> {
            Ok(())
        }
    }
    let methods = descriptor::<Conditional>().methods;
    assert_eq!(methods, crate::Method::StopPodSandbox.bit());
}
