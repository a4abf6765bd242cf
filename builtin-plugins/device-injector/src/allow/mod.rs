//! What the administrator of the node allows.
//!
//! Each list of the settings has rules of a kind of its own. An empty list allows nothing, `*`
//! allows all.

mod cdi;
mod device;
mod mount;
mod named;
mod namespace;
mod net_device;
mod path;
mod sysctl;

pub(crate) use cdi::CdiRule;
pub(crate) use device::{AllowedDevices, DeviceRule};
pub(crate) use mount::MountRule;
pub(crate) use named::NamedRule;
pub(crate) use namespace::NamespaceRule;
pub(crate) use net_device::NetDeviceRule;
pub(crate) use sysctl::SysctlRule;

use nri_plugin_api::cdi::NameError;

use crate::names::UnknownName;

/// The rule that allows all.
const ANY: &str = "*";

/// Rules of one kind. What one of them allows is allowed.
#[derive(Debug)]
pub(crate) struct AllowList<R> {
    rules: Vec<R>,
}

impl<R> AllowList<R> {
    pub(crate) fn new(rules: Vec<R>) -> Self {
        Self { rules }
    }
}

/// Why a rule cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("expected the path of a device node, a number such as \"c 10:229\", or \"*\"")]
    Device,
    #[error("expected a number such as \"c 10:229\", where each number can be \"*\"")]
    DeviceNumber,
    #[error("\"**\" can only be below /dev: elsewhere the look for devices may take long")]
    Recursive,
    #[error("expected an absolute path, a type of file system such as \"tmpfs\", or \"*\"")]
    Mount,
    #[error("bind mounts are allowed by the path of their source")]
    BindMount,
    #[error("\".\" and \"..\" cannot be part of a rule")]
    DotComponent,
    #[error("expected \"vendor.com/class\", \"vendor.com/class=name\", or \"*\"")]
    CdiDevice(#[source] NameError),
    #[error("expected the name of a namespace, or a glob")]
    Namespace,
    #[error("expected the name of a network device on the host, or a glob")]
    NetDevice,
    #[error(
        "expected a name such as \"net.core.somaxconn\", a start such as \"net.core.*\", or \"*\""
    )]
    Sysctl,
    #[error("this is neither \"*\" nor a name")]
    Name(#[source] UnknownName),
    #[error("this is no glob")]
    Glob(#[source] glob::PatternError),
}
