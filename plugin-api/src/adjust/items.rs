//! What an adjustment can bring into a container.

use crate::api;

/// The kind of a device node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A character device.
    Character,
    /// A block device.
    Block,
    /// A named pipe; it has no numbers.
    Fifo,
}

impl DeviceKind {
    /// The letter that the OCI runtime specification has for it.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Character => "c",
            Self::Block => "b",
            Self::Fifo => "p",
        }
    }

    /// The kind with this letter; `u`, an unbuffered character device, is a character device.
    pub fn from_letter(letter: &str) -> Option<Self> {
        match letter {
            "c" | "u" => Some(Self::Character),
            "b" => Some(Self::Block),
            "p" => Some(Self::Fifo),
            _ => None,
        }
    }
}

/// A device node for a container. The runtime also lets the container use the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device(pub(super) api::LinuxDevice);

impl Device {
    /// A device node with these numbers, at an absolute path inside the container.
    pub fn new(path: impl Into<String>, kind: DeviceKind, major: u32, minor: u32) -> Self {
        Self(api::LinuxDevice {
            path: path.into(),
            type_: kind.letter().to_owned(),
            major: major.into(),
            minor: minor.into(),
            ..Default::default()
        })
    }

    /// Sets the permission bits; without it the runtime chooses.
    #[must_use]
    pub fn file_mode(mut self, mode: u32) -> Self {
        self.0.file_mode = some(api::OptionalFileMode {
            value: mode,
            ..Default::default()
        });
        self
    }

    /// Sets the owning user; without it the runtime chooses.
    #[must_use]
    pub fn uid(mut self, uid: u32) -> Self {
        self.0.uid = some(api::OptionalUInt32 {
            value: uid,
            ..Default::default()
        });
        self
    }

    /// Sets the owning group; without it the runtime chooses.
    #[must_use]
    pub fn gid(mut self, gid: u32) -> Self {
        self.0.gid = some(api::OptionalUInt32 {
            value: gid,
            ..Default::default()
        });
        self
    }
}

/// A mount in a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount(pub(super) api::Mount);

impl Mount {
    /// A mount of any file system type.
    pub fn new(
        kind: impl Into<String>,
        source: impl Into<String>,
        destination: impl Into<String>,
    ) -> Self {
        Self(api::Mount {
            type_: kind.into(),
            source: source.into(),
            destination: destination.into(),
            ..Default::default()
        })
    }

    /// Shows a file or folder of the host, with the mounts below it, inside the container.
    pub fn bind(source: impl Into<String>, destination: impl Into<String>) -> Self {
        Self::new("bind", source, destination).option("rbind")
    }

    /// Adds an option, such as `ro`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.0.options.push(option.into());
        self
    }

    /// Adds several options.
    #[must_use]
    pub fn options(mut self, options: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.options.extend(options.into_iter().map(Into::into));
        self
    }
}

/// A message field that is set.
pub(super) fn some<M>(message: M) -> protobuf::MessageField<M> {
    protobuf::MessageField::some(message)
}
