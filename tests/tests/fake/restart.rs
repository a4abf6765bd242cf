//! The runtime goes away and comes back.

use std::time::{Duration, Instant};

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Plugin, Profile, SocketFile};
use nri_host_tests::host::{Builder, Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::record::Record;

const NAMES: [&str; 4] = ["10-first", "20-second", "30-third", "40-fourth"];

fn four_components(builder: Builder) -> Builder {
    NAMES
        .iter()
        .zip([10, 20, 30, 40])
        .fold(builder, |builder, (name, index)| {
            builder.component(Component::faulty(&name[3..], index, json!({})))
        })
}

/// Waits until each plugin is back.
async fn all_back(runtime: &FakeRuntime, plugins: &mut [Plugin]) -> Result<()> {
    for plugin in plugins {
        *plugin = runtime.reconnected(plugin).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_restart_faster_than_the_loss_is_noticed_costs_no_wait() -> Result<()> {
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let _host = four_components(Host::builder().socket(runtime.socket())).start()?;
    let mut plugins = runtime.plugins(&NAMES).await?;
    for restart in 0..10 {
        runtime.restart().await?;
        let listening = Instant::now();
        all_back(&runtime, &mut plugins).await?;
        let took = listening.elapsed();
        // Far above what it takes; the last of these waits between attempts would be longer.
        assert!(
            took < Duration::from_secs(4),
            "restart {restart}: back after {took:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_state_after_a_restart_reaches_every_component() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let subject = Component::faulty("subject", 10, json!({ "record": record.path() }));
    let _host = Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    plugin.run_pod(&pod).await?;
    plugin.create_container(&pod, &container).await?;
    runtime.set_state(vec![pod], vec![container]);
    runtime.restart().await?;
    runtime.reconnected(&plugin).await?;
    let counts: Vec<_> = record
        .calls_of("Synchronize")
        .into_iter()
        .map(|call| (call.pods.unwrap(), call.containers.unwrap()))
        .collect();
    assert_eq!(counts, [(0, 0), (1, 1)]);
    assert_eq!(record.calls_of("create").len(), 1, "the instance lives on");
    Ok(())
}

#[tokio::test]
async fn another_version_after_the_restart_is_served_in_its_own_way() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("nri-").tempdir()?;
    let socket = folder.path().join("nri.sock");
    let subject = Component::faulty("subject", 10, json!({}));
    let host = Host::builder().socket(&socket).component(subject).start()?;
    for profile in [Profile::nri_0_8(), Profile::newest(), Profile::nri_0_3()] {
        let mut runtime = FakeRuntime::builder(profile.clone())
            .socket(&socket)
            .build()?;
        runtime.listen()?;
        let plugin = runtime.plugin("10-subject").await?;
        assert_eq!(plugin.mask(), profile.valid_events);
        plugin.run_pod(&pods::pod("web").build()).await?;
        host.wait_status("the runtime's version", |status| {
            status.runtime.version.as_deref() == Some(profile.runtime_version)
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_single_lost_connection_concerns_one_component() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = four_components(Host::builder().socket(runtime.socket())).start()?;
    let plugins = runtime.plugins(&NAMES).await?;
    plugins[1].close();
    runtime.reconnected(&plugins[1]).await?;
    for plugin in [&plugins[0], &plugins[2], &plugins[3]] {
        assert!(plugin.is_connected(), "{}", plugin.name());
    }
    let second = host.wait_state("second", State::Active).await?;
    assert_eq!(second.count("sessions"), Some(2));
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_dies_in_the_middle_of_a_call_is_found_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (gate, record) = (folder.path().join("gate"), Record::new(folder.path()));
    let on = json!({ "CreateContainer": { "do": "hang", "until": gate } });
    let config = json!({ "on": on, "record": record.path() });
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let subject = Component::faulty("subject", 10, config);
    let _host = Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .start()?;
    let plugin = runtime.plugin("10-subject").await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    let call = plugin.create_container(&pod, &container);
    let kill = async {
        record.wait_for("CreateContainer").await?;
        runtime.kill(SocketFile::Left).await
    };
    let (answer, killed) = tokio::join!(call, kill);
    killed?;
    answer.unwrap_err();
    std::fs::write(&gate, "")?;
    runtime.listen()?;
    runtime
        .reconnected(&plugin)
        .await?
        .create_container(&pod, &container)
        .await?;
    Ok(())
}
