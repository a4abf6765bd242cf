//! Configuration files of runtimes: forms, mistakes, and the defaults of real releases.

use anyhow::{Context, Result};
use nri_host_tests::containerd::RELEASES;
use nri_host_tests::tier;

use crate::node::{CONTAINERD_CONFIG, Node};

#[tokio::test]
async fn the_default_configuration_of_each_release_is_understood() -> Result<()> {
    if tier::skipped("real containerd", nri_host_tests::containerd::missing()) {
        return Ok(());
    }
    for release in RELEASES {
        let config = release.config_default()?;
        let node = Node::containerd(release.version, &config);
        let host = node.host();
        let report = node.doctor(&host).await?;
        let is_1 = release.version.starts_with("1.");
        let nri = if is_1 { "nri-disabled" } else { "nri" };
        let finding = report.the(nri);
        assert!(
            finding.what.ends_with(release.version) || !is_1,
            "{finding:#?}"
        );
        for code in [
            "nri-table-misplaced",
            "runtime-config-version",
            "runtime-config-broken",
        ] {
            assert!(!report.bad().contains(&code), "{release:?}: {report:#?}");
        }
        if is_1 {
            // Its table is in the file already, and the advice says that.
            assert!(finding.says("must not stand twice"), "{finding:#?}");
            let changed = config.replacen("    disable = true\n", "    disable = false\n", 1);
            node.file(CONTAINERD_CONFIG, &changed)
                .doctor(&host)
                .await?
                .the("nri");
        }
    }
    Ok(())
}

/// Main files and files that they import, which containerd merges in ways that have changed.
const LAYERS: [(&str, &[(&str, &str)]); 8] = [
    ("version = 2\n", &[]),
    ("version = 2\n[NRI]\ndisable = true\n", &[]),
    (
        "version = 2\nimports = [\"conf.d/*.toml\"]\n[NRI]\ndisable = true\n",
        &[("conf.d/10.toml", "[NRI]\ndisable = false\n")],
    ),
    (
        "version = 2\nimports = [\"late.toml\"]\n[NRI]\ndisable = false\nsocket_path = \"/a\"\n",
        &[(
            "late.toml",
            "version = 2\n[NRI]\nplugin_request_timeout = \"3s\"\n",
        )],
    ),
    (
        "version = 2\nimports = [\"conf.d/*.toml\"]\n",
        &[
            (
                "conf.d/10.toml",
                "[NRI]\ndisable = false\nsocket_path = \"/a\"\n",
            ),
            (
                "conf.d/20.toml",
                "[NRI]\ndisable = false\nsocket_path = \"/b\"\n",
            ),
            ("conf.d/30.conf", "[NRI]\ndisable = true\n"),
        ],
    ),
    (
        "version = 2\nimports = [\"one.toml\", \"two.toml\"]\n",
        &[
            (
                "one.toml",
                "imports = [\"three.toml\"]\n[NRI]\ndisable = false\nsocket_path = \"/1\"\n",
            ),
            ("two.toml", "[NRI]\ndisable = false\nsocket_path = \"/2\"\n"),
            (
                "three.toml",
                "[NRI]\ndisable = false\nsocket_path = \"/3\"\n",
            ),
        ],
    ),
    ("[NRI]\ndisable = true\nsocket_path = \"/a\"\n", &[]),
    (
        "[plugins.nri]\ndisable = false\nsocket_path = \"/a\"\n",
        &[],
    ),
];

#[tokio::test]
async fn files_come_to_the_same_as_in_each_release_of_containerd() -> Result<()> {
    if tier::skipped("real containerd", nri_host_tests::containerd::missing()) {
        return Ok(());
    }
    let text = |text: &str| text.replace("NRI", "plugins.\"io.containerd.nri.v1.nri\"");
    for release in RELEASES {
        for (main, others) in LAYERS {
            let mut node = Node::containerd(release.version, &text(main));
            for (path, other) in others {
                node = node.file(&format!("/etc/containerd/{path}"), &text(other));
            }
            let dump = release.config_dump(&node.path(CONTAINERD_CONFIG))?;
            let theirs = &dump["plugins"]["io.containerd.nri.v1.nri"];
            let case = format!("{} with {main} and {others:?}", release.version);
            let report = node.doctor(&node.host()).await?;
            let disabled = theirs["disable"].as_bool().context("in the dump")?;
            let is_disabled = report.bad().contains(&"nri-disabled");
            assert_eq!(is_disabled, disabled, "{case}: {report:#?}");
            if !disabled {
                let socket = theirs["socket_path"].as_str().context("in the dump")?;
                let nri = report.the("nri");
                assert!(
                    nri.what.ends_with(&format!(", at {socket}")),
                    "{case}: {nri:?}"
                );
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_table_in_the_wrong_place_is_shown_the_right_one() -> Result<()> {
    for (version, header, right) in [
        (
            3,
            "[plugins.io.containerd.nri.v1.nri]",
            "[plugins.\"io.containerd.nri.v1.nri\"]",
        ),
        (
            3,
            "[\"io.containerd.nri.v1.nri\"]",
            "[plugins.\"io.containerd.nri.v1.nri\"]",
        ),
        (3, "[plugins.nri]", "[plugins.\"io.containerd.nri.v1.nri\"]"),
        (3, "[nri]", "[plugins.\"io.containerd.nri.v1.nri\"]"),
    ] {
        let text = format!("version = {version}\n{header}\ndisable = false\n");
        let node = Node::containerd("2.1.4", &text);
        let report = node.doctor(&node.host()).await?;
        let finding = report.the("nri-table-misplaced");
        assert!(finding.what.contains(header), "{finding:#?}");
        assert!(finding.says(right), "{finding:#?}");
    }
    let text = "[plugins.\"io.containerd.nri.v1.nri\"]\ndisable = false\n";
    let node = Node::containerd("1.7.27", text);
    let report = node.doctor(&node.host()).await?;
    assert!(report.the("nri-table-misplaced").says("version = 2"));
    report.the("nri-disabled");
    for header in ["[nri]", "[crio.runtime]", "[crio]", "[crio.runtime.nri]"] {
        let node = Node::crio("1.29.0").file(
            "/etc/crio/crio.conf.d/10.conf",
            &format!("{header}\nenable_nri = true\n"),
        );
        let report = node.doctor(&node.host()).await?;
        assert!(
            report.the("nri-table-misplaced").says("[crio.nri]"),
            "{header}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_configuration_newer_than_the_release_keeps_it_from_starting() -> Result<()> {
    for (release, version, newest) in [("1.7.27", 3, 2), ("2.1.4", 4, 3)] {
        let node = Node::containerd(release, &format!("version = {version}\n"));
        let report = node.doctor(&node.host()).await?;
        let finding = report.the("runtime-config-version");
        assert!(finding.says(&format!("version = {newest}")), "{finding:#?}");
    }
    Ok(())
}

#[tokio::test]
async fn files_that_no_import_names_are_told() -> Result<()> {
    let off = "[plugins.\"io.containerd.nri.v1.nri\"]\ndisable = true\n";
    let node =
        Node::containerd("2.2.0", "version = 3\n").file("/etc/containerd/conf.d/nri.toml", off);
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("drop-ins-not-imported");
    assert!(
        finding.what.ends_with("/etc/containerd/conf.d/nri.toml"),
        "{finding:#?}"
    );
    assert!(
        finding
            .put()
            .1
            .contains("imports = [\"/etc/containerd/conf.d/*.toml\"]")
    );
    report.the("nri");
    Ok(())
}

#[tokio::test]
async fn files_that_cannot_be_read_are_told_and_hold_nobody_up() -> Result<()> {
    let node = Node::containerd("2.1.4", "version = 3\n[plugins\n");
    let report = node.doctor(&node.host()).await?;
    let finding = report.the("runtime-config-broken");
    assert!(finding.what.contains("line 2"), "{finding:#?}");
    std::fs::remove_file(node.path(CONTAINERD_CONFIG))?;
    let mode = nix::sys::stat::Mode::S_IRWXU;
    nix::unistd::mkfifo(&node.path(CONTAINERD_CONFIG), mode).context("a pipe")?;
    let report = node.doctor(&node.host()).await?;
    assert_eq!(report.the("runtime-config-unreadable").level, "unknown");
    Ok(())
}
