//! What CDI asks of a file beyond the types of its fields.

use std::collections::HashSet;

use nri_plugin_api::cdi::{self, NameError};
use nri_plugin_api::{DeviceKind, HookStage};

use super::version::{self, Version};
use super::{ContainerEdits, Device, DeviceNode, Hook, IntelRdt, RawDevice, RawSpec, Spec};

/// The longest name of a file, in bytes: a class of service is a folder.
const MAX_CLOS_ID: usize = 4095;

/// What CDI does not allow.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", place(.device.as_deref()))]
pub struct Invalid {
    /// The device that it is about; `None`: the file as a whole.
    device: Option<String>,
    line: Option<u64>,
    reason: Reason,
}

impl Invalid {
    /// Where it is, counted from 1, as far as that is known.
    pub fn line(&self) -> Option<u64> {
        self.line
    }
}

fn place(device: Option<&str>) -> String {
    device.map_or_else(String::new, |name| format!("device {name:?}: "))
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("cdiVersion {0:?} is no version of CDI")]
    Version(String),
    #[error("{feature} needs cdiVersion {needed} or newer, and the file says {said}")]
    TooOld {
        feature: &'static str,
        needed: &'static str,
        said: String,
    },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("devices: there is none")]
    NoDevices,
    #[error("the name is there twice")]
    Twice,
    #[error("containerEdits: there is none")]
    NoEdits,
    #[error("{field} {index}: {what}")]
    Edit {
        field: &'static str,
        /// Counted from 1.
        index: usize,
        what: EditError,
    },
    #[error("intelRdt: closID {0:?} is no name of a folder")]
    ClosId(String),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum EditError {
    #[error("{0:?} is not of the form NAME=value")]
    Env(String),
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("type {0:?} is none of b, c, u, p")]
    NodeType(String),
    #[error("permissions {0:?} are not made of r, w, m, and not \"none\"")]
    Permissions(String),
    #[error("hookName {0:?} is no kind of hook")]
    HookName(String),
    #[error("{0:?} is there twice")]
    Twice(String),
}

impl RawSpec {
    /// Checks all of it.
    pub(super) fn check(self) -> Result<Spec, Invalid> {
        let whole = |reason| Invalid {
            device: None,
            line: None,
            reason,
        };
        self.check_version().map_err(whole)?;
        let kind = self
            .kind
            .parse()
            .map_err(|error| whole(Reason::Name(error)))?;
        self.container_edits.check().map_err(whole)?;
        if self.devices.is_empty() {
            return Err(whole(Reason::NoDevices));
        }
        let mut names = HashSet::new();
        for device in &self.devices {
            let fresh = names.insert(device.value.name.as_str());
            let checked = match fresh {
                true => device.value.check(),
                false => Err(Reason::Twice),
            };
            checked.map_err(|reason| Invalid {
                device: Some(device.value.name.clone()),
                line: Some(device.defined.line()),
                reason,
            })?;
        }
        let devices = self.devices.into_iter().map(|device| Device {
            name: device.value.name,
            line: device.defined.line(),
            edits: device.value.container_edits,
        });
        Ok(Spec {
            kind,
            devices: devices.collect(),
            edits: self.container_edits,
        })
    }

    fn check_version(&self) -> Result<(), Reason> {
        let said = Version::parse(&self.cdi_version)
            .ok_or_else(|| Reason::Version(self.cdi_version.clone()))?;
        let (needed, feature) = version::needed(self);
        if said < needed {
            return Err(Reason::TooOld {
                feature,
                needed: needed.as_str(),
                said: self.cdi_version.clone(),
            });
        }
        Ok(())
    }
}

impl RawDevice {
    fn check(&self) -> Result<(), Reason> {
        cdi::check_device(&self.name)?;
        if self.container_edits.is_empty() {
            return Err(Reason::NoEdits);
        }
        self.container_edits.check()
    }
}

impl ContainerEdits {
    fn check(&self) -> Result<(), Reason> {
        each("env", &self.env, |text| check_env(text))?;
        each("deviceNodes", &self.device_nodes, DeviceNode::check)?;
        each("hooks", &self.hooks, Hook::check)?;
        each("mounts", &self.mounts, |mount| {
            require("hostPath", &mount.host_path)?;
            require("containerPath", &mount.container_path)
        })?;
        let (mut outside, mut inside) = (HashSet::new(), HashSet::new());
        each("netDevices", &self.net_devices, |device| {
            require("hostInterfaceName", &device.host_interface_name)?;
            require("name", &device.name)?;
            for (names, name) in [
                (&mut outside, &device.host_interface_name),
                (&mut inside, &device.name),
            ] {
                if !names.insert(name.clone()) {
                    return Err(EditError::Twice(name.clone()));
                }
            }
            Ok(())
        })?;
        self.intel_rdt.as_ref().map_or(Ok(()), IntelRdt::check)
    }
}

/// Checks the items of a list.
fn each<T>(
    field: &'static str,
    items: &[T],
    mut check: impl FnMut(&T) -> Result<(), EditError>,
) -> Result<(), Reason> {
    for (i, item) in items.iter().enumerate() {
        let index = i + 1;
        check(item).map_err(|what| Reason::Edit { field, index, what })?;
    }
    Ok(())
}

fn require(field: &'static str, text: &str) -> Result<(), EditError> {
    match text {
        "" => Err(EditError::Missing(field)),
        _ => Ok(()),
    }
}

fn check_env(text: &str) -> Result<(), EditError> {
    match text.find('=') {
        None | Some(0) => Err(EditError::Env(text.to_owned())),
        Some(_) => Ok(()),
    }
}

impl DeviceNode {
    fn check(&self) -> Result<(), EditError> {
        require("path", &self.path)?;
        if !self.kind.is_empty() && DeviceKind::from_letter(&self.kind).is_none() {
            return Err(EditError::NodeType(self.kind.clone()));
        }
        let known = self
            .permissions
            .chars()
            .all(|c| matches!(c, 'r' | 'w' | 'm'));
        match known || self.permissions == "none" {
            true => Ok(()),
            false => Err(EditError::Permissions(self.permissions.clone())),
        }
    }
}

impl Hook {
    fn check(&self) -> Result<(), EditError> {
        if HookStage::from_name(&self.hook_name).is_none() {
            return Err(EditError::HookName(self.hook_name.clone()));
        }
        require("path", &self.path)?;
        self.env.iter().try_for_each(|text| check_env(text))
    }
}

impl IntelRdt {
    fn check(&self) -> Result<(), Reason> {
        let id = self.clos_id.as_str();
        let folder =
            id.len() <= MAX_CLOS_ID && !matches!(id, "." | "..") && !id.contains(['/', '\n']);
        match folder || id == "/" {
            true => Ok(()),
            false => Err(Reason::ClosId(id.to_owned())),
        }
    }
}
