//! From what CDI files say to what NRI can express.
//!
//! What NRI cannot express is a gap: by default the container is not created, since a device that is
//! only half there, or more open than its vendor wants it, is worse than none. What would do harm
//! is refused in any case.

mod device;
mod rdt;

use std::fmt;
use std::path::Path;

use nri_plugin_api::api::User;
use nri_plugin_api::{Adjustment, AdjustmentError, Hook, HookStage, Mount, Resources};

use crate::edits::{Edits, Origin};
use crate::problems::Problems;
use crate::runtime::Capabilities;
use crate::settings::OnUnsupported;
use crate::spec;

/// The version of NRI that network devices and RDT need.
const NRI_0_11: &str = "NRI 0.11";

/// Makes an adjustment for one container.
#[derive(Debug)]
pub(crate) struct Translator<'a> {
    pub(crate) capabilities: Capabilities,
    pub(crate) on_unsupported: OnUnsupported,
    pub(crate) host_root: &'a Path,
    /// Whom the container's process runs as, if the runtime says it.
    pub(crate) user: Option<&'a User>,
    pub(crate) problems: &'a mut Problems,
    /// What was left out, see [`OnUnsupported::Warn`].
    pub(crate) gaps: Vec<String>,
    /// What several edits add to, and an adjustment takes once.
    pub(crate) resources: Resources,
}

/// An edit that was refused or left out: it is noted already.
struct Dropped;

impl Translator<'_> {
    /// The adjustment, which is not to be used if there are problems.
    pub(crate) fn adjustment(&mut self, edits: &Edits<'_>) -> Adjustment {
        let mut adjustment = Adjustment::new();
        for ((name, value), origin) in edits.env.iter() {
            let set = adjustment.set_env(*name, *value);
            self.checked(origin, set);
        }
        for (node, origin) in edits.device_nodes.iter() {
            let _ = self.device_node(node, origin, &mut adjustment);
        }
        self.net_devices(edits, &mut adjustment);
        self.mounts(edits, &mut adjustment);
        for (hook, origin) in &edits.hooks {
            let _ = self.hook(hook, origin, &mut adjustment);
        }
        if let Some((rdt, origin)) = edits.intel_rdt {
            self.intel_rdt(rdt, &origin, &mut adjustment);
        }
        if let Some((_, origin)) = edits.additional_gids.first() {
            let gids: Vec<_> = edits.additional_gids.iter().map(|(gid, _)| gid).collect();
            let what = format_args!("additionalGids {gids:?}: no version of NRI can add groups");
            self.gap(origin, what);
        }
        let resources = std::mem::take(&mut self.resources);
        if resources != Resources::new()
            && let Err(error) = adjustment.set_resources(resources)
        {
            self.problems.add(error);
        }
        adjustment
    }

    /// Something that no container gets.
    fn refuse(&mut self, origin: &Origin<'_>, what: impl fmt::Display) -> Dropped {
        self.problems.add(format_args!("{origin}: {what}"));
        Dropped
    }

    /// Something that NRI cannot express.
    fn gap(&mut self, origin: &Origin<'_>, what: impl fmt::Display) -> Dropped {
        match self.on_unsupported {
            OnUnsupported::Fail => self.refuse(origin, what),
            OnUnsupported::Warn => {
                self.gaps.push(format!("{origin}: {what}"));
                Dropped
            }
        }
    }

    /// What the builder of adjustments says: it knows what would remove something, and what the
    /// runtime would refuse.
    fn checked<T>(&mut self, origin: &Origin<'_>, result: Result<T, AdjustmentError>) {
        if let Err(error) = result {
            self.refuse(origin, error);
        }
    }

    fn require_absolute(
        &mut self,
        origin: &Origin<'_>,
        what: &str,
        path: &str,
    ) -> Result<(), Dropped> {
        match path.starts_with('/') {
            true => Ok(()),
            false => Err(self.refuse(origin, format_args!("{what} {path:?} is no absolute path"))),
        }
    }

    fn net_devices(&mut self, edits: &Edits<'_>, adjustment: &mut Adjustment) {
        for (device, origin) in &edits.contested {
            let name = &device.host_interface_name;
            let what = format_args!("netDevices: another device takes {name:?} already");
            self.refuse(origin, what);
        }
        for (device, origin) in edits.net_devices.iter() {
            let name = &device.host_interface_name;
            if !self.capabilities.net_devices_and_rdt {
                self.gap(
                    origin,
                    format_args!("netDevices: {name:?} needs {NRI_0_11}"),
                );
            } else {
                let inside = Some(device.name.as_str()).filter(|name| !name.is_empty());
                let added = adjustment.add_net_device(name, inside);
                self.checked(origin, added);
            }
        }
    }

    fn mounts(&mut self, edits: &Edits<'_>, adjustment: &mut Adjustment) {
        // What a mount that propagates asks of the runtime, the runtime does for those behind it
        // as well.
        let (last, first): (Vec<_>, Vec<_>) = edits
            .mounts
            .iter()
            .partition(|(mount, _)| propagates(mount));
        for (mount, origin) in first.into_iter().chain(last) {
            let _ = self.mount(mount, &origin, adjustment);
        }
    }

    fn mount(
        &mut self,
        mount: &spec::Mount,
        origin: &Origin<'_>,
        adjustment: &mut Adjustment,
    ) -> Result<(), Dropped> {
        self.require_absolute(origin, "mounts: containerPath", &mount.container_path)?;
        if is_bind(mount) {
            self.require_absolute(origin, "mounts: hostPath", &mount.host_path)?;
        }
        let translated = Mount::new(
            mount.kind.as_str(),
            mount.host_path.as_str(),
            mount.container_path.as_str(),
        )
        .options(&mount.options);
        let added = adjustment.add_mount(translated);
        self.checked(origin, added);
        Ok(())
    }

    fn hook(
        &mut self,
        hook: &spec::Hook,
        origin: &Origin<'_>,
        adjustment: &mut Adjustment,
    ) -> Result<(), Dropped> {
        self.require_absolute(
            origin,
            &format!("hooks: path of {}", hook.hook_name),
            &hook.path,
        )?;
        let Some(stage) = HookStage::from_name(&hook.hook_name) else {
            let what = format_args!("hooks: there is no stage {:?}", hook.hook_name);
            return Err(self.refuse(origin, what));
        };
        let mut translated = Hook::new(&hook.path).args(&hook.args).envs(&hook.env);
        if let Some(seconds) = hook.timeout {
            translated = translated.timeout(seconds);
        }
        adjustment.add_hook_as_it_is(stage, translated);
        Ok(())
    }
}

fn is_bind(mount: &spec::Mount) -> bool {
    let binds = |option: &String| matches!(option.as_str(), "bind" | "rbind");
    matches!(mount.kind.as_str(), "" | "none" | "bind") || mount.options.iter().any(binds)
}

fn propagates(mount: &spec::Mount) -> bool {
    let shares =
        |option: &String| matches!(option.as_str(), "shared" | "rshared" | "slave" | "rslave");
    mount.options.iter().any(shares)
}
