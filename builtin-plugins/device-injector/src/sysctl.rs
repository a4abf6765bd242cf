//! The annotation `sysctl.noderesource.dev`.

use nri_plugin_api::Adjustment;

use crate::annotation::Value;
use crate::problems::Problems;
use crate::settings::Settings;

/// Whether a text can be the name of a kernel parameter, with dots between its parts. The other
/// spelling, with slashes, is not taken: it would be a second name for the same parameter.
pub(crate) fn is_sysctl_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '=');
        !part.is_empty() && !part.contains(is_odd)
    };
    !text.starts_with('-') && text.split('.').all(is_part)
}

/// Adds the parameters that are allowed, and tells which they are.
pub(crate) fn inject(
    value: &Value<'_>,
    settings: &Settings,
    adjustment: &mut Adjustment,
    problems: &mut Problems,
) -> Vec<String> {
    let mut injected = Vec::new();
    for (place, name, content) in value.pairs(problems) {
        if !is_sysctl_name(name) || !name.contains('.') {
            let what = "expected the name of a kernel parameter, such as \"net.core.somaxconn\"";
            problems.add(place, what);
        } else if !settings.sysctls.allow(name) {
            let advice = settings.advice("allow_sysctls", name);
            problems.deny(place, format_args!("not allowed on this node: {advice}"));
        } else {
            match adjustment.set_sysctl(name, content) {
                Ok(_) => injected.push(format!("{name}={content}")),
                Err(error) => {
                    problems.add(place, error);
                }
            }
        }
    }
    injected
}
