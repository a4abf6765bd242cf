//! Device nodes, and devices of the Container Device Interface.

use super::error::{AdjustmentError, Item, check_name, check_new};
use super::values::{some, uint32};
use super::{Adjustment, removal};
use crate::api;
use crate::cdi::DeviceName;

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
pub struct Device(api::LinuxDevice);

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
        self.0.uid = uint32(uid);
        self
    }

    /// Sets the owning group; without it the runtime chooses.
    #[must_use]
    pub fn gid(mut self, gid: u32) -> Self {
        self.0.gid = uint32(gid);
        self
    }
}

impl Adjustment {
    /// Adds a device node.
    ///
    /// # Errors
    ///
    /// The path is empty, starts with `-`, or is set already.
    pub fn add_device(&mut self, device: Device) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Device, &device.0.path)?;
        let devices = &mut self.linux().devices;
        check_new(
            Item::Device,
            &device.0.path,
            devices.iter().map(|d| d.path.as_str()),
        )?;
        devices.push(device.0);
        Ok(self)
    }

    /// Removes a device node that a plugin before this one added. Those of the container itself
    /// stay, runtimes do not hear of it.
    ///
    /// # Errors
    ///
    /// The path is empty or starts with `-`.
    pub fn remove_device(&mut self, path: &str) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Device, path)?;
        let path = removal(path);
        let devices = &mut self.linux().devices;
        if !devices.iter().any(|device| device.path == path) {
            devices.push(api::LinuxDevice {
                path,
                ..Default::default()
            });
        }
        Ok(self)
    }

    /// Adds a CDI device by its qualified name, as in `vendor.com/class=name`. It cannot be removed
    /// again. Known since NRI 0.7; containerd 1.7 before 1.7.30 and 2.0 ignore it.
    ///
    /// # Errors
    ///
    /// The name has another form, or is there already.
    pub fn add_cdi_device(
        &mut self,
        name: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let name = name.into();
        check_name(Item::CdiDevice, &name)?;
        if let Err(error) = name.parse::<DeviceName>() {
            return Err(AdjustmentError::CdiName { name, error });
        }
        let devices = &mut self.adjust.CDI_devices;
        check_new(
            Item::CdiDevice,
            &name,
            devices.iter().map(|d| d.name.as_str()),
        )?;
        devices.push(api::CDIDevice {
            name,
            ..Default::default()
        });
        Ok(self)
    }
}
