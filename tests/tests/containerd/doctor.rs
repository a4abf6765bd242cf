//! What the doctor says of a node on which containerd runs.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use nri_host_tests::containerd::{self, Containerd, Release, V1_7, V2_4};
use nri_host_tests::host::{Builder, Host};
use nri_host_tests::tier;
use serde_json::Value;

#[tokio::test(flavor = "multi_thread")]
async fn containerd_1_7_is_known_and_told_when_its_nri_is_switched_off() -> Result<()> {
    is_known_and_told_when_its_nri_is_switched_off(V1_7).await
}

#[tokio::test(flavor = "multi_thread")]
async fn containerd_2_4_is_known_and_told_when_its_nri_is_switched_off() -> Result<()> {
    is_known_and_told_when_its_nri_is_switched_off(V2_4).await
}

async fn is_known_and_told_when_its_nri_is_switched_off(release: Release) -> Result<()> {
    if tier::skipped("real containerd", containerd::missing()) {
        return Ok(());
    }
    let mut containerd = Containerd::start(release)?;
    let config = containerd.dir().join("containerd.toml");
    let host = Host::builder().socket(&containerd.nri_socket());

    let said = doctor(&host).await?;
    let name = format!("containerd {}", release.version);
    said.the("runtime", &[&name, &config.display().to_string()])?;
    let socket = containerd.nri_socket().display().to_string();
    said.the("nri", &[&name, &socket])?;
    said.the("socket-path", &[&socket])?;
    said.the("socket", &[&socket])?;

    let on = fs::read_to_string(&config)?;
    fs::write(&config, on.replace("disable = false", "disable = true"))?;
    // To about a second it would be as old as the process.
    File::open(&config)?.set_modified(SystemTime::now() + Duration::from_secs(3600))?;
    let said = doctor(&host).await?;
    said.the("nri-disabled", &[&name, &config.display().to_string()])?;
    said.the("runtime-not-restarted", &[&config.display().to_string()])?;

    containerd.kill9()?;
    containerd.restart()?;
    let said = doctor(&host).await?;
    said.the("nri-disabled", &[&name, &config.display().to_string()])?;
    // It was killed, so its old socket is left.
    said.the("socket-refused", &[&socket])?;

    containerd.kill9()?;
    fs::write(&config, on)?;
    containerd.restart()?;
    let said = doctor(&host).await?;
    said.the("nri", &[&name, &socket])?;
    said.the("socket", &[&socket])?;
    Ok(())
}

/// What was said. Other runtimes may run on the machine meanwhile.
struct Said(Vec<Value>);

async fn doctor(host: &Builder) -> Result<Said> {
    let finished = host.run(&["doctor", "--json"]).await?;
    let report: Value = serde_json::from_str(&finished.stdout).context(finished.stderr)?;
    let findings = report["findings"].as_array().context("an array")?;
    Ok(Said(findings.clone()))
}

impl Said {
    /// The finding of that code with all these words.
    fn the(&self, code: &str, words: &[&str]) -> Result<&Value> {
        let fits = |finding: &&Value| {
            let all = finding.to_string();
            finding["code"] == code && words.iter().all(|word| all.contains(word))
        };
        let found = self.0.iter().find(fits);
        found.with_context(|| format!("no {code} with {words:?} in {:#?}", self.0))
    }
}
