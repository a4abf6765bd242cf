//! From hooks to an adjustment.

use nri_plugin_api::{Adjustment, HookStage};

use crate::hook::Hook;
use crate::table::ActiveHook;

/// Adds each hook at each of its stages, in this order.
///
/// As it stands in the file, relative paths and timeouts below a second included: they are told as
/// problems of the file.
pub(crate) fn adjustment(hooks: &[&ActiveHook]) -> Adjustment {
    let mut adjustment = Adjustment::new();
    for active in hooks {
        for stage in active.stages() {
            adjustment.add_hook_as_it_is(in_oci(*stage), in_nri(active.hook()));
        }
    }
    adjustment
}

/// Hook files say `prestart` where OCI says `createRuntime` by now; both run there.
fn in_oci(stage: HookStage) -> HookStage {
    match stage {
        HookStage::Prestart => HookStage::CreateRuntime,
        other => other,
    }
}

fn in_nri(hook: &Hook) -> nri_plugin_api::Hook {
    let made = nri_plugin_api::Hook::new(&hook.path)
        .args(&hook.args)
        .envs(&hook.env);
    match hook.timeout {
        Some(seconds) => made.timeout(seconds),
        None => made,
    }
}
