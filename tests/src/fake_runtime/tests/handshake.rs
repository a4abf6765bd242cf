//! From connecting to the first event.

use super::*;

#[tokio::test]
async fn a_plugin_is_taken_through_the_handshake_and_called() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let (plugin, session) = TestPlugin::activate(&runtime, subscribed_to(0x3FFF)).await;
    let (pod, container) = container();
    session.create_container(&pod, &container).await.unwrap();
    assert_eq!(
        plugin.called(),
        ["Configure", "Synchronize", "CreateContainer"]
    );
    assert_eq!(
        (session.mask(), session.synchronized().messages),
        (0x3FFF, 1)
    );
    assert_eq!(runtime.active(), ["10-test"]);
}

#[tokio::test]
async fn the_registration_may_be_answered_first() {
    let runtime = FakeRuntime::builder(Profile::newest())
        .register_reply(RegisterReply::First)
        .build();
    let mut runtime = runtime.unwrap();
    runtime.listen().unwrap();
    TestPlugin::activate(&runtime, subscribed_to(1)).await;
}

#[tokio::test]
async fn unknown_event_bits_end_the_connection() {
    let runtime = FakeRuntime::start(Profile::nri_0_8()).await.unwrap();
    let plugin = TestPlugin::connect(&runtime, subscribed_to(0x3FFF)).await;
    // Depending on which of the two is faster, the registration fails or its answer is lost.
    let _ = plugin.register("10", "test").await;
    plugin.cut_off().await;
    assert_eq!(
        runtime.connections()[0].end,
        Some(End::Closed("invalid plugin events"))
    );
}

#[tokio::test]
async fn bad_names_and_indexes_are_refused_and_leave_a_dead_connection() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let mut open = Vec::new();
    for (index, name) in [
        ("1", "x"),
        ("1a", "x"),
        ("123", "x"),
        ("10", ""),
        ("10", "a b"),
    ] {
        let plugin = TestPlugin::connect(&runtime, subscribed_to(1)).await;
        plugin.register(index, name).await.unwrap_err();
        assert!(plugin.trunk.end().is_none());
        open.push(plugin);
    }
    let dead = |connection: &Connection| connection.stage == Stage::Dead;
    let last = |connection: &Connection| connection.number == 5 && dead(connection);
    runtime
        .connection("five dead connections", last)
        .await
        .unwrap();
    assert!(runtime.connections().iter().all(dead));
}

#[tokio::test]
async fn a_split_state_is_sent_in_the_chunks_ordered() {
    let pod = pods::pod("web").build();
    let containers = vec![pods::container(&pod, "server").running().build(); 9];
    let builder = FakeRuntime::builder(Profile::newest()).state(vec![pod], containers);
    let mut runtime = builder
        .split(Split::Chunks(vec![(1, 3), (0, 3)]))
        .build()
        .unwrap();
    runtime.listen().unwrap();
    let (_plugin, session) = TestPlugin::activate(&runtime, subscribed_to(1)).await;
    assert_eq!(session.synchronized().messages, 3);
}

#[tokio::test]
async fn a_chunk_that_is_not_answered_with_more_is_complained_of() {
    let builder = FakeRuntime::builder(Profile::newest()).split(Split::EmptyFirst(1));
    let mut runtime = builder.build().unwrap();
    runtime.listen().unwrap();
    let plugin = TestPlugin::connect(
        &runtime,
        except("Synchronize", || Some(rpc::ok(Vec::new()))),
    )
    .await;
    plugin.register("10", "test").await.unwrap();
    plugin.cut_off().await;
    assert_eq!(
        runtime.take_complaints(),
        [Complaint::Chunk { connection: 1 }]
    );
}

#[tokio::test]
async fn a_failed_synchronization_leaves_a_zombie_before_0_12() {
    let refuses = || except("Synchronize", || Some(rpc::error(Code::UNKNOWN, "no")));
    let runtime = FakeRuntime::start(Profile::nri_0_8()).await.unwrap();
    let events: Behaviour = Arc::new(|method, _| match method {
        "Configure" => Some(rpc::ok(encoded(&api::ConfigureResponse {
            events: 1,
            ..Default::default()
        }))),
        _ => Some(rpc::error(Code::UNKNOWN, "no")),
    });
    let zombie = TestPlugin::connect(&runtime, events).await;
    zombie.register("10", "test").await.unwrap();
    let dead = |connection: &Connection| connection.stage == Stage::Dead;
    runtime.connection("a zombie", dead).await.unwrap();
    assert!(zombie.trunk.end().is_none());

    let runtime = FakeRuntime::start(Profile::nri_0_12_0()).await.unwrap();
    let closed = TestPlugin::connect(&runtime, refuses()).await;
    closed.register("10", "test").await.unwrap();
    closed.cut_off().await;
}

#[tokio::test]
async fn a_connection_that_does_not_register_is_closed_in_time() {
    let builder = FakeRuntime::builder(Profile::newest());
    let builder = builder.registration_timeout(Duration::from_millis(50));
    let mut runtime = builder.build().unwrap();
    runtime.listen().unwrap();
    let silent = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    silent.cut_off().await;
}

#[tokio::test]
async fn handshakes_that_overlap_are_complained_of_and_served_one_after_another() {
    let builder = FakeRuntime::builder(Profile::newest());
    let mut runtime = builder
        .fault(Fault::Hold(Step::Synchronize))
        .build()
        .unwrap();
    runtime.listen().unwrap();
    let first = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    first.register("10", "first").await.unwrap();
    let held = runtime.held().await.unwrap();
    assert_eq!((held.number, held.held), (1, Some(Step::Synchronize)));

    let second = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    let registration = second.register("20", "second");
    let release = async {
        let waits = |state: &mut State| (state.waiting.len() == 1).then_some(());
        runtime
            .board
            .wait_for("the second connection", waits)
            .await
            .unwrap();
        runtime.release();
    };
    let (result, ()) = tokio::join!(registration, release);
    result.unwrap();
    assert_eq!(
        runtime.take_complaints(),
        [Complaint::Overlap { earlier: 1 }]
    );
    runtime.plugins(&["10-first", "20-second"]).await.unwrap();
}

#[tokio::test]
async fn a_closed_connection_does_not_overlap_with_the_next() {
    let builder = FakeRuntime::builder(Profile::newest());
    let mut runtime = builder.fault(Fault::Hold(Step::Configure)).build().unwrap();
    runtime.listen().unwrap();
    let first = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    first.register("10", "test").await.unwrap();
    runtime.held().await.unwrap();
    drop(first);
    TestPlugin::activate(&runtime, subscribed_to(1)).await;
    assert_eq!(runtime.take_complaints(), []);
}
