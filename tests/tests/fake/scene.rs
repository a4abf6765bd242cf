//! A runtime, a host, and one component under test beside another that must not notice.

use anyhow::Result;
use nri_host_tests::artifacts::c_component;
use nri_host_tests::fake_runtime::{Builder, CallError, FakeRuntime, Plugin, Profile, Reply};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use nri_plugin_api::api::{Container, CreateContainerResponse, PodSandbox};
use serde_json::json;

use crate::callbacks::all_methods;

/// Name of the component under test.
pub(crate) const SUBJECT: &str = "subject";
const BYSTANDER: &str = "bystander";

/// Everything that a test of one component needs.
pub(crate) struct Scene {
    pub(crate) runtime: FakeRuntime,
    pub(crate) host: Host,
    /// The component under test, as the runtime sees it.
    pub(crate) plugin: Plugin,
    bystander: Plugin,
    pub(crate) pod: PodSandbox,
    pub(crate) container: Container,
}

/// A component under test that does `behaviour` in each of the fourteen calls. It does not take
/// part in synchronization, so it has no state to lose. It is never quarantined, however often it
/// fails.
pub(crate) fn in_every_call(behaviour: &serde_json::Value) -> Component {
    let on: serde_json::Map<_, _> = all_methods()
        .into_iter()
        .map(|method| (method.to_owned(), behaviour.clone()))
        .collect();
    Component::faulty(SUBJECT, 10, json!({ "methods": all_methods(), "on": on }))
        .never_quarantined()
}

/// A component under test that breaks a rule of the border in each of the fourteen calls.
pub(crate) fn raw_faults(fault: &str) -> Component {
    let library = c_component("raw_faults").unwrap();
    let config = json!({ "fault": fault, "on": all_methods() });
    Component::new(SUBJECT, 10, library)
        .config(config)
        .never_quarantined()
}

impl Scene {
    pub(crate) async fn new(subject: Component) -> Result<Self> {
        Self::with(FakeRuntime::builder(Profile::newest()), subject).await
    }

    pub(crate) async fn with(runtime: Builder, subject: Component) -> Result<Self> {
        let mut runtime = runtime.build()?;
        runtime.listen()?;
        let host = Host::builder()
            .socket(runtime.socket())
            .component(subject)
            .component(Component::faulty(BYSTANDER, 90, json!({})))
            .start()?;
        let plugin = runtime.plugin("10-subject").await?;
        let bystander = runtime.plugin("90-bystander").await?;
        let pod = pods::pod("web-0").namespace("shop").build();
        let container = pods::container(&pod, "server").build();
        Ok(Self {
            runtime,
            host,
            plugin,
            bystander,
            pod,
            container,
        })
    }

    /// Has the component under test called for its container.
    pub(crate) async fn create_container(
        &self,
    ) -> Result<Reply<CreateContainerResponse>, CallError> {
        self.plugin
            .create_container(&self.pod, &self.container)
            .await
    }

    /// Checks that the other component serves as ever, on the connection that it had.
    pub(crate) async fn bystander_is_unaware(&self) -> Result<()> {
        self.bystander
            .create_container(&self.pod, &self.container)
            .await?;
        assert!(self.bystander.is_connected());
        let bystander = self.host.wait_state(BYSTANDER, State::Active).await?;
        assert_eq!(
            (bystander.count("failures"), bystander.count("sessions")),
            (Some(0), Some(1))
        );
        Ok(())
    }
}
