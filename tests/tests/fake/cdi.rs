//! A component knows the runtime that its session is with: the CDI injector chooses by it.

use std::fs;

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Component, Host};
use nri_host_tests::pods;
use serde_json::json;

const SPEC: &str = "{cdiVersion: 0.6.0, kind: acme.com/dev, devices: [{name: d, containerEdits: \
                    {env: [ACME=1]}}]}";

#[tokio::test]
async fn runtimes_that_drop_cdi_devices_are_given_what_they_consist_of() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("acme.yaml"), SPEC)?;
    for (profile, native) in [
        (Profile::nri_0_6(), false),
        (Profile::nri_0_8(), true),
        (Profile::nri_0_9(), false),
        (Profile::nri_0_12_3(), true),
    ] {
        let name = format!("{} {}", profile.runtime_name, profile.runtime_version);
        let runtime = FakeRuntime::start(profile).await?;
        let injector = Component::new("cdi", 15, "libnri_cdi_injector.so").config(json!({
            "spec_dirs": [folder.path()],
            "allow": [{ "namespaces": ["default"], "devices": ["acme.com/dev"] }],
        }));
        let _host = Host::builder()
            .socket(runtime.socket())
            .component(injector)
            .start()?;
        let plugin = runtime.plugin("15-cdi").await?;
        let pod = pods::pod("p")
            .namespace("default")
            .annotation("cdi-devices.noderesource.dev/pod", "[acme.com/dev=d]")
            .build();
        let container = pods::container(&pod, "c").build();
        let reply = plugin.create_container(&pod, &container).await?;
        let adjust = reply.message.adjust.unwrap_or_default();
        let devices = adjust.CDI_devices.iter().map(|device| device.name.as_str());
        let variables = adjust.env.iter().map(|variable| variable.key.as_str());
        let given: Vec<_> = devices.chain(variables).collect();
        let expected = if native { "acme.com/dev=d" } else { "ACME" };
        assert_eq!(given, [expected], "{name}");
    }
    Ok(())
}
