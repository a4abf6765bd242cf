//! Device nodes, and what the container may do with them.

use nri_plugin_api::{Adjustment, Device, DeviceKind, DeviceRule};

use super::{Dropped, Translator};
use crate::edits::Origin;
use crate::host_node::complete;
use crate::spec::DeviceNode;

impl Translator<'_> {
    pub(super) fn device_node(
        &mut self,
        node: &DeviceNode,
        origin: &Origin<'_>,
        adjustment: &mut Adjustment,
    ) -> Result<(), Dropped> {
        let path = &node.path;
        self.require_absolute(origin, "deviceNodes: path", path)?;
        let complete = complete(node, self.host_root)
            .map_err(|error| self.refuse(origin, format_args!("deviceNodes: {path:?}: {error}")))?;
        let numbers = (u32::try_from(complete.major), u32::try_from(complete.minor));
        let (Ok(major), Ok(minor)) = numbers else {
            let (major, minor) = (complete.major, complete.minor);
            let what = format_args!("deviceNodes: {path:?}: {major}:{minor} is no device number");
            return Err(self.refuse(origin, what));
        };
        let kind = complete.kind;
        if kind == DeviceKind::Fifo {
            let what = format_args!("deviceNodes: {path:?}: NRI gives containers no FIFOs");
            return Err(self.gap(origin, what));
        }
        self.check_permissions(node, kind, origin)?;
        let mut device = Device::new(path.as_str(), kind, major, minor);
        if let Some(mode) = complete.file_mode {
            device = device.file_mode(mode);
        }
        let process = |id: u32| (id > 0).then_some(id);
        if let Some(uid) = node.uid.or_else(|| process(self.user?.uid)) {
            device = device.uid(uid);
        }
        if let Some(gid) = node.gid.or_else(|| process(self.user?.gid)) {
            device = device.gid(gid);
        }
        let added = adjustment.add_device(device);
        self.checked(origin, added);
        if kind == DeviceKind::Character && may_make_nodes(node) {
            self.let_make_nodes(major, minor);
        }
        Ok(())
    }

    /// Runtimes let containers read and write a device of NRI, and make nodes of block devices.
    fn check_permissions(
        &mut self,
        node: &DeviceNode,
        kind: DeviceKind,
        origin: &Origin<'_>,
    ) -> Result<(), Dropped> {
        let granted = match kind {
            DeviceKind::Block => "rwm",
            _ => "rw",
        };
        let wanted = |c| node.permissions.is_empty() || node.permissions.contains(c);
        if node.permissions != "none" && granted.chars().all(wanted) {
            return Ok(());
        }
        let what = format_args!(
            "deviceNodes: {:?}: permissions {:?}: NRI always grants {granted:?}",
            node.path, node.permissions
        );
        Err(self.gap(origin, what))
    }

    /// What a rule can add to what comes with the device. Where the runtime does not take rules of
    /// plugins it is lost, which nothing but `mknod` inside the container notices.
    fn let_make_nodes(&mut self, major: u32, minor: u32) {
        if !self.capabilities.device_rules {
            return;
        }
        let rule = DeviceRule::allow("m").kind(DeviceKind::Character);
        let resources = std::mem::take(&mut self.resources);
        self.resources = resources.device_rule(rule.major(major).minor(minor));
    }
}

fn may_make_nodes(node: &DeviceNode) -> bool {
    node.permissions.is_empty() || node.permissions.contains('m')
}
