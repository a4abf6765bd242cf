//! Faults, restarts, and raw bytes.

use super::*;

#[tokio::test]
async fn faults_happen_where_they_were_ordered() {
    let runtime = FakeRuntime::start(Profile::newest()).await.unwrap();
    for step in Step::ALL {
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
