//! Which runtimes there are, whether they take plugins, and what to change.

use anyhow::Result;

use crate::node::{CONTAINERD_CONFIG, Node};

const NRI: &str = "[plugins.\"io.containerd.nri.v1.nri\"]\n";
const RESTART: &str = "systemctl restart containerd";

#[tokio::test]
async fn containerd_1_7_has_nri_off_and_the_advice_switches_it_on() -> Result<()> {
    let node = Node::containerd("1.7.27", "version = 2\n").listening();
    let host = node.host();
    let report = node.doctor(&host).await?;
    let finding = report.the("nri-disabled");
    assert_eq!(finding.what, "NRI is off in containerd 1.7.27");
    assert!(finding.why() == "Off is the default before containerd 2.0.");
    let put = format!("{NRI}  disable = false\n");
    finding.advises(CONTAINERD_CONFIG, &put, RESTART);
    node.follow(finding);
    assert_eq!(node.doctor(&host).await?.the("nri").level, "ok");
    Ok(())
}

#[tokio::test]
async fn containerd_1_7_without_a_file_gets_one_that_it_reads() -> Result<()> {
    let node = Node::containerd("1.7.27", "");
    std::fs::remove_file(node.path(CONTAINERD_CONFIG))?;
    let host = node.host();
    let finding = node.doctor(&host).await?;
    let finding = finding.the("nri-disabled");
    assert!(finding.put().1.starts_with("version = 2\n\n[plugins."));
    node.follow(finding);
    node.doctor(&host).await?.the("nri");
    Ok(())
}

#[tokio::test]
async fn containerd_2_has_nri_on_unless_a_file_says_otherwise() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\nimports = [\"conf.d/*.toml\"]\n");
    node.doctor(&node.host()).await?.the("nri");
    let off = format!("{NRI}disable = true\n");
    let node = node.file("/etc/containerd/conf.d/20-off.toml", &off);
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("nri-disabled");
    assert_eq!(finding.why(), "/etc/containerd/conf.d/20-off.toml says so.");
    assert_eq!(
        finding.put().0.to_str(),
        Some("/etc/containerd/conf.d/20-off.toml")
    );
    assert!(finding.says("must not stand twice"), "{finding:#?}");
    // A later file wins.
    let on = format!("{NRI}disable = false\n");
    let node = node.file("/etc/containerd/conf.d/30-on.toml", &on);
    node.doctor(&node.host()).await?.the("nri");
    Ok(())
}

/// Until 2.0 a later table replaces an earlier one as a whole: with it, `disable` is at its default.
#[tokio::test]
async fn a_later_table_takes_all_keys_of_an_earlier_one_away_in_1_7_and_none_in_2() -> Result<()> {
    for (version, code) in [("1.7.27", "nri-disabled"), ("2.0.5", "nri")] {
        let main = format!(
            "version = 2\nimports = [\"/etc/containerd/late.toml\"]\n{NRI}disable = false\n"
        );
        let late = format!("{NRI}plugin_request_timeout = \"3s\"\n");
        let node = Node::containerd(version, &main).file("/etc/containerd/late.toml", &late);
        node.doctor(&node.host()).await?.the(code);
    }
    Ok(())
}

#[tokio::test]
async fn a_plugin_that_is_left_out_is_off_whatever_its_table_says() -> Result<()> {
    let text = format!(
        "version = 3\ndisabled_plugins = [\"io.containerd.nri.v1.nri\"]\n{NRI}disable = false\n"
    );
    let node = Node::containerd("2.1.4", &text);
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("nri-disabled");
    assert!(finding.says("Take it out of disabled_plugins in /etc/containerd/config.toml"));
    Ok(())
}

#[tokio::test]
async fn closed_connections_are_told() -> Result<()> {
    let text = format!("version = 3\n{NRI}disable_connections = true\n");
    let node = Node::containerd("2.1.4", &text);
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("nri-connections-disabled");
    let put = format!("{NRI}  disable_connections = false\n");
    finding.advises(CONTAINERD_CONFIG, &put, RESTART);
    Ok(())
}

#[tokio::test]
async fn cri_o_has_nri_off_before_1_30_and_gets_a_drop_in() -> Result<()> {
    let node = Node::crio("1.29.1");
    let host = node.host();
    let report = node.doctor(&host).await?;
    let finding = report.the("nri-disabled");
    finding.advises(
        "/etc/crio/crio.conf.d/99-nri.conf",
        "[crio.nri]\nenable_nri = true\n",
        "systemctl restart crio",
    );
    node.follow(finding);
    let report = node.doctor(&host).await?;
    assert_eq!(report.the("nri").level, "ok");
    let node = Node::crio("1.31.0");
    node.doctor(&node.host()).await?.the("nri");
    Ok(())
}

#[tokio::test]
async fn the_command_line_of_cri_o_wins_over_its_files() -> Result<()> {
    let node = Node::empty()
        .program("/usr/bin/crio", "crio version 1.31.0")
        .process(
            913,
            "/usr/bin/crio",
            &["--enable-nri=false"],
            "0::/system.slice/crio.service",
        )
        .file(
            "/etc/crio/crio.conf.d/10.conf",
            "[crio.nri]\nenable_nri = true\n",
        );
    node.doctor(&node.host()).await?.the("nri-disabled");
    Ok(())
}

#[tokio::test]
async fn k3s_gets_a_drop_in_where_it_reads_them_and_a_template_else() -> Result<()> {
    let folder = "/var/lib/rancher/k3s/agent/etc/containerd";
    let off = format!("{NRI}disable = true\n");
    for (imports, file) in [
        (
            format!("imports = [\"{folder}/config-v3.toml.d/*.toml\"]\n"),
            "config-v3.toml.d/nri.toml",
        ),
        (String::new(), "config.toml.tmpl"),
    ] {
        let config = format!("{folder}/config.toml");
        let node = Node::empty()
            .program(
                "/var/lib/rancher/k3s/data/1/bin/containerd",
                "containerd github.com/k3s-io/containerd v2.0.4-k3s2",
            )
            .process(
                812,
                "/var/lib/rancher/k3s/data/1/bin/containerd",
                &["-c", &config],
                "0::/system.slice/k3s.service",
            )
            .file(&config, &format!("version = 3\n{imports}{off}"));
        let host = node.host();
        let report = node.doctor(&host).await?;
        let finding = report.the("nri-disabled");
        assert_eq!(finding.what, "NRI is off in containerd of k3s 2.0.4-k3s2");
        assert_eq!(finding.put().0.to_str(), Some(&*format!("{folder}/{file}")));
        assert!(finding.runs("systemctl restart k3s        # on agents: k3s-agent"));
        match imports.is_empty() {
            true => assert!(
                finding
                    .put()
                    .1
                    .starts_with("{{ template \"base\" . }}\n\n[plugins.")
            ),
            false => {
                node.follow(finding);
                node.doctor(&host).await?.the("nri");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn two_runtimes_on_one_socket_are_told_apart() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n").with_crio("1.34.1");
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("two-runtimes-one-socket");
    assert_eq!(finding.level, "problem");
    assert!(
        finding.what.contains("containerd 2.1.4 and CRI-O 1.34.1"),
        "{finding:#?}"
    );
    assert!(finding.says("expect_runtime"));
    // With another path they do not meet.
    let node = node.file(
        "/etc/crio/crio.conf.d/10.conf",
        "[crio.nri]\nnri_listen = \"/run/other.sock\"\n",
    );
    assert!(
        !node
            .doctor(&node.host())
            .await?
            .bad()
            .contains(&"two-runtimes-one-socket")
    );
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_serves_no_pods_stands_aside() -> Result<()> {
    let docker = "disabled_plugins = [\"cri\"]\n";
    let node = Node::containerd("1.7.27", docker);
    let report = node.doctor(&node.host()).await?;
    assert!(report.the("cri-disabled").why().contains("Docker"));
    let node = node.with_crio("1.31.0");
    let report = node.doctor(&node.host()).await?;
    assert_eq!(
        report.the("runtime-aside").what,
        "containerd 1.7.27 serves no pods"
    );
    assert!(!report.bad().contains(&"nri-disabled"), "{report:#?}");
    Ok(())
}

#[tokio::test]
async fn no_runtime_and_one_that_does_not_run_are_problems() -> Result<()> {
    let node = Node::empty();
    node.doctor(&node.host()).await?.the("no-runtime");
    let node = node.file(CONTAINERD_CONFIG, "version = 3\n");
    let report = node.doctor(&node.host()).await?;
    assert!(report.the("runtime-not-running").runs(RESTART));
    // In a container its processes may not be seen.
    let node = node.listening();
    let report = node.doctor(&node.host()).await?;
    assert_eq!(report.the("runtime-not-seen").level, "unknown");
    Ok(())
}

#[tokio::test]
async fn a_runtime_without_nri_is_too_old() -> Result<()> {
    let node = Node::containerd("1.6.33", "version = 2\n");
    let report = node.doctor(&node.host()).await?;
    assert_eq!(
        report.the("runtime-too-old").what,
        "containerd 1.6.33 has no NRI"
    );
    Ok(())
}

#[tokio::test]
async fn a_container_s_own_runtime_is_none_of_the_node_s() -> Result<()> {
    let node = Node::empty()
        .program("/usr/bin/containerd", "containerd v2.1.4")
        .process(
            99,
            "/usr/bin/containerd",
            &["--config", "/x.toml"],
            "0::/kubepods.slice/pod1/a.scope",
        )
        .file("/x.toml", &format!("{NRI}disable = true\n"));
    let report = node.doctor(&node.host()).await?;
    assert!(!report.bad().contains(&"nri-disabled"), "{report:#?}");
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_newer_than_the_process_does_not_count_yet() -> Result<()> {
    let stat = format!("812 (containerd) S {}", "0 ".repeat(18));
    let node = Node::containerd("2.1.4", "version = 3\n")
        .file("/proc/stat", "cpu 0\nbtime 1000000000\n")
        .file("/proc/812/stat", &format!("{stat}100000 0\n"));
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("runtime-not-restarted");
    assert_eq!(finding.level, "warning");
    assert!(finding.what.starts_with(CONTAINERD_CONFIG) && finding.runs(RESTART));
    Ok(())
}

/// Shims run `containerd publish` again and again.
#[tokio::test]
async fn commands_of_the_runtime_s_program_are_not_taken_for_the_runtime() -> Result<()> {
    let program = "/usr/bin/containerd";
    let arguments = ["--config", "/x.toml", "publish", "--topic", "/tasks/exit"];
    let node = Node::containerd("2.1.4", "version = 3\n")
        .process(
            99,
            program,
            &arguments,
            "0::/system.slice/containerd.service",
        )
        .file(
            "/x.toml",
            "[plugins.\"io.containerd.nri.v1.nri\"]\ndisable = true\n",
        );
    let report = node.doctor(&node.host()).await?;
    report.the("runtime");
    report.the("nri");
    Ok(())
}

#[tokio::test]
async fn of_several_runtimes_the_one_at_our_socket_is_judged() -> Result<()> {
    let node = Node::containerd("1.7.27", "version = 2\n").with_crio("1.34.1");
    let nri = format!("[crio.nri]\n{}", node.socket_key("nri_listen"));
    let node = node.file("/etc/crio/crio.conf.d/10.conf", &nri).listening();
    let report = node.doctor(&node.host()).await?;
    assert!(report.the("runtime").what.starts_with("CRI-O 1.34.1 runs"));
    let aside = &report.the("runtime-aside").what;
    assert_eq!(
        aside,
        "containerd 1.7.27 has its socket at /var/run/nri/nri.sock"
    );
    assert!(!report.bad().contains(&"nri-disabled"), "{report:#?}");
    Ok(())
}
