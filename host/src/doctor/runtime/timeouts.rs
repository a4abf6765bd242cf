//! The times that a runtime gives to plugins.

use std::time::Duration;

use super::super::finding::Finding;
use super::{Kind, Runtime};
use crate::config::Config;

/// Less than this is gone before a component has begun: the host answers 50 ms before the end.
const SHORT_REQUEST_TIMEOUT: Duration = Duration::from_millis(500);
/// A node under pressure takes as long until a plugin has registered.
const SHORT_REGISTRATION_TIMEOUT: Duration = Duration::from_secs(2);
/// Looks at the times of the runtime, and at those of components beside them.
pub(super) fn judge(runtime: &Runtime, config: &Config, findings: &mut Vec<Finding>) {
    let settings = &runtime.settings;
    let limit = settings.request_timeout.value;
    let (request, registration) = match runtime.kind() {
        Kind::Containerd => ("plugin_request_timeout", "plugin_registration_timeout"),
        Kind::Crio => (
            "nri_plugin_request_timeout",
            "nri_plugin_registration_timeout",
        ),
    };
    if limit < SHORT_REQUEST_TIMEOUT {
        let finding = Finding::warning(
            "request-timeout-short",
            format!("{runtime} gives a plugin {limit:?} for a request"),
        )
        .because("On a busy node components will be late, and their calls answered for them.");
        let file = settings.request_timeout.file.as_deref();
        findings.push(runtime.set_in_nri(finding, &format!("{request} = \"2s\""), file));
    }
    if settings.registration_timeout.value < SHORT_REGISTRATION_TIMEOUT {
        let finding = Finding::warning(
            "registration-timeout-short",
            format!(
                "{runtime} gives a plugin {:?} to register",
                settings.registration_timeout.value
            ),
        )
        .because("On a busy node components will not come through.");
        let file = settings.registration_timeout.file.as_deref();
        findings.push(runtime.set_in_nri(finding, &format!("{registration} = \"5s\""), file));
    }
    let enabled = config
        .components
        .iter()
        .filter(|component| component.enabled);
    for component in enabled {
        if let Some(timeout) = component.timeout.filter(|timeout| *timeout >= limit) {
            findings.push(
                Finding::warning(
                    "timeout-without-effect",
                    format!(
                        "timeout = {timeout:?} of {} is not less than what {runtime} gives a \
                         request, {limit:?}",
                        component.plugin_name()
                    ),
                )
                .because("The host answers before the runtime's time is over, whatever it is.")
                .say(format!(
                    "Shorten it, or give {request} more, or leave it out."
                )),
            );
        }
    }
}
