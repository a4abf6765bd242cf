//! Metrics of the host as a whole, and of its way to the runtime.

use std::fmt;

use super::family::{Families, truth};
use crate::admin::status::{RuntimeState, State, Status};

pub(super) fn write(status: &Status, families: &mut Families<'_>) -> fmt::Result {
    families.words(
        "nri_host_build_info",
        "Version of the host",
        [vec![("version", status.version.as_str())]],
    )?;
    families.gauges(
        "nri_host_ready",
        "Whether every required component is active and in step",
        [(vec![], truth(status.ready))],
    )?;
    let in_state = |state| {
        let components = status.components.iter();
        components.filter(|c| c.state == Some(state)).count() as f64
    };
    families.gauges(
        "nri_host_components",
        "Configured components, by state; those without a name are counted here alone",
        State::ALL.map(|state| (vec![("state", state.as_str())], in_state(state))),
    )?;
    let runtime = &status.runtime;
    families.gauges(
        "nri_host_runtime_state",
        "The way to the container runtime: 1 for the state that it is in",
        RuntimeState::ALL.map(|state| {
            let is = truth(state == runtime.state);
            (vec![("state", state.as_str())], is)
        }),
    )?;
    let known = runtime.name.as_deref().map(|name| {
        vec![
            ("name", name),
            ("version", runtime.version.as_deref().unwrap_or_default()),
            (
                "nri_version",
                runtime.nri_version.as_deref().unwrap_or_default(),
            ),
        ]
    });
    families.words(
        "nri_host_runtime_info",
        "The container runtime, while a component is connected to it",
        known,
    )
}
