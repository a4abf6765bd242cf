//! What may go wrong between connecting and the first event.

use std::time::{Duration, Instant};

use anyhow::Result;
use nri_host_tests::fake_runtime::{
    EVENTS_0_3, EVENTS_0_10, FakeRuntime, Fault, Profile, RegisterReply, SocketFile, Stage, Step,
};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

const PLUGIN: &str = "10-subject";

fn host(runtime: &FakeRuntime) -> Result<Host> {
    let subject = Component::faulty("subject", 10, json!({ "methods": ["CreateContainer"] }));
    Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .start()
}

#[tokio::test]
async fn the_registration_may_be_answered_before_or_after_configure() -> Result<()> {
    for reply in [RegisterReply::First, RegisterReply::AfterConfigure] {
        let mut runtime = FakeRuntime::builder(Profile::newest())
            .register_reply(reply)
            .build()?;
        runtime.listen()?;
        let _host = host(&runtime)?;
        runtime.plugin(PLUGIN).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_held_handshake_is_waited_for() -> Result<()> {
    for step in Step::ALL {
        let builder = FakeRuntime::builder(Profile::newest()).fault(Fault::Hold(step));
        let mut runtime = builder.build()?;
        runtime.listen()?;
        let host = host(&runtime)?;
        runtime.held().await?;
        if step < Step::Activate {
            host.wait_state("subject", State::Handshaking).await?;
        }
        runtime.release();
        assert_eq!(
            runtime.plugin(PLUGIN).await?.connection(),
            1,
            "held before {step:?}"
        );
        host.wait_state("subject", State::Active).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_refused_name_is_shown_with_the_runtime_s_words_and_tried_again() -> Result<()> {
    let builder = FakeRuntime::builder(Profile::newest());
    let builder = (0..3).fold(builder, |builder, _| {
        builder.fault(Fault::RefuseRegistration)
    });
    let mut runtime = builder.build()?;
    runtime.listen()?;
    let host = host(&runtime)?;
    host.wait_component("subject", "refused", |component| {
        let reason = component.reason.as_deref().unwrap_or_default();
        component.state == State::Waiting && reason.contains("disabled by the test")
    })
    .await?;
    let plugin = runtime.plugin(PLUGIN).await?;
    assert_eq!(plugin.connection(), 4);
    // The host has closed what the runtime left open.
    let ended = |stage: Stage| stage == Stage::Ended;
    for number in 1..=3 {
        let is = move |connection: &nri_host_tests::fake_runtime::Connection| {
            connection.number == number && ended(connection.stage)
        };
        runtime
            .connection("the end of a refused connection", is)
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_refused_mask_is_answered_with_the_oldest_events() -> Result<()> {
    // A build whose version promises more than it has; it does not tell the version of NRI.
    let modest = Profile {
        valid_events: EVENTS_0_3,
        ..Profile::nri_0_10()
    };
    let runtime = FakeRuntime::start(modest).await?;
    let subject = Component::faulty("subject", 10, json!({}));
    let host = Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .start()?;
    let plugin = runtime.plugin(PLUGIN).await?;
    assert_eq!((plugin.connection(), plugin.mask()), (2, EVENTS_0_3));
    host.wait_state("subject", State::Active).await?;
    Ok(())
}

#[tokio::test]
async fn a_connection_lost_after_configure_costs_no_events_where_the_version_is_told() -> Result<()>
{
    let builder = FakeRuntime::builder(Profile::newest()).fault(Fault::Close(Step::Synchronize));
    let mut runtime = builder.build()?;
    runtime.listen()?;
    let subject = Component::faulty("subject", 10, json!({}));
    let _host = Host::builder()
        .socket(runtime.socket())
        .component(subject)
        .start()?;
    let plugin = runtime.plugin(PLUGIN).await?;
    assert_eq!((plugin.connection(), plugin.mask()), (2, EVENTS_0_10));
    Ok(())
}

#[tokio::test]
async fn components_are_registered_one_after_another_in_the_order_of_their_indexes() -> Result<()> {
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut builder = Host::builder().socket(runtime.socket());
    for index in [70, 20, 90, 10, 50] {
        builder = builder.component(Component::faulty("subject", index, json!({})));
    }
    let host = builder.start()?;
    let names = [
        "10-subject",
        "20-subject",
        "50-subject",
        "70-subject",
        "90-subject",
    ];
    let plugins = runtime.plugins(&names).await?;
    // At the first start the order is also that in which the instances are created.
    runtime.kill(SocketFile::Removed).await?;
    host.wait_status("all waiting", |status| {
        status
            .components
            .iter()
            .all(|component| component.state == State::Waiting)
    })
    .await?;
    let earlier = runtime.connections().len();
    runtime.inject(Fault::Hold(Step::Synchronize));
    runtime.listen()?;
    runtime.held().await?;
    // While one stands still no other connects.
    assert_eq!(
        (runtime.connections().len(), runtime.waiting()),
        (earlier + 1, 0)
    );
    runtime.release();
    for plugin in &plugins {
        runtime.reconnected(plugin).await?;
    }
    let connections = runtime.connections().into_iter().skip(earlier);
    let order: Vec<_> = connections.filter_map(|known| known.plugin).collect();
    assert_eq!(order, names);
    Ok(())
}

#[tokio::test]
async fn the_order_holds_with_eight_components_through_restarts_and_who_hangs_comes_last()
-> Result<()> {
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let mut runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut builder = Host::builder().socket(runtime.socket());
    for index in [80, 20, 60, 10, 50, 70, 30, 40] {
        let on = json!({ "StopPodSandbox": { "do": "hang", "until": gate, "times": 1 } });
        let config = match index {
            20 => json!({ "on": on, "methods": ["StopPodSandbox"] }),
            _ => json!({}),
        };
        let component = Component::faulty(&format!("c{index}"), index, config);
        builder = builder.component(component.set("timeout", "100ms"));
    }
    let host = builder.start()?;
    let mut order: Vec<_> = (1..=8).map(|n| format!("{n}0-c{n}0")).collect();
    let mut plugins = Vec::new();
    for name in &order {
        plugins.push(runtime.plugin(name).await?);
    }
    // A complaint of the runtime about two handshakes at a time fails the test.
    for round in 0..6 {
        if round == 3 {
            plugins[1].stop_pod(&pods::pod("web").build()).await?;
            host.wait_state("c20", State::Overdue).await?;
            let hanging = order.remove(1);
            order.push(hanging);
        }
        runtime.kill(SocketFile::Removed).await?;
        // Who has a session shows the events of it.
        host.wait_status("every loss to be noticed", |status| {
            let mut components = status.components.iter();
            status.runtime.state == "missing"
                && components.all(|component| component.count("events").is_none())
        })
        .await?;
        let earlier = runtime.connections().len();
        runtime.listen()?;
        for plugin in &mut plugins {
            *plugin = runtime.reconnected(plugin).await?;
        }
        let connections = runtime.connections().into_iter().skip(earlier);
        let seen: Vec<_> = connections.filter_map(|known| known.plugin).collect();
        assert_eq!(seen, order, "round {round}");
    }
    std::fs::write(&gate, "")?;
    host.wait_state("c20", State::Active).await?;
    Ok(())
}

#[tokio::test]
async fn one_handshake_that_stands_still_holds_up_the_others_once() -> Result<()> {
    let mut runtime = FakeRuntime::builder(Profile::newest()).build()?;
    for _ in 0..2 {
        runtime.inject_for("10-subject", Fault::Hold(Step::Synchronize));
    }
    let host = Host::builder()
        .socket(runtime.socket())
        .set_runtime("handshake_timeout", "3s")
        .component(Component::faulty("subject", 10, json!({})))
        .component(Component::faulty("subject", 20, json!({})))
        .start()?;
    runtime.listen()?;
    runtime.plugins(&["10-subject", "20-subject"]).await?;
    let connections = runtime.connections().into_iter();
    let order: Vec<_> = connections.filter_map(|known| known.plugin).collect();
    assert_eq!(
        order,
        ["10-subject", "20-subject", "10-subject", "10-subject"]
    );
    host.logged_times("no Synchronize within 3s", 2).await
}

#[tokio::test]
async fn a_runtime_that_closes_at_once_is_tried_ever_more_slowly() -> Result<()> {
    const ATTEMPTS: usize = 6;
    let builder = (0..ATTEMPTS).fold(FakeRuntime::builder(Profile::newest()), |builder, _| {
        builder.fault(Fault::Close(Step::Read))
    });
    let mut runtime = builder.build()?;
    runtime.listen()?;
    let start = Instant::now();
    let host = host(&runtime)?;
    runtime.plugin(PLUGIN).await?;
    let connections = runtime.connections();
    assert_eq!(connections.len(), ATTEMPTS + 1);
    // The second attempt comes at once; then 100 ms, doubled each time, cut by half at most.
    let least: u64 = [50, 100, 200, 400, 800].into_iter().sum();
    let took = connections[ATTEMPTS].accepted - start;
    assert!(took > Duration::from_millis(least), "after {took:?}");
    host.wait_state("subject", State::Active).await?;
    Ok(())
}

#[tokio::test]
async fn an_end_after_the_subscription_is_told_with_the_mask_and_the_version() -> Result<()> {
    let builder = FakeRuntime::builder(Profile::nri_0_8()).fault(Fault::Close(Step::Synchronize));
    let mut runtime = builder.build()?;
    runtime.listen()?;
    let host = host(&runtime)?;
    runtime.plugin(PLUGIN).await?;
    host.logged("after the subscription to events 0x0008, on containerd 2.1.9+unknown (NRI 0.8.0)")
        .await?;
    Ok(())
}

#[tokio::test]
async fn an_old_runtime_with_too_large_a_state_is_hinted_at() -> Result<()> {
    let pod = pods::pod("web").build();
    let mut container = pods::container(&pod, "large").build();
    container.env = vec![format!("LARGE={}", "x".repeat(5 << 20))];
    let mut runtime = FakeRuntime::builder(Profile::nri_0_6())
        .state(vec![pod], vec![container])
        .build()?;
    runtime.listen()?;
    let subject = Component::faulty("subject", 10, json!({}));
    let host = Host::builder()
        .socket(runtime.socket())
        .set_runtime("handshake_timeout", "1s")
        .component(subject)
        .start()?;
    host.logged("cannot synchronize a node whose pods and containers take more than 4 MiB")
        .await?;
    runtime.set_state(Vec::new(), Vec::new());
    runtime.plugin(PLUGIN).await?;
    Ok(())
}
