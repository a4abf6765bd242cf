//! The border between host and component, as `include/nri_component.h` defines it.
//!
//! The header is the normative text: what each function promises is written there. This module
//! mirrors its types; `tests/layout.rs` compares every size and offset with what a C compiler sees.
//! Component authors use [`crate::Component`] and never need this module.
#![expect(
    unsafe_code,
    reason = "a descriptor holds raw pointers and must be shared all the same"
)]

mod interfaces;

use std::ffi::{c_char, c_void};

pub use interfaces::*;

/// Major version of the border. It is part of [`COMPONENT_SYMBOL`].
pub const ABI_MAJOR: u16 = 1;
/// Minor version of the border: how many things were appended to this major version.
pub const ABI_MINOR: u16 = 0;
/// First field of a [`Descriptor`]: `NRIHCOMP` in memory order.
pub const MAGIC: u64 = u64::from_le_bytes(*b"NRIHCOMP");

/// Name of the exported symbol, with its NUL.
pub const COMPONENT_SYMBOL: &std::ffi::CStr = c"nrih_component_v1";

/// The size of a struct of the border, as its `struct_size` has it.
pub const fn struct_size<T>() -> u32 {
    let size = size_of::<T>();
    assert!(size < 1 << 16, "structs of the border are small");
    #[expect(clippy::cast_possible_truncation, reason = "checked one line above")]
    let size = size as u32;
    size
}

/// Section that holds the [`Note`].
pub const NOTE_SECTION: &str = ".note.nrih";
/// Owner of the note, with its NUL.
pub const NOTE_NAME: [u8; 8] = *b"NRIHOST\0";
/// Type of the note.
pub const NOTE_TYPE: u32 = 0x4e52_0001;

/// Result of a call across the border (`NRIH_...`). Values this crate does not know count as
/// [`Status::FAILED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Status(pub i32);

impl Status {
    /// Done.
    pub const OK: Self = Self(0);
    /// A decision of the component about this pod or container.
    pub const REJECTED: Self = Self(-1);
    /// Something went wrong inside.
    pub const FAILED: Self = Self(-2);
    /// Not known here.
    pub const UNSUPPORTED: Self = Self(-3);
    /// From `create` only: not now.
    pub const TRY_LATER: Self = Self(-4);
    /// The token waits for no reply.
    pub const STALE: Self = Self(-5);
    /// The instance is gone, or can no longer be used.
    pub const DEAD: Self = Self(-6);
}

/// Flags of a note and a descriptor (`NRIH_FLAG_...`).
pub mod flags {
    /// The file carries a Go runtime.
    pub const GO_RUNTIME: u32 = 0x0000_0001;
    /// The library cannot serve two instances.
    pub const ONE_INSTANCE: u32 = 0x0000_0002;
    /// A panic in the library ends the process.
    pub const PANIC_ABORT: u32 = 0x0001_0000;
    /// The component asks to run in a process of its own.
    pub const OWN_PROCESS: u32 = 0x0002_0000;
    /// Bits that a host may ignore when it does not know them.
    pub const MAY_IGNORE: u32 = 0x0000_ffff;
}

/// Flags of [`CreateArgs`] (`NRIH_CREATE_...`). A component ignores those that it does not know.
pub mod create_flags {
    /// The instance is destroyed straight after `create`.
    pub const TRIAL: u32 = 0x0000_0001;
}

/// The ELF note of a component, as it stands in the file.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Note {
    /// Length of `name`: 8.
    pub namesz: u32,
    /// Length of all that follows `name`.
    pub descsz: u32,
    /// [`NOTE_TYPE`].
    pub kind: u32,
    /// [`NOTE_NAME`].
    pub name: [u8; 8],
    /// Major version that the component was built against.
    pub abi_major: u16,
    /// Minor version that the component was built against.
    pub abi_minor: u16,
    /// Hosts with a lower minor version refuse the file.
    pub min_host_minor: u16,
    /// Zero.
    pub reserved: u16,
    /// See [`flags`].
    pub flags: u32,
    /// Reverse-DNS name, padded with NUL.
    pub id: [u8; 64],
    /// Free text, padded with NUL.
    pub version: [u8; 32],
}

/// `nrih_host`: the host's functions for one instance.
#[derive(Debug)]
#[repr(C)]
pub struct HostTable {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Major version of the host.
    pub abi_major: u16,
    /// Minor version of the host.
    pub abi_minor: u16,
    /// Handed to each function.
    pub ctx: *mut c_void,
    /// Writes a line to the host's log.
    pub log:
        Option<unsafe extern "C" fn(ctx: *mut c_void, level: u32, text: *const u8, len: usize)>,
    /// Answers a request.
    pub reply: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            token: u64,
            status: Status,
            data: *const u8,
            len: usize,
        ) -> Status,
    >,
    /// Queues an `UpdateContainersRequest`.
    pub update_containers: Option<
        unsafe extern "C" fn(ctx: *mut c_void, cookie: u64, data: *const u8, len: usize) -> Status,
    >,
    /// Looks up an interface of the host.
    pub get_interface:
        Option<unsafe extern "C" fn(ctx: *mut c_void, id: *const u8, len: usize) -> *const c_void>,
}

/// `nrih_create_args`: what an instance is made of.
#[derive(Debug)]
#[repr(C)]
pub struct CreateArgs {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Plugin index, 0 to 99.
    pub index: u32,
    /// Name of the instance, UTF-8.
    pub name: *const u8,
    /// Length of `name` in bytes.
    pub name_len: usize,
    /// Configuration as a JSON object, UTF-8.
    pub config: *const u8,
    /// Length of `config` in bytes.
    pub config_len: usize,
    /// The most talkative level that the host keeps, see [`log_level`].
    pub log_level: u32,
    /// See [`create_flags`].
    pub flags: u32,
}

/// `nrih_request`: one call.
#[derive(Debug)]
#[repr(C)]
pub struct Request {
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// See [`Method`].
    pub method: u32,
    /// Names the request towards `reply`; never 0.
    pub token: u64,
    /// Deadline on `CLOCK_MONOTONIC`, in nanoseconds.
    pub deadline_ns: u64,
    /// Name of the method, UTF-8.
    pub method_name: *const u8,
    /// Length of `method_name` in bytes.
    pub method_name_len: usize,
    /// The encoded request message.
    pub payload: *const u8,
    /// Length of `payload` in bytes.
    pub payload_len: usize,
}

/// `nrih_component`: the exported constant.
#[derive(Debug)]
#[repr(C)]
pub struct Descriptor {
    /// [`MAGIC`].
    pub magic: u64,
    /// Size of this struct in bytes.
    pub struct_size: u32,
    /// Major version that the component was built against.
    pub abi_major: u16,
    /// Minor version that the component was built against.
    pub abi_minor: u16,
    /// See [`flags`]; equal to the note's.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// Equal to the note's.
    pub id: *const c_char,
    /// Equal to the note's.
    pub version: *const c_char,
    /// [`Method::bit`] of each method that `handle` wants.
    pub methods: u64,
    /// Makes an instance.
    pub create: Option<
        unsafe extern "C" fn(
            host: *const HostTable,
            args: *const CreateArgs,
            instance: *mut *mut c_void,
        ) -> Status,
    >,
    /// Serves one request.
    pub handle:
        Option<unsafe extern "C" fn(instance: *mut c_void, request: *const Request) -> Status>,
    /// Ends an instance.
    pub destroy: Option<unsafe extern "C" fn(instance: *mut c_void)>,
    /// Looks up an interface of the component.
    pub get_interface: Option<unsafe extern "C" fn(id: *const u8, len: usize) -> *const c_void>,
}

// SAFETY: a descriptor is a constant of the library: its pointers lead to constants and functions
// that live as long as the library, which is never unloaded.
unsafe impl Sync for Descriptor {}

/// Log levels (`NRIH_LOG_...`).
pub mod log_level {
    /// Something is broken.
    pub const ERROR: u32 = 1;
    /// Something is not as it should be.
    pub const WARN: u32 = 2;
    /// A change of state.
    pub const INFO: u32 = 3;
    /// For the component's author.
    pub const DEBUG: u32 = 4;
    /// For the component's author, at length.
    pub const TRACE: u32 = 5;
}

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        /// A method that a component can handle (`NRIH_METHOD_...`). 1 to 14 are the numbers of
        /// the NRI events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Method {
            $($(#[$doc])* $name = $number,)*
        }

        impl Method {
            /// All methods, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name of the method in the NRI service `Plugin`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

methods! {
    /// A pod was started.
    RunPodSandbox = 1;
    /// A pod was stopped.
    StopPodSandbox = 2;
    /// A pod was removed.
    RemovePodSandbox = 3;
    /// A container is being created; it can be adjusted.
    CreateContainer = 4;
    /// A container was created.
    PostCreateContainer = 5;
    /// A container is about to be started.
    StartContainer = 6;
    /// A container was started.
    PostStartContainer = 7;
    /// The resources of a container are about to change.
    UpdateContainer = 8;
    /// The resources of a container have changed.
    PostUpdateContainer = 9;
    /// A container was stopped.
    StopContainer = 10;
    /// A container was removed.
    RemoveContainer = 11;
    /// The resources of a pod are about to change.
    UpdatePodSandbox = 12;
    /// The resources of a pod have changed.
    PostUpdatePodSandbox = 13;
    /// The adjustments of all plugins for a container, to be accepted or rejected.
    ValidateContainerAdjustment = 14;
    /// All pods and containers at once.
    Synchronize = 32;
}

impl Method {
    /// The method with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|m| m.number() == number)
    }

    /// The method with this name in the NRI service `Plugin`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|m| m.name() == name)
    }

    /// The number of the method.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The method's bit in [`Descriptor::methods`].
    pub const fn bit(self) -> u64 {
        1 << self.number()
    }
}
