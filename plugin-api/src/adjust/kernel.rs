//! What a container sees of the kernel: its namespaces, kernel parameters and network devices.

use super::error::{AdjustmentError, Item, check_absolute, check_name, check_new};
use super::{Adjustment, removal};
use crate::api;

/// A kind of Linux namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NamespaceKind {
    /// Control groups.
    Cgroup,
    /// System V IPC and POSIX message queues.
    Ipc,
    /// Mount points.
    Mount,
    /// Network devices, addresses, ports.
    Network,
    /// Processes.
    Pid,
    /// Boot and monotonic clocks.
    Time,
    /// Users and groups.
    User,
    /// Host and domain name.
    Uts,
}

impl NamespaceKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Cgroup,
        Self::Ipc,
        Self::Mount,
        Self::Network,
        Self::Pid,
        Self::Time,
        Self::User,
        Self::Uts,
    ];

    /// Its name in the OCI runtime specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Ipc => "ipc",
            Self::Mount => "mount",
            Self::Network => "network",
            Self::Pid => "pid",
            Self::Time => "time",
            Self::User => "user",
            Self::Uts => "uts",
        }
    }

    /// The kind with this name in the OCI runtime specification.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Adjustment {
    /// Gives the container a new namespace of its own. Known since NRI 0.10, as are the next two.
    ///
    /// # Errors
    ///
    /// A namespace of this kind is set or removed already.
    pub fn set_new_namespace(&mut self, kind: NamespaceKind) -> Result<&mut Self, AdjustmentError> {
        self.add_namespace(kind, kind.name().to_owned(), String::new())
    }

    /// Lets the container join the namespace behind an absolute path of the host.
    ///
    /// # Errors
    ///
    /// The path is not absolute, or a namespace of this kind is set or removed already.
    pub fn join_namespace(
        &mut self,
        kind: NamespaceKind,
        path: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let path = path.into();
        check_absolute(Item::Namespace, &path)?;
        self.add_namespace(kind, kind.name().to_owned(), path)
    }

    /// Leaves the container in the namespace of this kind that the OCI runtime itself is in.
    ///
    /// Unlike other removals this one cannot be combined with setting: a runtime takes both as a
    /// claim to the namespace.
    ///
    /// # Errors
    ///
    /// A namespace of this kind is set or removed already.
    pub fn remove_namespace(&mut self, kind: NamespaceKind) -> Result<&mut Self, AdjustmentError> {
        self.add_namespace(kind, removal(kind.name()), String::new())
    }

    fn add_namespace(
        &mut self,
        kind: NamespaceKind,
        type_: String,
        path: String,
    ) -> Result<&mut Self, AdjustmentError> {
        let namespaces = &mut self.linux().namespaces;
        let name = kind.name();
        let names = namespaces.iter().map(|namespace| namespace.type_.as_str());
        check_new(Item::Namespace, &type_, names)?;
        if namespaces
            .iter()
            .any(|n| n.type_.trim_start_matches('-') == name)
        {
            return Err(AdjustmentError::RemovedAndSet { name });
        }
        namespaces.push(api::LinuxNamespace {
            type_,
            path,
            ..Default::default()
        });
        Ok(self)
    }

    /// Sets a kernel parameter, such as `net.core.somaxconn`. Known since NRI 0.11. The host keeps
    /// it from runtimes with NRI 0.11.0, whose process would end.
    ///
    /// # Errors
    ///
    /// The name is empty, starts with `-`, or is set already.
    pub fn set_sysctl(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<&mut Self, AdjustmentError> {
        let name = name.into();
        check_name(Item::Sysctl, &name)?;
        let sysctl = &mut self.linux().sysctl;
        check_new(Item::Sysctl, &name, sysctl.keys().map(String::as_str))?;
        sysctl.insert(name, value.into());
        Ok(self)
    }

    /// Removes a kernel parameter. Runtimes before NRI 0.12.3 take it for the removal of an
    /// annotation, unless the parameter is set as well.
    ///
    /// Combined with [`Self::set_sysctl`] of the same name it overrides what a plugin before this
    /// one set, but the two travel in one map, and runtimes apply them in no fixed order.
    ///
    /// # Errors
    ///
    /// The name is empty or starts with `-`.
    pub fn remove_sysctl(&mut self, name: &str) -> Result<&mut Self, AdjustmentError> {
        check_name(Item::Sysctl, name)?;
        self.linux().sysctl.insert(removal(name), String::new());
        Ok(self)
    }

    /// Moves a network device of the host into the container, where it gets the name `inside`, or
    /// keeps its own. Known since NRI 0.11, and by OCI runtimes with version 1.3 of their
    /// specification.
    ///
    /// # Errors
    ///
    /// One of the names is none for Linux or starts with `-`, or the device is moved already.
    pub fn add_net_device(
        &mut self,
        host_name: impl Into<String>,
        inside: Option<&str>,
    ) -> Result<&mut Self, AdjustmentError> {
        let host_name = host_name.into();
        check_net_device(&host_name)?;
        inside.map_or(Ok(()), check_net_device)?;
        let devices = &mut self.linux().net_devices;
        let names = devices.keys().map(String::as_str);
        check_new(Item::NetDevice, &host_name, names)?;
        let device = api::LinuxNetDevice {
            name: inside.unwrap_or_default().to_owned(),
            ..Default::default()
        };
        devices.insert(host_name, device);
        Ok(self)
    }

    /// Leaves a network device on the host, by its name there.
    ///
    /// What was said of [`Self::remove_sysctl`] and setting holds for it, too.
    ///
    /// # Errors
    ///
    /// The name is none for Linux or starts with `-`.
    pub fn remove_net_device(&mut self, host_name: &str) -> Result<&mut Self, AdjustmentError> {
        check_net_device(host_name)?;
        let devices = &mut self.linux().net_devices;
        devices.insert(removal(host_name), api::LinuxNetDevice::new());
        Ok(self)
    }
}

/// Checks what Linux checks of the name of a network device.
fn check_net_device(name: &str) -> Result<(), AdjustmentError> {
    check_name(Item::NetDevice, name)?;
    let is_forbidden = |byte: u8| matches!(byte, b'/' | b':' | 0) || byte.is_ascii_whitespace();
    if name.len() > 15 || matches!(name, "." | "..") || name.bytes().any(is_forbidden) {
        return Err(AdjustmentError::NetDeviceName {
            name: name.to_owned(),
        });
    }
    Ok(())
}
