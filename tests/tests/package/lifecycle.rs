//! Installing, upgrading, removing.

use anyhow::Result;
use nri_host_tests::debian::{self, NEWER, SHARED, packages};
use nri_host_tests::host::{ComponentStatus, State, Status};
use nri_host_tests::tier;

use crate::{installed, machine_with, property};

/// All files but those of running programs, caches, and what dpkg and systemd note of every package.
const ALL_FILES: &str = "find / -xdev ! -type d \
    ! -path '/var/cache/*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*.log' ! -path '/var/log/journal/*' | sort";

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_installation_runs_and_touches_no_pod() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    assert_eq!(property(&machine, "ActiveState").await?, "active");
    assert_eq!(property(&machine, "UnitFileState").await?, "enabled");

    let check = machine.must("nri-host check").await?;
    assert!(
        check.ends_with("0 components OK, 0 mistakes, 0 warnings\n"),
        "{check}"
    );
    let status: Status = serde_json::from_str(&machine.must("nri-host status --json").await?)?;
    let off = |component: &ComponentStatus| component.state == State::Disabled;
    assert!(
        !status.components.is_empty() && status.components.iter().all(off),
        "{status}"
    );
    let page = machine.must("man nri-host-check").await?;
    assert!(page.contains("nri-host check [--config]"), "{page}");
    let completions =
        "bash -c '. /usr/share/bash-completion/completions/nri-host; complete -p nri-host'";
    machine.must(completions).await?;

    machine.must("systemctl stop nri-host").await?;
    let status = machine.run("nri-host status").await?;
    assert_eq!(status.code, Some(69), "{status:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_keeps_what_an_admin_changed_and_starts_the_new_daemon() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = installed().await?;
    let edit = "echo '# of the admin' >>/etc/nri-host/nri-host.toml
        echo '# another' >/etc/nri-host/conf.d/99-local.toml";
    machine.must(edit).await?;
    let before = property(&machine, "MainPID").await?;

    machine
        .must(&format!("dpkg --install {SHARED}/newer.deb"))
        .await?;
    let version = machine
        .must("dpkg-query --show --showformat='${Version}' nri-host")
        .await?;
    assert_eq!(version, NEWER);
    let edited = machine
        .must("tail -qn 1 /etc/nri-host/nri-host.toml /etc/nri-host/conf.d/99-local.toml")
        .await?;
    assert_eq!(edited, "# of the admin\n# another\n");
    assert_eq!(property(&machine, "ActiveState").await?, "active");
    assert_ne!(property(&machine, "MainPID").await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn removal_leaves_configuration_and_purging_leaves_nothing() -> Result<()> {
    if tier::skipped("packages", debian::missing()) {
        return Ok(());
    }
    let machine = machine_with(packages()?).await?;
    let before = machine.must(ALL_FILES).await?;
    machine
        .must(&format!(
            "dpkg --install {SHARED}/host.deb {SHARED}/hooks.deb"
        ))
        .await?;

    machine
        .must("dpkg --remove nri-host-hook-injector nri-host")
        .await?;
    let left = machine
        .must("find /usr /etc /run -name '*nri-host*' -o -path '*/nri-host/*' ! -type d | sort")
        .await?;
    // A link to /dev/null: the unit that is not there any more cannot be started.
    let expected = "/etc/nri-host
/etc/nri-host/conf.d/10-device-injector.toml
/etc/nri-host/conf.d/15-cdi-injector.toml
/etc/nri-host/conf.d/30-hook-injector.toml
/etc/nri-host/conf.d/90-logger.toml
/etc/nri-host/nri-host.toml
/etc/systemd/system/multi-user.target.wants/nri-host.service
/etc/systemd/system/nri-host.service
";
    assert_eq!(left, expected);

    machine
        .must("dpkg --purge nri-host-hook-injector nri-host")
        .await?;
    assert_eq!(machine.must(ALL_FILES).await?, before);
    machine
        .must("test ! -e /var/lib/nri-host -a ! -e /var/log/nri-host")
        .await?;
    Ok(())
}
