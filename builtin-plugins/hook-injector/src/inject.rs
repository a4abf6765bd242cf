//! From hooks to an adjustment.

use nri_plugin_api::protobuf::MessageField;
use nri_plugin_api::{Adjustment, HookStage, api};

use crate::hook::Hook;
use crate::table::ActiveHook;

/// Adds each hook at each of its stages, in this order.
///
/// As it stands in the file, relative paths and timeouts below a second included: what becomes of
/// those depends on the OCI runtime, so they are told as problems of the file and not refused here,
/// as the builder of hooks would.
pub(crate) fn adjustment(hooks: &[&ActiveHook]) -> Adjustment {
    let mut message = api::Hooks::new();
    for active in hooks {
        for stage in active.stages() {
            list(&mut message, *stage).push(to_message(active.hook()));
        }
    }
    let mut adjustment = Adjustment::new();
    if message != api::Hooks::default() {
        adjustment.message_mut().hooks = MessageField::some(message);
    }
    adjustment
}

/// Hook files say `prestart` where OCI says `createRuntime` by now; both run there.
fn list(hooks: &mut api::Hooks, stage: HookStage) -> &mut Vec<api::Hook> {
    match stage {
        HookStage::Prestart | HookStage::CreateRuntime => &mut hooks.create_runtime,
        HookStage::CreateContainer => &mut hooks.create_container,
        HookStage::StartContainer => &mut hooks.start_container,
        HookStage::Poststart => &mut hooks.poststart,
        HookStage::Poststop => &mut hooks.poststop,
    }
}

fn to_message(hook: &Hook) -> api::Hook {
    let timeout = hook.timeout.map(|value| api::OptionalInt {
        value,
        ..Default::default()
    });
    api::Hook {
        path: hook.path.clone(),
        args: hook.args.clone(),
        env: hook.env.clone(),
        timeout: timeout.into(),
        ..Default::default()
    }
}
