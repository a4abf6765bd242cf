//! Calls, and what comes of them.

use super::*;

#[tokio::test]
async fn events_go_to_subscribers_only_in_the_order_of_their_indexes() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let mut plugins = Vec::new();
    for (index, events) in [
        ("30", 0),
        ("10", event_bit(api::Event::CREATE_CONTAINER)),
        ("20", 1),
    ] {
        let plugin = TestPlugin::connect(&runtime, subscribed_to(events)).await;
        plugin.register(index, "test").await.unwrap();
        runtime.plugin(&format!("{index}-test")).await.unwrap();
        plugins.push(plugin);
    }
    let (pod, container) = container();
    let operation = runtime.create_container(&pod, &container).await;
    assert_eq!(operation.called(), ["10-test", "30-test"]);
    let refused = runtime
        .plugin("20-test")
        .await
        .unwrap()
        .create_container(&pod, &container)
        .await;
    assert!(matches!(
        refused.unwrap_err().failure,
        Failure::NotSubscribed
    ));
}

#[tokio::test]
async fn older_versions_send_state_changes() {
    let runtime = FakeRuntime::start(Profile::nri_0_8()).await.unwrap();
    let (plugin, session) = TestPlugin::activate(&runtime, subscribed_to(0x07FF)).await;
    session.run_pod(&pods::pod("web").build()).await.unwrap();
    assert_eq!(plugin.called().last().unwrap(), "StateChange");
}

#[tokio::test]
async fn an_unimplemented_event_is_told_as_a_state_change_from_then_on() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let unknown = except("RunPodSandbox", || {
        Some(rpc::error(Code::UNIMPLEMENTED, "no"))
    });
    let (plugin, session) = TestPlugin::activate(&runtime, unknown).await;
    let pod = pods::pod("web").build();
    session.run_pod(&pod).await.unwrap();
    session.stop_pod(&pod).await.unwrap();
    assert_eq!(
        plugin.called()[2..],
        ["RunPodSandbox", "StateChange", "StateChange"]
    );
}

#[tokio::test]
async fn the_outcome_of_a_call_is_told_apart() {
    let timeout = Duration::from_millis(100);
    let runtime = FakeRuntime::builder(Profile::newest())
        .request_timeout(timeout)
        .build();
    let mut runtime = runtime.unwrap();
    runtime.listen().unwrap();
    let (pod, container) = container();

    let rejects = except("CreateContainer", || {
        Some(rpc::error(Code::UNKNOWN, "no such luck"))
    });
    let (_rejects, session) = TestPlugin::activate(&runtime, rejects).await;
    let error = session
        .create_container(&pod, &container)
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some((Code::UNKNOWN, "no such luck")));
    assert!(session.is_connected());
    session.close();

    let garbage = except("CreateContainer", || Some(rpc::ok(vec![0xFF])));
    let (_garbage, session) = TestPlugin::activate(&runtime, garbage).await;
    let error = session
        .create_container(&pod, &container)
        .await
        .unwrap_err();
    assert!(matches!(error.failure, Failure::Malformed(_)), "{error:?}");
    session.close();

    let (silent, session) =
        TestPlugin::activate(&runtime, except("CreateContainer", || None)).await;
    let error = session
        .create_container(&pod, &container)
        .await
        .unwrap_err();
    assert!(matches!(error.failure, Failure::Timeout), "{error:?}");
    assert!(error.took >= timeout);
    silent.cut_off().await;

    let (leaving, session) =
        TestPlugin::activate(&runtime, except("CreateContainer", || None)).await;
    let session = session.with_deadline(crate::patience::PATIENCE);
    let call = session.create_container(&pod, &container);
    let leave = async {
        leaving.wait_for("CreateContainer").await;
        leaving.trunk.close("leaving");
    };
    let (result, ()) = tokio::join!(call, leave);
    let error = result.unwrap_err();
    assert!(
        matches!(error.failure, Failure::ConnectionLost(_)),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_error_fails_the_operation_and_a_lost_plugin_does_not() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let (first, _) = TestPlugin::activate(&runtime, subscribed_to(0)).await;
    let rejects = except("CreateContainer", || Some(rpc::error(Code::UNKNOWN, "no")));
    let second = TestPlugin::connect(&runtime, rejects).await;
    second.register("20", "second").await.unwrap();
    let third = TestPlugin::connect(&runtime, subscribed_to(0)).await;
    third.register("30", "third").await.unwrap();
    runtime
        .plugins(&["10-test", "20-second", "30-third"])
        .await
        .unwrap();

    let (pod, container) = container();
    let operation = runtime.create_container(&pod, &container).await;
    assert_eq!(operation.called(), ["10-test", "20-second"]);
    assert_eq!(operation.replies().unwrap_err().plugin, "20-second");

    second.trunk.close("gone");
    first.trunk.close("gone");
    let replies = runtime
        .create_container(&pod, &container)
        .await
        .replies()
        .unwrap();
    assert_eq!(replies.len(), 1);
}

#[tokio::test]
async fn the_failure_policy_keeps_a_late_plugin_and_fails_the_operation() {
    let policy = api::FailurePolicy {
        fail_request: true,
        keep_connected: true,
        ..Default::default()
    };
    let answer = api::ConfigureResponse {
        events: 8,
        failure_policy: MessageField::some(policy),
        ..Default::default()
    };
    let answer = encoded(&answer);
    let late: Behaviour = Arc::new(move |method, _| match method {
        "Configure" => Some(rpc::ok(answer.clone())),
        "CreateContainer" => None,
        _ => Some(rpc::ok(Vec::new())),
    });
    let builder = FakeRuntime::builder(Profile::nri_0_12_4());
    let mut runtime = builder
        .request_timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    runtime.listen().unwrap();
    let (_plugin, session) = TestPlugin::activate(&runtime, late).await;
    let (pod, container) = container();
    let operation = runtime.create_container(&pod, &container).await;
    assert!(matches!(
        operation.replies().unwrap_err().failure,
        Failure::Timeout
    ));
    assert!(session.is_connected() && session.asks_to_fail_requests());
}

#[tokio::test]
async fn unsolicited_updates_are_recorded_and_answered_as_ordered() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let (plugin, _) = TestPlugin::activate(&runtime, subscribed_to(1)).await;
    let update = api::ContainerUpdate {
        container_id: "c1".to_owned(),
        ..Default::default()
    };
    let request = api::UpdateContainersRequest {
        update: vec![update.clone()],
        ..Default::default()
    };
    assert_eq!(
        plugin.call("UpdateContainers", &request).await.unwrap(),
        Vec::<u8>::new()
    );
    runtime.set_update_answer(UpdateAnswer::Failed(vec![update]));
    let answer = plugin.call("UpdateContainers", &request).await.unwrap();
    let answer = api::UpdateContainersResponse::parse_from_bytes(&answer).unwrap();
    assert_eq!(answer.failed[0].container_id, "c1");
    runtime.set_update_answer(UpdateAnswer::Error("no".to_owned()));
    plugin.call("UpdateContainers", &request).await.unwrap_err();
    let updates = runtime.updates(3).await.unwrap();
    assert!(
        updates
            .iter()
            .all(|update| update.plugin == "10-test" && update.request == request)
    );
}

#[tokio::test]
async fn broken_framing_is_complained_of() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let (plugin, session) = TestPlugin::activate(&runtime, subscribed_to(1)).await;
    plugin.trunk.send_raw(frame(1, &[0; 5000]));
    assert!(matches!(session.ended().await.unwrap(), End::Violation(_)));
    runtime
        .connection("its end", |connection| connection.end.is_some())
        .await
        .unwrap();
    let complaints = runtime.take_complaints();
    assert!(
        matches!(complaints[..], [Complaint::Protocol { connection: 1, .. }]),
        "{complaints:?}"
    );
}

#[tokio::test]
async fn unsolicited_updates_wait_for_the_call_under_way_where_that_is_ordered() {
    let timeout = Duration::from_millis(200);
    let mut runtime = FakeRuntime::builder(Profile::newest())
        .request_timeout(timeout)
        .serialize_updates()
        .build()
        .unwrap();
    runtime.listen().unwrap();
    let hangs = except("CreateContainer", || None);
    let (plugin, session) = TestPlugin::activate(&runtime, hangs).await;
    let (pod, container) = container();
    let call = session.create_container(&pod, &container);
    let update = async {
        plugin.wait_for("CreateContainer").await;
        let request = api::UpdateContainersRequest::default();
        plugin.call("UpdateContainers", &request).await
    };
    // The update is not answered before the call is given up, and its answer is lost with the
    // connection: what happens to a plugin that waits for it in the call.
    let (answer, update) = tokio::join!(call, update);
    assert!(matches!(answer.unwrap_err().failure, Failure::Timeout));
    update.unwrap_err();
    assert_eq!(runtime.updates(1).await.unwrap()[0].plugin, "10-test");
}
