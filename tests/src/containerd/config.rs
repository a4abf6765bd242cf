//! containerd's configuration, in the two forms that its releases read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::build::Release;
use super::image;

/// Names below the folder of one containerd.
pub(super) const FILE: &str = "containerd.toml";
const CNI_DIR: &str = "cni";
pub(super) const CRICTL_FILE: &str = "crictl.yaml";
pub(super) const GRPC_SOCKET: &str = "containerd.sock";
/// In a folder of its own, as everywhere, so that it can be mounted.
pub(super) const NRI_SOCKET: &str = "nri/nri.sock";

/// The cgroup that holds all pods of the containerd in `dir`.
pub(super) fn cgroup_parent(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    format!("/nri-host-tests-{name}")
}

/// Writes the configuration of containerd, with more tables at its end, and of crictl.
pub(super) fn write(release: Release, dir: &Path, tables: &str) -> Result<()> {
    let path = dir
        .to_str()
        .context("the temporary folder's path is not UTF-8")?;
    let text = [
        common(release, path),
        if release.config == 2 {
            cri_v2(path)
        } else {
            cri_v3(path)
        },
        tables.to_owned(),
    ];
    fs::write(dir.join(FILE), text.concat())?;
    write_network(&dir.join(CNI_DIR))?;
    // JSON is YAML.
    let endpoint = format!("unix://{path}/{GRPC_SOCKET}");
    let crictl = json!({ "runtime-endpoint": endpoint, "image-endpoint": endpoint, "timeout": 60 });
    fs::write(dir.join(CRICTL_FILE), crictl.to_string())?;
    Ok(())
}

/// Writes what networks of pods are made with: a CNI plugin that makes nothing, and names an address
/// since containerd asks for one.
fn write_network(dir: &Path) -> Result<()> {
    const PLUGIN: &str = r#"#!/bin/sh
echo '{"cniVersion":"0.4.0","interfaces":[{"name":"eth0","sandbox":"'"$CNI_NETNS"'"}],
"ips":[{"version":"4","address":"192.0.2.1/32","interface":0}]}'
"#;
    // The name of the network would be taken for that of a folder.
    const PLUGIN_NAME: &str = "makes-nothing";
    fs::create_dir(dir)?;
    let plugin = dir.join(PLUGIN_NAME);
    fs::write(&plugin, PLUGIN)?;
    fs::set_permissions(&plugin, Permissions::from_mode(0o755))?;
    let list = json!({
        "cniVersion": "0.4.0",
        "name": "nothing",
        "plugins": [{ "type": PLUGIN_NAME }],
    });
    fs::write(dir.join("nothing.conflist"), list.to_string())?;
    Ok(())
}

fn common(release: Release, dir: &str) -> String {
    format!(
        r#"version = {version}
root = "{dir}/root"
state = "{dir}/state"
temp = "{dir}/temp"

[grpc]
address = "{dir}/{GRPC_SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
path = "{dir}/opt"

[plugins."io.containerd.nri.v1.nri"]
disable = false
socket_path = "{dir}/{NRI_SOCKET}"
plugin_path = "{dir}/none"
plugin_config_path = "{dir}/none"
"#,
        version = release.config
    )
}

/// Without CAP_SYS_RESOURCE no process may lower its oom_score_adj, and
/// AppArmor's tools may be absent: both are left alone.
const RELAXED: &str = "disable_apparmor = true\nrestrict_oom_score_adj = true\n";

fn cri_v2(dir: &str) -> String {
    format!(
        r#"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{image}"
enable_cdi = true
cdi_spec_dirs = ["{dir}/cdi"]
{RELAXED}
[plugins."io.containerd.grpc.v1.cri".cni]
conf_dir = "{dir}/none"
bin_dir = "{dir}/none"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = "{dir}/runc"
"#,
        image = image::NAME
    )
}

fn cri_v3(dir: &str) -> String {
    format!(
        r#"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{image}"

[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = true
cdi_spec_dirs = ["{dir}/cdi"]
{RELAXED}
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{dir}/{CNI_DIR}"]
conf_dir = "{dir}/{CNI_DIR}"
use_internal_loopback = true

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
Root = "{dir}/runc"
"#,
        image = image::NAME
    )
}
