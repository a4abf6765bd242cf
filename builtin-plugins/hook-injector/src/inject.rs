//! From hooks to an adjustment.

use nri_plugin_api::protobuf::MessageField;
use nri_plugin_api::{Adjustment, api};

use crate::hook::{Hook, Stage};
use crate::table::ActiveHook;

/// Adds each hook at each of its stages, in this order.
///
/// As it stands in the file, relative paths and timeouts below a second included: what becomes of
/// those depends on the OCI runtime, so they are told as problems of the file and not refused here.
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

fn list(hooks: &mut api::Hooks, stage: Stage) -> &mut Vec<api::Hook> {
    match stage {
        Stage::Prestart | Stage::CreateRuntime => &mut hooks.create_runtime,
        Stage::CreateContainer => &mut hooks.create_container,
        Stage::StartContainer => &mut hooks.start_container,
        Stage::Poststart => &mut hooks.poststart,
        Stage::Poststop => &mut hooks.poststop,
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
