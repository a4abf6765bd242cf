//! Plugins without which no container is to start, and the times that the runtime gives.

use anyhow::Result;
use nri_host_tests::host::Component;

use crate::node::Node;

fn logger() -> Component {
    Component::new("logger", 90, "libnri_logger.so").set("on_failure", "fail")
}

#[tokio::test]
async fn a_runtime_that_could_require_a_plugin_gets_the_table_for_it() -> Result<()> {
    let crio = "[crio.nri.default_validator]\nnri_enable_default_validator = true\n\
                nri_validator_required_plugins = [\"logger\"]\n";
    let containerd = "[plugins.\"io.containerd.nri.v1.nri\".default_validator]\n  enable = true\n  \
                      required_plugins = [\"logger\"]\n";
    for (node, put) in [
        (Node::containerd("2.2.0", "version = 3\n"), containerd),
        (Node::crio("1.34.0"), crio),
    ] {
        let host = node.host().component(logger());
        let report = node.doctor(&host).await?;
        let finding = report.the("required-plugins-unset");
        assert_eq!(finding.level, "warning");
        assert_eq!(finding.put().1, put);
        assert!(finding.why().contains("static pods"), "{finding:#?}");
        node.follow(finding);
        assert_eq!(
            node.doctor(&host).await?.the("required-plugins").level,
            "ok"
        );
    }
    Ok(())
}

#[tokio::test]
async fn plugins_that_are_required_already_stay_so() -> Result<()> {
    let text = "version = 3\n[plugins.\"io.containerd.nri.v1.nri\".default_validator]\n\
                enable = true\nrequired_plugins = [\"others\"]\n";
    let node = Node::containerd("2.4.0", text);
    let host = node.host().component(logger());
    let report = node.doctor(&host).await?;
    assert!(
        report
            .the("required-plugins-unset")
            .put()
            .1
            .contains("[\"others\", \"logger\"]")
    );
    assert!(
        report
            .the("required-plugin-absent")
            .what
            .contains("without others,")
    );
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_cannot_require_plugins_is_told() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n");
    let host = node.host().component(logger());
    let report = node.doctor(&host).await?;
    assert!(
        report
            .the("required-plugins-unsupported")
            .why()
            .contains("containerd 2.2")
    );
    // Nobody asks for it where a component may be absent.
    let report = node.doctor(&node.host()).await?;
    assert!(
        !report.bad().contains(&"required-plugins-unsupported"),
        "{report:#?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_validator_that_refuses_what_a_component_does_is_told() -> Result<()> {
    let text = "version = 3\n[plugins.\"io.containerd.nri.v1.nri\".default_validator]\n\
                enable = true\nreject_oci_hook_adjustment = true\n";
    let node = Node::containerd("2.4.0", text);
    let hooks = Component::new("hooks", 30, "libnri_hook_injector.so");
    let report = node.doctor(&node.host().component(hooks)).await?;
    assert!(
        report
            .the("validator-rejects")
            .what
            .contains("30-hooks gives OCI hooks")
    );
    Ok(())
}

#[tokio::test]
async fn times_that_are_too_short_or_have_no_effect_are_told() -> Result<()> {
    let text = "version = 3\n[plugins.\"io.containerd.nri.v1.nri\"]\n\
                plugin_request_timeout = \"200ms\"\nplugin_registration_timeout = \"1s\"\n";
    let node = Node::containerd("2.4.0", text);
    let host = node.host().component(logger().set("timeout", "1s"));
    let report = node.doctor(&host).await?;
    assert!(
        report
            .the("request-timeout-short")
            .put()
            .1
            .ends_with("plugin_request_timeout = \"2s\"\n")
    );
    assert!(
        report
            .the("registration-timeout-short")
            .put()
            .1
            .ends_with("\"5s\"\n")
    );
    assert!(
        report
            .the("timeout-without-effect")
            .what
            .contains("90-logger")
    );
    Ok(())
}
