//! What several devices bring together.

use std::collections::HashMap;
use std::fmt;

use nri_plugin_api::cdi::DeviceName;

use crate::index::{Found, Index};
use crate::spec::{ContainerEdits, DeviceNode, Hook, IntelRdt, Mount, NetDevice};

/// Where an edit comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    found: Found<'a>,
    /// Of the device alone, or of all devices of its file.
    of_device: bool,
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.found.file;
        if self.of_device {
            write!(f, "{}={} of ", file.spec.kind, self.found.device.name)?;
        }
        write!(f, "{}", file.path.display())
    }
}

/// An edit and where it comes from.
pub(crate) type Sourced<'a, T> = (T, Origin<'a>);

/// Edits of one kind in the order of their first appearance, one for each key: the last.
#[derive(Debug)]
pub(crate) struct Keyed<'a, T> {
    items: Vec<Sourced<'a, T>>,
    positions: HashMap<&'a str, usize>,
}

impl<T> Default for Keyed<'_, T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            positions: HashMap::new(),
        }
    }
}

impl<'a, T> Keyed<'a, T> {
    /// Whether it is the first one with its key.
    fn put(&mut self, key: &'a str, item: Sourced<'a, T>) -> bool {
        match self.positions.get(key) {
            Some(position) => {
                self.items[*position] = item;
                false
            }
            None => {
                self.positions.insert(key, self.items.len());
                self.items.push(item);
                true
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sourced<'a, T>> {
        self.items.iter()
    }
}

/// The edits of several devices, merged as CDI merges them.
#[derive(Debug, Default)]
pub(crate) struct Edits<'a> {
    /// Names and values.
    pub(crate) env: Keyed<'a, (&'a str, &'a str)>,
    /// By path inside the container.
    pub(crate) device_nodes: Keyed<'a, &'a DeviceNode>,
    /// By name on the host.
    pub(crate) net_devices: Keyed<'a, &'a NetDevice>,
    /// By destination.
    pub(crate) mounts: Keyed<'a, &'a Mount>,
    /// Each once.
    pub(crate) hooks: Vec<Sourced<'a, &'a Hook>>,
    /// The last one counts, as a whole.
    pub(crate) intel_rdt: Option<Sourced<'a, &'a IntelRdt>>,
    /// Without 0, which says nothing.
    pub(crate) additional_gids: Vec<Sourced<'a, u32>>,
    /// Network devices of the host that two devices want.
    pub(crate) contested: Vec<Sourced<'a, &'a NetDevice>>,
}

/// Brings together what the devices bring, in their order: what a file has for all of its devices
/// comes once, before the first of them.
///
/// # Errors
///
/// The names that no file defines. Nothing is to be applied then.
pub(crate) fn resolve<'a, 'n>(
    index: &'a Index,
    names: &'n [DeviceName],
) -> Result<Edits<'a>, Vec<&'n DeviceName>> {
    let mut edits = Edits::default();
    let mut unknown = Vec::new();
    let mut files = Vec::new();
    for name in names {
        let Some(found) = index.find(name) else {
            unknown.push(name);
            continue;
        };
        let origin = |of_device| Origin { found, of_device };
        if !files.contains(&&found.file.path) {
            files.push(&found.file.path);
            edits.add(&found.file.spec.edits, origin(false));
        }
        edits.add(&found.device.edits, origin(true));
    }
    match unknown.is_empty() {
        true => Ok(edits),
        false => Err(unknown),
    }
}

impl<'a> Edits<'a> {
    fn add(&mut self, edits: &'a ContainerEdits, origin: Origin<'a>) {
        for env in &edits.env {
            // A file without it is not loaded.
            let (name, value) = env.split_once('=').unwrap_or((env, ""));
            self.env.put(name, ((name, value), origin));
        }
        for node in &edits.device_nodes {
            self.device_nodes.put(&node.path, (node, origin));
        }
        for device in &edits.net_devices {
            if !self
                .net_devices
                .put(&device.host_interface_name, (device, origin))
            {
                self.contested.push((device, origin));
            }
        }
        for mount in &edits.mounts {
            self.mounts.put(&mount.container_path, (mount, origin));
        }
        for hook in &edits.hooks {
            if !self.hooks.iter().any(|(other, _)| *other == hook) {
                self.hooks.push((hook, origin));
            }
        }
        if let Some(rdt) = &edits.intel_rdt {
            self.intel_rdt = Some((rdt, origin));
        }
        for gid in edits.additional_gids.iter().filter(|gid| **gid != 0) {
            self.additional_gids.push((*gid, origin));
        }
    }
}
