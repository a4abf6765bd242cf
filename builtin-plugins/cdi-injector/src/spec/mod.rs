//! What CDI files say: the fields of CDI 1.1.0, as the specification names them.
//!
//! [`Spec::parse`] reads a text, which is checked as a whole; [`load`] reads a file.

mod check;
mod file;
mod lenient;
mod version;
mod yaml;

pub use check::Invalid;
pub(crate) use file::FileStamp;
pub use file::{LoadError, load};
pub use yaml::ParseError;

use std::collections::BTreeMap;

use nri_plugin_api::cdi::Kind;
use serde::Deserialize;

use lenient::{or_default, permission_bits};

/// A CDI file, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// What its devices are.
    pub kind: Kind,
    /// The devices, each name once.
    pub devices: Vec<Device>,
    /// What each container gets that gets one of the devices.
    pub edits: ContainerEdits,
}

/// A device of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The last part of its qualified name.
    pub name: String,
    /// Where it is in the file, counted from 1.
    pub line: u64,
    /// What a container gets.
    pub edits: ContainerEdits,
}

/// Changes to a container.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContainerEdits {
    /// Variables, as `NAME=value`.
    #[serde(deserialize_with = "or_default")]
    pub env: Vec<String>,
    /// Device nodes.
    #[serde(deserialize_with = "or_default")]
    pub device_nodes: Vec<DeviceNode>,
    /// Network devices.
    #[serde(deserialize_with = "or_default")]
    pub net_devices: Vec<NetDevice>,
    /// OCI hooks.
    #[serde(deserialize_with = "or_default")]
    pub hooks: Vec<Hook>,
    /// Mounts.
    #[serde(deserialize_with = "or_default")]
    pub mounts: Vec<Mount>,
    /// Resource Director Technology.
    pub intel_rdt: Option<IntelRdt>,
    /// Groups of the container's process; 0 says nothing.
    #[serde(rename = "additionalGids", deserialize_with = "or_default")]
    pub additional_gids: Vec<u32>,
}

impl ContainerEdits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A device node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DeviceNode {
    /// Inside the container.
    pub path: String,
    /// On the host; empty: the same path.
    #[serde(deserialize_with = "or_default")]
    pub host_path: String,
    /// `b`, `c`, `u`, `p`, or empty.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// Device number; with `minor` 0 it is taken from the host's node.
    #[serde(deserialize_with = "or_default")]
    pub major: i64,
    /// See `major`.
    #[serde(deserialize_with = "or_default")]
    pub minor: i64,
    /// Permission bits.
    #[serde(deserialize_with = "permission_bits")]
    pub file_mode: Option<u32>,
    /// What the container may do: some of `rwm`, `none`, or empty for all.
    #[serde(deserialize_with = "or_default")]
    pub permissions: String,
    /// Owner.
    pub uid: Option<u32>,
    /// Owning group.
    pub gid: Option<u32>,
}

impl DeviceNode {
    /// The path on the host.
    pub fn path_on_host(&self) -> &str {
        match self.host_path.as_str() {
            "" => &self.path,
            host_path => host_path,
        }
    }
}

/// A network device that is moved into the container.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NetDevice {
    /// Its name on the host.
    pub host_interface_name: String,
    /// Its name inside.
    pub name: String,
}

/// An OCI hook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Hook {
    /// When it runs: `createContainer` and the like.
    pub hook_name: String,
    /// The program, on the host.
    pub path: String,
    /// Its arguments, its own name first.
    #[serde(deserialize_with = "or_default")]
    pub args: Vec<String>,
    /// Its environment.
    #[serde(deserialize_with = "or_default")]
    pub env: Vec<String>,
    /// Seconds.
    pub timeout: Option<i64>,
}

/// A mount.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Mount {
    /// What is mounted.
    pub host_path: String,
    /// Where, inside the container.
    pub container_path: String,
    /// Type of file system.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// Mount options.
    #[serde(deserialize_with = "or_default")]
    pub options: Vec<String>,
}

/// Resource Director Technology.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntelRdt {
    /// Class of service.
    #[serde(rename = "closID", deserialize_with = "or_default")]
    pub clos_id: String,
    /// Schema of the L3 cache.
    #[serde(rename = "l3CacheSchema", deserialize_with = "or_default")]
    pub l3_cache_schema: String,
    /// Schema of the memory's bandwidth.
    #[serde(rename = "memBwSchema", deserialize_with = "or_default")]
    pub mem_bw_schema: String,
    /// Lines of the schemata file.
    pub schemata: Option<Vec<String>>,
    /// Whether it is monitored.
    #[serde(rename = "enableMonitoring", deserialize_with = "or_default")]
    pub enable_monitoring: bool,
}

/// A CDI file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RawSpec {
    #[serde(deserialize_with = "or_default")]
    cdi_version: String,
    #[serde(deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    annotations: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    devices: Vec<serde_saphyr::Spanned<RawDevice>>,
    #[serde(deserialize_with = "or_default")]
    container_edits: ContainerEdits,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RawDevice {
    name: String,
    #[serde(deserialize_with = "or_default")]
    annotations: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    container_edits: ContainerEdits,
}

impl Spec {
    /// Reads the text of a file, which is YAML or JSON.
    ///
    /// # Errors
    ///
    /// It cannot be read, is larger than the limits once its aliases are expanded, or says what CDI
    /// does not allow.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let raw = yaml::parse(text)?;
        Ok(raw.check()?)
    }
}
