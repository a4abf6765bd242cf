//! Updates that components ask for outside requests.

mod asker;
mod results;

use anyhow::{Context, Result};
use nri_host_tests::artifacts::c_component;
use nri_host_tests::fake_runtime::mux::Direction;
use nri_host_tests::fake_runtime::{
    FakeRuntime, Fault, Plugin, Profile, Step, Unsolicited, UpdateAnswer,
};
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use asker::{ASKED, Asker, counted, fine, start, wait_counted};

/// What the host keeps of one component before it says that its queue is full.
const QUEUE: usize = 64;

/// The ids of the containers in order of arrival.
fn containers(updates: &[Unsolicited]) -> Vec<&str> {
    let all = updates.iter().flat_map(|update| &update.request.update);
    all.map(|update| update.container_id.as_str()).collect()
}

async fn create_container(plugin: &Plugin) -> Result<()> {
    let pod = pods::pod("web-0").build();
    let container = pods::container(&pod, "server").build();
    plugin.create_container(&pod, &container).await?;
    Ok(())
}

#[tokio::test]
async fn an_update_arrives_with_all_that_runtimes_rely_on() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let asker = Asker::new("asker")?.in_create(&["c0"]);
    let host = start(&runtime, &[&asker])?;
    let [update] = &runtime.updates(1).await?[..] else {
        anyhow::bail!("expected one update");
    };
    assert_eq!(update.plugin, "10-asker");
    let [update] = &update.request.update[..] else {
        anyhow::bail!("expected one container: {update:?}");
    };
    assert_eq!(update.container_id, "c0");
    let resources = &update.linux.resources;
    assert_eq!(resources.cpu.cpus, "0");
    assert!(resources.memory.is_some(), "{resources:?}");
    assert_eq!(asker.told(1).await?, [fine("c0")]);
    wait_counted(&host, "asker", "queued", 1).await?;
    wait_counted(&host, "asker", "sent", 1).await?;
    wait_counted(&host, "asker", "failed", 0).await
}

#[tokio::test]
async fn nothing_is_sent_before_the_component_was_synchronized() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.inject(Fault::Hold(Step::Synchronize));
    let asker = Asker::new("asker")?.in_create(&["c0"]);
    let host = start(&runtime, &[&asker])?;
    runtime.held().await?;
    asker.record.wait_for(ASKED).await?;
    // Two answers of the status, with a look of the host at what it could send in between.
    for _ in 0..2 {
        let status = host.status_from_socket().await?;
        let component = status.component("asker").context("it is configured")?;
        assert_eq!(counted(component, "sent"), Some(0));
    }
    assert!(runtime.updates(0).await?.is_empty());
    runtime.release();
    runtime.updates(1).await?;
    assert_eq!(asker.told(1).await?, [fine("c0")]);
    Ok(())
}

#[tokio::test]
async fn an_update_asked_for_in_a_call_follows_the_answer() -> Result<()> {
    let runtime = FakeRuntime::builder(Profile::newest()).serialize_updates();
    let mut runtime = runtime.build()?;
    runtime.listen()?;
    let ask = json!({ "do": "update", "text": "c0" });
    let asker = Asker::new("asker")?.in_call(&ask);
    let _host = start(&runtime, &[&asker])?;
    let plugin = runtime.plugin("10-asker").await?;
    create_container(&plugin).await?;
    assert_eq!(asker.told(1).await?, [fine("c0")]);

    let frames = plugin.record().frames;
    let read = frames.iter().filter(|f| f.direction == Direction::Read);
    let streams: Vec<u32> = read.map(|frame| frame.stream).collect();
    // Registration; answers to Configure, Synchronize and CreateContainer; the update.
    assert_eq!(streams, [2, 1, 1, 1, 2]);
    Ok(())
}

#[tokio::test]
async fn no_update_is_sent_while_any_component_is_in_a_call() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let other = Asker::new("other")?;
    let hang = json!({ "do": "hang", "until": other.signal() });
    let other = other.in_call(&hang);
    let asker = Asker::new("asker")?.burst(&["c0"]);
    let host = start(&runtime, &[&asker, &other])?;
    let [_, plugin] = &runtime.plugins(&["10-asker", "11-other"]).await?[..] else {
        anyhow::bail!("expected two plugins");
    };
    let during = async {
        other.record.wait_for("CreateContainer").await?;
        asker.go()?;
        wait_counted(&host, "asker", "queued", 1).await?;
        for _ in 0..2 {
            let status = host.status_from_socket().await?;
            let component = status.component("asker").context("it is configured")?;
            assert_eq!(counted(component, "sent"), Some(0));
        }
        assert!(runtime.updates(0).await?.is_empty());
        other.go()
    };
    let (call, during) = tokio::join!(create_container(plugin), during);
    during?;
    call?;
    runtime.updates(1).await?;
    assert_eq!(asker.told(1).await?, [fine("c0")]);
    Ok(())
}

#[tokio::test]
async fn a_runtime_with_one_lock_over_calls_and_updates_never_waits_for_the_host() -> Result<()> {
    let runtime = FakeRuntime::builder(Profile::newest()).serialize_updates();
    let mut runtime = runtime.build()?;
    runtime.listen()?;
    let ids: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let askers: Vec<Asker> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| {
            let ask = json!({ "do": "update", "text": "from-a-call", "times": 10 });
            Ok(Asker::new(name)?.burst(&ids).in_call(&ask))
        })
        .collect::<Result<_>>()?;
    let askers: Vec<&Asker> = askers.iter().collect();
    let host = start(&runtime, &askers)?;
    runtime.plugins(&["10-a", "11-b", "12-c", "13-d"]).await?;
    for asker in &askers {
        asker.go()?;
    }
    let pod = pods::pod("web-0").build();
    for n in 0..40 {
        let container = pods::container(&pod, &format!("server-{n}")).build();
        let operation = runtime.create_container(&pod, &container).await;
        assert_eq!(operation.called().len(), 4);
        for (plugin, answer) in operation.calls {
            answer.with_context(|| format!("{plugin} in call {n}"))?;
        }
    }
    for asker in &askers {
        let told = asker.told(ids.len() + 10).await?;
        assert!(told.iter().all(|(_, error)| error.is_empty()), "{told:?}");
        let of_burst = told.iter().filter(|(id, _)| id != "from-a-call");
        let of_burst: Vec<&str> = of_burst.map(|(id, _)| id.as_str()).collect();
        assert_eq!(
            of_burst, ids,
            "not in the order in which they were asked for"
        );
        let status = host.wait_state(&asker.name, State::Active).await?;
        let troubles = ["late", "failures", "missed"].map(|key| status.count(key));
        assert_eq!(troubles, [Some(0); 3]);
    }
    Ok(())
}

#[tokio::test]
async fn one_update_is_outstanding_and_components_take_turns() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    runtime.set_update_answer(UpdateAnswer::Held);
    let busy = Asker::new("busy")?.burst(&["a0", "a1", "a2"]);
    let other = Asker::new("other")?.burst(&["b0"]);
    let host = start(&runtime, &[&busy, &other])?;
    runtime.plugins(&["10-busy", "11-other"]).await?;
    busy.go()?;
    wait_counted(&host, "busy", "queued", 3).await?;
    runtime.updates(1).await?;
    other.go()?;
    wait_counted(&host, "other", "queued", 1).await?;
    for count in 1..=4 {
        let updates = runtime.updates(count).await?;
        assert_eq!(containers(&updates), ["a0", "b0", "a1", "a2"][..count]);
        runtime.release();
    }
    assert_eq!(busy.told(3).await?, ["a0", "a1", "a2"].map(fine));
    assert_eq!(other.told(1).await?, [fine("b0")]);
    Ok(())
}

#[tokio::test]
async fn of_a_component_that_asks_badly_only_what_can_be_mended_is_sent() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let config = json!({ "fault": "bad_updates", "on": ["CreateContainer"] });
    let host = Host::builder()
        .socket(runtime.socket())
        .component(Component::new("raw", 10, c_component("raw_faults")?).config(config))
        .start()?;
    let plugin = runtime.plugin("10-raw").await?;
    create_container(&plugin).await?;
    let [update] = &runtime.updates(1).await?[..] else {
        anyhow::bail!("expected one update");
    };
    let resources = &update.request.update[0].linux.resources;
    assert_eq!(resources.pids.limit, 5);
    assert!(resources.cpu.is_some() && resources.memory.is_some());
    let statuses = [
        ("NULL with a length", -2),
        ("one cut off", -2),
        ("a large one", -2),
        ("one of no container", -2),
        ("one of pids alone", 0),
    ];
    for (kind, status) in statuses {
        host.logged(&format!("update: {kind} returned {status}"))
            .await?;
    }
    host.logged("update refused: update[0] names no container")
        .await?;
    // It has no function for results, and goes on without.
    create_container(&plugin).await
}

#[tokio::test]
async fn a_full_queue_refuses_and_what_it_holds_is_sent_in_order() -> Result<()> {
    let mut runtime = FakeRuntime::builder(Profile::newest()).build()?;
    let ids: Vec<String> = (0..QUEUE + 6).map(|n| format!("c{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let asker = Asker::new("asker")?.in_create(&ids);
    let _host = start(&runtime, &[&asker])?;
    asker.record.wait_for_calls(ASKED, ids.len()).await?;
    let asked = asker.record.calls_of(ASKED);
    let queued = |line: &crate::record::Line| line.status == "queued";
    assert!(asked[..QUEUE].iter().all(queued), "{asked:?}");
    assert!(
        asked[QUEUE..].iter().all(|line| line.status == "full"),
        "{asked:?}"
    );
    runtime.listen()?;
    let updates = runtime.updates(QUEUE).await?;
    assert_eq!(containers(&updates), ids[..QUEUE]);
    let told: Vec<_> = ids[..QUEUE].iter().map(|id| fine(id)).collect();
    assert_eq!(asker.told(QUEUE).await?, told);
    Ok(())
}
