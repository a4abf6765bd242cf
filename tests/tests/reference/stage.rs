//! What the tests here have in common.

use anyhow::Result;
use nri_host_tests::host::Component;
use nri_host_tests::reference::{self, Options, Reference};
use nri_host_tests::{pods, tier};
use nri_plugin_api::api::CreateContainerRequest;
use protobuf::MessageField;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A runtime in a folder of its own.
pub(crate) struct Stage {
    pub(crate) runtime: Reference,
    pub(crate) dir: TempDir,
}

impl Stage {
    /// A runtime that listens, or nothing if the test is to be skipped.
    pub(crate) fn with(options: &Options) -> Result<Option<Self>> {
        let stage = Self::silent()?;
        if let Some(stage) = &stage {
            stage.runtime.listen(options)?;
        }
        Ok(stage)
    }

    /// A runtime that does not listen yet.
    pub(crate) fn silent() -> Result<Option<Self>> {
        if tier::skipped("reference runtime", reference::missing()) {
            return Ok(None);
        }
        let dir = tempfile::tempdir()?;
        let runtime = Reference::new(&dir.path().join("nri.sock"))?;
        Ok(Some(Self { runtime, dir }))
    }
}

/// A component that does as `behaviour` says when a container is created, and
/// takes part in nothing else.
pub(crate) fn creating(name: &str, index: u8, behaviour: &Value) -> Component {
    let config = json!({
        "methods": ["CreateContainer"],
        "on": { "CreateContainer": behaviour },
    });
    Component::faulty(name, index, config)
}

/// A request for a container of common size.
pub(crate) fn create_container(pod: &str, container: &str) -> CreateContainerRequest {
    let pod = pods::pod(pod).build();
    let container = pods::container(&pod, container).build();
    CreateContainerRequest {
        pod: MessageField::some(pod),
        container: MessageField::some(container),
        ..CreateContainerRequest::default()
    }
}
