//! The times that a runtime gives to plugins.

use std::time::Duration;

use super::super::finding::Finding;
use super::layers::Setting;
use super::{Kind, Runtime};
use crate::config::Config;

/// Less than this is gone before a component has begun: the host answers 50 ms before the end.
const SHORT_REQUEST_TIMEOUT: Duration = Duration::from_millis(500);
/// A node under pressure takes as long until a plugin has registered.
const SHORT_REGISTRATION_TIMEOUT: Duration = Duration::from_secs(2);
/// Looks at the times of the runtime, and at those of components beside them.
pub(super) fn judge(runtime: &Runtime, config: &Config, findings: &mut Vec<Finding>) {
    let (request, registration) = match runtime.kind() {
        Kind::Containerd => ("plugin_request_timeout", "plugin_registration_timeout"),
        Kind::Crio => (
            "nri_plugin_request_timeout",
            "nri_plugin_registration_timeout",
        ),
    };
    findings.extend(short_request(runtime, request));
    findings.extend(short_registration(runtime, registration));
    let limit = runtime.settings.request_timeout.value;
    for component in config.components.iter().filter(|one| one.enabled) {
        let Some(timeout) = component.timeout.filter(|timeout| *timeout >= limit) else {
            continue;
        };
        let plugin = component.plugin_name();
        let what = format!(
            "timeout = {timeout:?} of {plugin} is not less than what {runtime} gives a request, \
             {limit:?}"
        );
        findings.push(
            Finding::warning("timeout-without-effect", what)
                .because("The host answers before the runtime's time is over, whatever it is.")
                .say(format!(
                    "Shorten it, or give {request} more, or leave it out."
                )),
        );
    }
}

fn short_request(runtime: &Runtime, key: &str) -> Option<Finding> {
    let Setting { value, file } = &runtime.settings.request_timeout;
    if *value >= SHORT_REQUEST_TIMEOUT {
        return None;
    }
    let what = format!("{runtime} gives a plugin {value:?} for a request");
    let finding = Finding::warning("request-timeout-short", what)
        .because("On a busy node components will be late, and their calls answered for them.");
    Some(runtime.set_in_nri(finding, &format!("{key} = \"2s\""), file.as_deref()))
}

fn short_registration(runtime: &Runtime, key: &str) -> Option<Finding> {
    let Setting { value, file } = &runtime.settings.registration_timeout;
    if *value >= SHORT_REGISTRATION_TIMEOUT {
        return None;
    }
    let what = format!("{runtime} gives a plugin {value:?} to register");
    let finding = Finding::warning("registration-timeout-short", what)
        .because("On a busy node components will not come through.");
    Some(runtime.set_in_nri(finding, &format!("{key} = \"5s\""), file.as_deref()))
}
