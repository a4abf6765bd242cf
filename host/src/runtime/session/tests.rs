//! A runtime, which the test plays, and a session that the test reads.

use std::io::Write;
use std::os::unix::net::UnixStream;

use ttrpc::proto::Code;

use super::*;
use crate::runtime::mux::{PLUGIN_STREAM, RUNTIME_STREAM};
use crate::runtime::update::MAX_UPDATE;

fn session(methods: u64) -> (Session, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let registration = Registration {
        name: "test".into(),
        index: 10,
        expect_runtime: None,
        methods,
        fail_request: false,
        oldest_events_only: false,
    };
    let connection = Connection::new(ours).unwrap();
    let traffic = Arc::new(Traffic::default());
    (
        Session::new(
            connection,
            registration,
            Arc::default(),
            traffic,
            Arc::default(),
        ),
        theirs,
    )
}

fn next_call(session: &Session) -> Call {
    match session.next(Patience::Wait).unwrap() {
        Some(Incoming::Call(call)) => call,
        other => panic!("expected a call: {other:?}"),
    }
}

fn send(peer: &mut UnixStream, message: &Outgoing) {
    peer.write_all(&message.slices().map(|slice| slice.to_vec()).concat())
        .unwrap();
}

fn synchronize(peer: &mut UnixStream, payload: &[u8], time: Duration) {
    let request = Request {
        service: PLUGIN_SERVICE.into(),
        method: "Synchronize".into(),
        timeout_nano: i64::try_from(time.as_nanos()).unwrap(),
        payload: payload.to_vec(),
        ..Default::default()
    };
    send(peer, &Outgoing::request(PLUGIN_STREAM, 1, &request));
}

const LONG: Duration = Duration::from_secs(60);
const NO_TIME: Duration = Duration::from_nanos(1);

#[test]
fn a_synchronization_that_was_answered_in_time_makes_the_session_active() {
    let (session, mut peer) = session(Method::Synchronize.bit());
    synchronize(&mut peer, &[], LONG);
    let call = next_call(&session);
    // An answer at the last moment of it still counts as in time.
    assert!(call.time <= LONG - LONG / 20);
    assert!(session.progress().synchronized.is_none());
    session.answer(&call, Answer::EMPTY, Patience::Wait);
    assert!(session.progress().synchronized.is_some());
    assert!(!session.has_ended());
}

#[test]
fn a_late_answer_to_a_synchronization_ends_the_session() {
    let (session, mut peer) = session(Method::Synchronize.bit());
    synchronize(&mut peer, &[], NO_TIME);
    let call = next_call(&session);
    session.answer(&call, Answer::EMPTY, Patience::Wait);
    let end = session.next(Patience::Wait).unwrap_err();
    assert!(
        matches!(*end, End::Unsynchronized(Unsynchronized::Late { .. })),
        "{end:?}"
    );
    assert!(session.progress().synchronized.is_none());
}

#[test]
fn a_late_answer_of_the_host_itself_ends_the_session_too() {
    let (session, mut peer) = session(0);
    synchronize(&mut peer, &[], NO_TIME);
    let end = session.next(Patience::Wait).unwrap_err();
    assert!(matches!(*end, End::Unsynchronized(_)), "{end:?}");
}

#[test]
fn a_synchronization_that_cannot_be_read_ends_the_session() {
    let (session, mut peer) = session(Method::Synchronize.bit());
    synchronize(&mut peer, &[0xff; 9], LONG);
    let end = session.next(Patience::Wait).unwrap_err();
    assert!(
        matches!(*end, End::Unsynchronized(Unsynchronized::Refused)),
        "{end:?}"
    );
}

#[test]
fn what_the_handshake_waits_for_is_named_in_each_phase() {
    let (session, mut peer) = session(0);
    assert_eq!(session.progress().awaited(), "answer to the registration");
    let good = Outgoing::response(RUNTIME_STREAM, REGISTER_CALL, Answer::EMPTY);
    send(&mut peer, &good);
    assert!(session.next(Patience::Never).unwrap().is_none());
    assert_eq!(session.progress().awaited(), "Configure");
    let request = Request {
        service: PLUGIN_SERVICE.into(),
        method: "Configure".into(),
        ..Default::default()
    };
    send(&mut peer, &Outgoing::request(PLUGIN_STREAM, 1, &request));
    assert!(session.next(Patience::Never).unwrap().is_none());
    assert_eq!(session.progress().awaited(), "Synchronize");
}

#[test]
fn the_largest_update_fits_a_socket_that_nobody_reads_at_the_moment() {
    let (session, _peer) = session(0);
    session.update_containers(session.update_call_number(), vec![0; 2 * MAX_UPDATE]);
    assert!(!session.has_ended());
}

#[test]
fn the_answer_to_an_update_comes_out_under_its_number() {
    let (session, mut peer) = session(0);
    let first = session.update_call_number();
    session.update_containers(first, Vec::new());
    let second = session.update_call_number();
    session.update_containers(second, Vec::new());
    let refused = Answer::Error {
        code: Code::UNKNOWN,
        text: "no".into(),
    };
    let good = Answer::Payload(vec![1]);
    send(
        &mut peer,
        &Outgoing::response(RUNTIME_STREAM, second, refused),
    );
    send(&mut peer, &Outgoing::response(RUNTIME_STREAM, first, good));
    for (number, answer) in [(second, Err("no".to_owned())), (first, Ok(vec![1]))] {
        let incoming = session.next(Patience::Wait).unwrap();
        let Some(Incoming::UpdateAnswer {
            number: of,
            answer: is,
        }) = incoming
        else {
            panic!("expected an answer: {incoming:?}");
        };
        assert_eq!((of, is), (number, answer));
    }
    assert!(
        !session.progress().registered,
        "neither is the registration's"
    );
}

#[test]
fn a_session_is_synchronizing_from_the_first_chunk_to_the_last_answer() {
    let (session, mut peer) = session(Method::Synchronize.bit());
    assert!(!session.is_synchronizing());
    let more = api::SynchronizeRequest {
        more: true,
        ..Default::default()
    };
    synchronize(&mut peer, &encode(&more), LONG);
    assert!(session.next(Patience::Never).unwrap().is_none());
    assert!(session.is_synchronizing());
    synchronize(&mut peer, &[], LONG);
    let call = next_call(&session);
    assert!(session.is_synchronizing());
    session.answer(&call, Answer::EMPTY, Patience::Wait);
    assert!(!session.is_synchronizing());
}

#[test]
fn a_call_is_under_way_from_when_it_is_read_until_it_is_answered() {
    let (session, mut peer) = session(Method::Synchronize.bit());
    assert!(session.traffic.quiet().is_some());
    synchronize(&mut peer, &[], LONG);
    let call = next_call(&session);
    assert_eq!(session.traffic.quiet(), None);
    session.answer(&call, Answer::EMPTY, Patience::Wait);
    assert!(session.traffic.quiet().is_some());
}

#[test]
fn a_session_that_winds_down_or_has_ended_does_not_go_on() {
    let (winding_down, _peer) = session(0);
    assert!(winding_down.goes_on());
    winding_down.wind_down("for the test");
    assert!(!winding_down.goes_on() && !winding_down.has_ended());
    let (ended, _peer) = session(0);
    ended.end(End::Asked("for the test"));
    assert!(!ended.goes_on());
}

#[test]
fn what_the_host_itself_answers_is_no_rest() {
    let (session, mut peer) = session(0);
    let before = session.traffic.quiet();
    let request = Request {
        service: PLUGIN_SERVICE.into(),
        method: "StopPodSandbox".into(),
        ..Default::default()
    };
    send(&mut peer, &Outgoing::request(PLUGIN_STREAM, 1, &request));
    assert!(session.next_if_there().unwrap().is_none());
    let after = session.traffic.quiet();
    assert!(after.is_some() && after != before);
}
