//! CDI, kernel parameters and hooks, where components deal with them.

use anyhow::Result;
use nri_host_tests::host::Component;
use serde_json::json;

use crate::node::Node;

#[tokio::test]
async fn cdi_that_the_runtime_does_not_apply_is_told_where_it_has_to() -> Result<()> {
    let node = Node::containerd("1.7.30", "version = 2\n");
    let cdi = |mode: &str| {
        let config = json!({ "mode": mode, "spec_dirs": [node.path("/etc/cdi")] });
        let injector = Component::new("cdi", 15, "libnri_cdi_injector.so").config(config);
        node.host().component(injector)
    };
    let report = node.doctor(&cdi("native")).await?;
    let finding = report.the("cdi-disabled");
    let put = "[plugins.\"io.containerd.grpc.v1.cri\"]\n  enable_cdi = true\n";
    finding.advises(
        "/etc/containerd/config.toml",
        put,
        "systemctl restart containerd",
    );
    report.the("cdi-none");
    report.the("cdi-dirs-differ");
    let report = node.doctor(&cdi("auto")).await?;
    assert!(!report.bad().contains(&"cdi-disabled"), "{report:#?}");
    let node = node.file("/etc/cdi/vendor.json", "{}");
    let injector = json!({ "mode": "native", "spec_dirs": [node.path("/etc/cdi")] });
    let injector = Component::new("cdi", 15, "libnri_cdi_injector.so").config(injector);
    let report = node.doctor(&node.host().component(injector)).await?;
    assert_eq!(report.the("cdi").level, "ok");
    Ok(())
}

#[tokio::test]
async fn the_advice_for_cdi_follows_the_form_of_the_file() -> Result<()> {
    let text = "version = 3\n[plugins.\"io.containerd.cri.v1.runtime\"]\nenable_cdi = false\n";
    let node = Node::containerd("2.1.4", text);
    let allow = json!({ "allow_cdi_devices": ["vendor.com/gpu"] });
    let injector = Component::new("devices", 10, "libnri_device_injector.so").config(allow);
    let report = node.doctor(&node.host().component(injector)).await?;
    let finding = report.the("cdi-disabled");
    assert_eq!(
        finding.put().1,
        "[plugins.\"io.containerd.cri.v1.runtime\"]\n  enable_cdi = true\n"
    );
    Ok(())
}

#[tokio::test]
async fn kernel_parameters_that_would_end_the_runtime_are_told() -> Result<()> {
    let allow = json!({ "allow_sysctls": ["net.core.somaxconn"] });
    let injector = Component::new("devices", 10, "libnri_device_injector.so").config(allow);
    let node = Node::containerd("2.2.3", "version = 3\n");
    let report = node.doctor(&node.host().component(injector)).await?;
    assert!(report.the("sysctls-withheld").what.contains("10-devices"));
    Ok(())
}

#[tokio::test]
async fn hooks_that_nobody_or_two_would_run_are_told() -> Result<()> {
    let node = Node::crio("1.34.0").file("/hooks/one.json", "{}");
    let hooks = |folder: &str| {
        let config = json!({ "hook_dirs": [node.path(folder)] });
        let injector = Component::new("hooks", 30, "libnri_hook_injector.so").config(config);
        node.host().component(injector)
    };
    let report = node.doctor(&hooks("/none")).await?;
    report.the("hooks-none");
    report.the("hooks-twice");
    assert_eq!(
        node.doctor(&hooks("/hooks")).await?.the("hooks").level,
        "ok"
    );
    Ok(())
}
