//! The fake runtime against a plugin made of the `ttrpc` crate's server and client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nri_plugin_api::api;
use protobuf::{Message, MessageField};
use tokio::net::UnixStream;
use ttrpc::r#async::{Client, MethodHandler, Server};
use ttrpc::{Code, Request, Response};

use super::mux::{End, Limits, Side, Trunk, frame};
use super::*;
use crate::patience::patiently;
use crate::pods;

const METHODS: [&str; 17] = [
    "Configure",
    "Synchronize",
    "Shutdown",
    "RunPodSandbox",
    "UpdatePodSandbox",
    "PostUpdatePodSandbox",
    "StopPodSandbox",
    "RemovePodSandbox",
    "CreateContainer",
    "PostCreateContainer",
    "StartContainer",
    "PostStartContainer",
    "UpdateContainer",
    "PostUpdateContainer",
    "StopContainer",
    "RemoveContainer",
    "StateChange",
];

/// How a plugin answers; `None` is never.
type Behaviour = Arc<dyn Fn(&str, &[u8]) -> Option<Response> + Send + Sync>;

/// A plugin, and the methods that were called.
struct TestPlugin {
    trunk: Trunk,
    client: Client,
    _server: Server,
    called: Arc<Mutex<Vec<String>>>,
}

/// Subscribes to `events`, answers Synchronize as it must, all else with nothing.
fn subscribed_to(events: i32) -> Behaviour {
    Arc::new(move |method, payload| {
        Some(rpc::ok(match method {
            "Configure" => encoded(&api::ConfigureResponse {
                events,
                ..Default::default()
            }),
            "Synchronize" => {
                let request = api::SynchronizeRequest::parse_from_bytes(payload).unwrap();
                encoded(&api::SynchronizeResponse {
                    more: request.more,
                    ..Default::default()
                })
            }
            _ => Vec::new(),
        }))
    })
}

/// As `subscribed_to` all events, but one method is answered otherwise.
fn except(
    method: &'static str,
    answer: impl Fn() -> Option<Response> + Send + Sync + 'static,
) -> Behaviour {
    let usual = subscribed_to(EVENTS_0_10);
    Arc::new(move |called, payload| {
        if called == method {
            answer()
        } else {
            usual(called, payload)
        }
    })
}

fn encoded(message: &impl Message) -> Vec<u8> {
    message.write_to_bytes().unwrap()
}

impl TestPlugin {
    async fn connect(runtime: &FakeRuntime, behaviour: Behaviour) -> Self {
        let socket = UnixStream::connect(runtime.socket()).await.unwrap();
        let (trunk, streams) = Trunk::start(socket, Side::Plugin, Limits::default()).unwrap();
        trunk.set_cut(Cut::HeaderApart);
        let called = Arc::new(Mutex::new(Vec::new()));
        let methods = METHODS.iter().map(|&method| {
            let (behaviour, called) = (Arc::clone(&behaviour), Arc::clone(&called));
            let handler = rpc::Method(move |payload: Vec<u8>| -> rpc::Answer {
                called.lock().unwrap().push(method.to_owned());
                let answer = behaviour(method, &payload);
                Box::pin(async {
                    match answer {
                        Some(answer) => answer,
                        None => std::future::pending().await,
                    }
                })
            });
            let handler: Box<dyn MethodHandler + Send + Sync> = Box::new(handler);
            (method.to_owned(), handler)
        });
        let methods: HashMap<_, _> = methods.collect();
        let server = rpc::serve(streams.plugin, rpc::PLUGIN, methods)
            .await
            .unwrap();
        Self {
            trunk,
            client: rpc::client(streams.runtime),
            _server: server,
            called,
        }
    }

    async fn register(&self, index: &str, name: &str) -> ttrpc::Result<()> {
        let request = api::RegisterPluginRequest {
            plugin_name: name.to_owned(),
            plugin_idx: index.to_owned(),
            ..Default::default()
        };
        self.call("RegisterPlugin", &request).await.map(drop)
    }

    async fn call(&self, method: &str, request: &impl Message) -> ttrpc::Result<Vec<u8>> {
        let request = Request {
            service: rpc::RUNTIME.to_owned(),
            method: method.to_owned(),
            payload: encoded(request),
            ..Request::default()
        };
        let response = patiently("an answer of the runtime", self.client.request(request)).await;
        response.unwrap().map(|response| response.payload)
    }

    /// Connects and registers as `10-test`.
    async fn activate(runtime: &FakeRuntime, behaviour: Behaviour) -> (Self, Plugin) {
        let plugin = Self::connect(runtime, behaviour).await;
        plugin.register("10", "test").await.unwrap();
        (plugin, runtime.plugin("10-test").await.unwrap())
    }

    /// Waits for the runtime to end the connection, which a write may notice before a read does.
    async fn cut_off(&self) {
        let end = patiently("the end of the connection", self.trunk.ended()).await;
        let end = end.unwrap();
        assert!(matches!(end, End::ClosedByPeer | End::Io(_)), "{end}");
    }

    fn called(&self) -> Vec<String> {
        self.called.lock().unwrap().clone()
    }
}

fn container() -> (api::PodSandbox, api::Container) {
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    (pod, container)
}

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
        while leaving
            .called()
            .last()
            .is_none_or(|method| method != "CreateContainer")
        {
            tokio::task::yield_now().await;
        }
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

#[tokio::test]
async fn faults_happen_where_they_were_ordered() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    for step in [
        Step::Read,
        Step::Register,
        Step::Configure,
        Step::Synchronize,
        Step::Activate,
    ] {
        runtime.inject(Fault::Close(step));
        let plugin = TestPlugin::connect(&runtime, subscribed_to(1)).await;
        let _ = plugin.register("10", "test").await;
        plugin.cut_off().await;
        let calls = match step {
            Step::Read | Step::Register | Step::Configure => 0,
            Step::Synchronize => 1,
            Step::Activate => 2,
        };
        assert_eq!(plugin.called().len(), calls, "before {step:?}");
    }
    runtime.inject(Fault::RefuseRegistration);
    let refused = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    refused.register("10", "test").await.unwrap_err();

    runtime.inject(Fault::CutOff(Limits {
        written: Some(10),
        read: None,
    }));
    let cut_off = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    cut_off.register("10", "test").await.unwrap_err();

    runtime.inject_for("10-test", Fault::HalfClose(Step::Synchronize));
    let deaf = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    // The answer may be too late for the direction that is shut.
    let _ = deaf.register("10", "test").await;
    deaf.cut_off().await;

    TestPlugin::activate(&runtime, subscribed_to(1)).await;
}

#[tokio::test]
async fn a_raw_connection_is_handed_over_untouched() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    runtime.inject(Fault::Raw);
    let plugin = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    let mut raw = runtime.raw_connection().await.unwrap();
    let answer = async {
        let message = raw.read_message().await.unwrap().unwrap();
        assert_eq!((message.stream, message.header.kind), (2, 1));
        let request = Request::parse_from_bytes(&message.body).unwrap();
        assert_eq!(request.method, "RegisterPlugin");
        let mut reply = vec![0, 0, 0, 0];
        reply.extend(message.header.stream.to_be_bytes());
        reply.extend([2, 0]);
        raw.write_frame(2, &reply).await.unwrap();
    };
    let (result, ()) = tokio::join!(plugin.register("10", "test"), answer);
    result.unwrap();
}

#[tokio::test]
async fn a_killed_runtime_comes_back_on_the_same_path() {
    let mut runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    let (plugin, session) = TestPlugin::activate(&runtime, subscribed_to(1)).await;
    runtime.kill(SocketFile::Left).await.unwrap();
    plugin.cut_off().await;
    let refused = UnixStream::connect(runtime.socket()).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);

    runtime.listen().unwrap();
    let again = TestPlugin::connect(&runtime, subscribed_to(1)).await;
    again.register("10", "test").await.unwrap();
    assert_eq!(runtime.reconnected(&session).await.unwrap().connection(), 2);

    runtime.kill(SocketFile::Removed).await.unwrap();
    let missing = UnixStream::connect(runtime.socket()).await.unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
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
