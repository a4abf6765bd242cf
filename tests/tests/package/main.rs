//! The packages in a bare Debian, and the unit under a real systemd.

mod files;
mod lifecycle;
mod unit;

use anyhow::Result;
use nri_host_tests::debian::{Machine, Packages, SHARED, packages};

/// Boots a machine that finds the packages in its shared folder as host.deb, hooks.deb, newer.deb.
async fn machine_with(packages: &Packages) -> Result<Machine> {
    let machine = Machine::boot().await?;
    for (package, name) in [
        (packages.host()?, "host.deb"),
        (packages.hook_injector()?, "hooks.deb"),
        (packages.newer()?, "newer.deb"),
    ] {
        std::fs::copy(package, machine.shared().join(name))?;
    }
    Ok(machine)
}

/// A machine in which both packages are installed.
async fn installed() -> Result<Machine> {
    let machine = machine_with(packages()?).await?;
    machine
        .must(&format!(
            "dpkg --install {SHARED}/host.deb {SHARED}/hooks.deb"
        ))
        .await?;
    Ok(machine)
}

/// A property of the unit.
async fn property(machine: &Machine, property: &str) -> Result<String> {
    let value = machine
        .must(&format!(
            "systemctl show --value --property {property} nri-host"
        ))
        .await?;
    Ok(value.trim_end().to_owned())
}
