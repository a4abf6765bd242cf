//! Hands change between the component's thread, which the test plays, and a real watchdog.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use protobuf::Message as _;
use ttrpc::proto::{Code, Request, Response};

use super::*;
use crate::component::clock;
use crate::component::policy::{Failure, Outcome};
use crate::config::OnFailure;
use crate::runtime::connection::{Connection, Patience};
use crate::runtime::mux::{Inbound, PLUGIN_STREAM, RUNTIME_STREAM};
use crate::runtime::session::{Call, End, Incoming, Registration};
use crate::runtime::traffic::Traffic;
use crate::runtime::ttrpc::{Answer, Outgoing};

const METHODS: u64 = Method::CreateContainer.bit();
const SOON: Duration = Duration::from_millis(20);

/// The runtime's end of a session.
struct Peer {
    socket: UnixStream,
    inbound: Inbound,
}

impl Peer {
    fn create_containers(&mut self, numbers: &[u32]) {
        let request = Request {
            service: "nri.pkg.api.v1alpha1.Plugin".into(),
            method: "CreateContainer".into(),
            ..Default::default()
        };
        let bytes: Vec<u8> = numbers
            .iter()
            .map(|number| Outgoing::request(PLUGIN_STREAM, *number, &request))
            .flat_map(|message| message.slices().map(|slice| slice.to_vec()).concat())
            .collect();
        self.socket.write_all(&bytes).unwrap();
    }

    fn answer_update(&mut self, number: u32) {
        let answer = Answer::Payload(Vec::new());
        let message = Outgoing::response(RUNTIME_STREAM, number, answer);
        for slice in message.slices() {
            self.socket.write_all(&slice).unwrap();
        }
    }

    fn answer(&mut self) -> (u32, Response) {
        loop {
            if let Some(message) = self.inbound.next_message() {
                let response = Response::parse_from_bytes(&message.body).unwrap();
                return (message.header.stream_number, response);
            }
            let mut buffer = [0; 4096];
            let len = self.socket.read(&mut buffer).unwrap();
            assert_ne!(len, 0, "the session was closed without an answer");
            self.inbound.push(&buffer[..len]).unwrap();
        }
    }
}

fn seat(on_failure: OnFailure) -> Arc<Seat> {
    let rule = QuarantineConfig {
        failures: 0,
        ..QuarantineConfig::default()
    };
    seat_with(on_failure, rule)
}

fn seat_with(on_failure: OnFailure, rule: QuarantineConfig) -> Arc<Seat> {
    let policy = Policy {
        plugin: "10-test".into(),
        on_failure,
        fail_exempt_namespaces: Vec::new(),
        timeout: None,
        sync_timeout: None,
    };
    let blueprint = Blueprint {
        name: "test".into(),
        index: 10,
        config: "{}".into(),
    };
    let watchdog = Watchdog::start().unwrap();
    let seat = Arc::new(Seat::new(
        blueprint,
        policy,
        rule,
        watchdog,
        Arc::new(Notify::new()),
    ));
    seat.arrive(METHODS);
    seat
}

fn session(seat: &Arc<Seat>) -> (Arc<Served>, Peer) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let registration = Registration {
        name: "test".into(),
        index: 10,
        expect_runtime: None,
        methods: METHODS,
        fail_request: false,
        oldest_events_only: false,
    };
    let session = Session::new(
        Connection::new(ours).unwrap(),
        registration,
        Arc::default(),
        Arc::new(Traffic::default()),
        Arc::new(Notify::new()),
    );
    let served = seat.seat_session(session).unwrap();
    (
        served,
        Peer {
            socket: theirs,
            inbound: Inbound::new(),
        },
    )
}

/// The component's thread reads a call and goes into it.
fn go_into_call(served: &Served, due: Duration) -> Arc<Call> {
    let incoming = served.session.next(Patience::Wait).unwrap();
    let Some(Incoming::Call(call)) = incoming else {
        panic!("expected a call: {incoming:?}");
    };
    let call = Arc::new(call);
    served.begin(&call, clock::now_ns(), clock::in_ns(due));
    call
}

#[test]
fn an_overdue_call_is_answered_by_the_policy_and_the_next_ones_at_once() {
    let seat = seat(OnFailure::Fail);
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1]);
    let call = go_into_call(&served, SOON);
    let (number, response) = peer.answer();
    assert_eq!((number, response.status.code()), (1, Code::INTERNAL));
    peer.create_containers(&[3]);
    assert_eq!(peer.answer().0, 3);

    assert!(!served.finish(&call), "the late answer must be dropped");
    seat.arrive(METHODS);
    peer.create_containers(&[5]);
    let call = go_into_call(&served, Duration::from_secs(60));
    assert_eq!(call.number, 5);
    assert!(served.finish(&call));
    assert_eq!(seat.counters.late.get(), 1);
    assert_eq!(seat.counters.missed.get(), 1);
    // The call that was late, and not the one that came meanwhile.
    let errors = seat.last_errors.list();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].text.contains("in time"), "{errors:?}");
    let durations = seat.counters.durations.snapshot();
    assert_eq!(durations.count(), 1, "only who answers a call counts it");
    assert!(durations.max >= SOON, "{durations:?}");
}

#[test]
fn a_request_that_was_read_together_with_the_overdue_one_is_answered_too() {
    let seat = seat(OnFailure::Ignore);
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1, 3]);
    let _call = go_into_call(&served, SOON);
    assert_eq!((peer.answer().0, peer.answer().0), (1, 3));
}

#[test]
fn a_new_session_is_served_while_the_component_is_in_a_call_of_the_last_one() {
    let seat = seat(OnFailure::Ignore);
    let (first, mut first_peer) = session(&seat);
    first_peer.create_containers(&[1]);
    let call = go_into_call(&first, SOON);
    first.session.end(End::Asked("for the test"));
    let (second, mut peer) = session(&seat);
    peer.create_containers(&[1]);
    let (number, response) = peer.answer();
    assert_eq!((number, response.status.code()), (1, Code::OK));

    assert!(!first.finish(&call));
    seat.arrive(METHODS);
    assert!(!seat.is_current(&first) && seat.is_current(&second));
    peer.create_containers(&[3]);
    assert_eq!(go_into_call(&second, Duration::from_secs(60)).number, 3);
}

#[test]
fn when_its_thread_fails_between_calls_the_session_is_served() {
    let seat = seat(OnFailure::Ignore);
    let (_served, mut peer) = session(&seat);
    seat.thread_failed(NotCreated::TryLater("a bug of the host".into()));
    peer.create_containers(&[1, 3]);
    assert_eq!((peer.answer().0, peer.answer().0), (1, 3));
}

#[test]
fn when_its_thread_fails_in_a_call_that_is_answered_at_its_deadline() {
    let seat = seat(OnFailure::Fail);
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1]);
    let _call = go_into_call(&served, SOON);
    seat.thread_failed(NotCreated::TryLater("a bug of the host".into()));
    let (number, response) = peer.answer();
    assert_eq!((number, response.status.code()), (1, Code::INTERNAL));
    peer.create_containers(&[3]);
    assert_eq!(peer.answer().0, 3);
}

#[test]
fn while_the_component_is_created_again_its_session_is_served() {
    let seat = seat(OnFailure::Ignore);
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1, 3]);
    let call = go_into_call(&served, Duration::from_secs(60));
    assert!(served.finish(&call));
    seat.conclude(&served, &call, Outcome::Reply(Vec::new()), Patience::Wait);
    seat.leave();
    assert_eq!((peer.answer().0, peer.answer().0), (1, 3));
    seat.not_created(NotCreated::TryLater("not yet".into()));
    peer.create_containers(&[5]);
    assert_eq!(peer.answer().0, 5);
}

#[test]
fn a_session_that_winds_down_answers_what_came_before() {
    let seat = seat(OnFailure::Ignore);
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1]);
    let call = go_into_call(&served, Duration::from_secs(60));
    served.session.wind_down("for the test");
    assert!(served.finish(&call));
    seat.conclude(&served, &call, Outcome::Reply(Vec::new()), Patience::Wait);
    assert_eq!(peer.answer().0, 1);
    let end = served.session.next(Patience::Wait).unwrap_err();
    assert_eq!(end.to_string(), "for the test");
}

/// The component's thread reads a call, and this comes of it.
fn conclude_next(seat: &Seat, served: &Served, outcome: Outcome) {
    let call = go_into_call(served, Duration::from_secs(60));
    assert!(served.finish(&call));
    seat.conclude(served, &call, outcome, Patience::Wait);
}

fn rule(failures: u32) -> QuarantineConfig {
    QuarantineConfig {
        failures,
        window: Duration::from_secs(3600),
    }
}

#[test]
fn failures_of_the_component_itself_and_no_others_lead_to_quarantine() {
    let seat = seat_with(OnFailure::Ignore, rule(3));
    let (served, mut peer) = session(&seat);
    let error = || Outcome::Failed(Failure::Error("no".into()));
    for (number, outcome) in [
        (1, error()),
        (3, Outcome::Rejected("not this one".into())),
        (5, Outcome::Reply(Vec::new())),
        (7, Outcome::Failed(Failure::NoReply)),
        (9, Outcome::Failed(Failure::Away)),
        (11, Outcome::Failed(Failure::DeadlySysctl)),
    ] {
        peer.create_containers(&[number]);
        conclude_next(&seat, &served, outcome);
        assert!(!seat.quarantine.is_active(), "after call {number}");
    }
    peer.create_containers(&[13]);
    conclude_next(&seat, &served, error());
    assert!(seat.quarantine.is_active());
    let answered: Vec<u32> = (0..7).map(|_| peer.answer().0).collect();
    assert_eq!(answered, [1, 3, 5, 7, 9, 11, 13]);
}

#[test]
fn late_calls_lead_to_quarantine_and_the_watchdog_answers_in_it() {
    let seat = seat_with(OnFailure::Fail, rule(1));
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1]);
    let call = go_into_call(&served, SOON);
    assert_eq!(peer.answer().0, 1);
    peer.create_containers(&[3]);
    let (number, response) = peer.answer();
    assert_eq!(number, 3);
    let text = response.status.message.as_str();
    assert!(text.contains("quarantine"), "{text}");

    assert!(!served.finish(&call));
    seat.arrive(METHODS);
    assert!(seat.quarantine.is_active(), "being back does not end it");
    assert_eq!(seat.counters.late.get(), 1);
    assert_eq!(seat.counters.missed.get(), 1);
    // What led to it, not what it led to.
    let error = seat.last_errors.newest().expect("a call was late");
    assert!(error.contains("in time"), "{error}");
}

#[test]
fn a_component_that_does_not_come_back_from_a_result_is_stood_in_for() {
    let seat = seat(OnFailure::Ignore);
    let (served, mut peer) = session(&seat);
    let told = served.begin_result(clock::in_ns(SOON));
    peer.create_containers(&[1]);
    assert_eq!(peer.answer().0, 1);
    let condition = seat.condition();
    assert!(matches!(condition, Condition::Away(Absence::UpdateResult)));
    assert_eq!(
        (seat.counters.late.get(), seat.counters.missed.get()),
        (1, 1)
    );

    assert!(!served.finish_result(told));
    seat.arrive(METHODS);
    let again = served.begin_result(clock::in_ns(Duration::from_secs(60)));
    assert_ne!(again, told);
    assert!(served.finish_result(again));
    peer.create_containers(&[3]);
    let call = go_into_call(&served, Duration::from_secs(60));
    assert!(served.finish(&call));
}

#[test]
fn the_answer_to_an_update_reaches_the_outbox_while_the_component_is_away() {
    let seat = seat(OnFailure::Ignore);
    let (served, mut peer) = session(&seat);
    let request = Some(vec![1; 8]);
    seat.outbox.push(7, request).unwrap();
    seat.outbox.send(served.key(), 3, Instant::now()).unwrap();
    peer.create_containers(&[1]);
    let _call = go_into_call(&served, SOON);
    assert_eq!(peer.answer().0, 1);
    peer.answer_update(3);
    // What comes after it is answered after it was taken in.
    peer.create_containers(&[3]);
    assert_eq!(peer.answer().0, 3);
    let result = seat.outbox.take_result().expect("the result");
    assert_eq!(result.cookie, 7);
    assert!(matches!(result.outcome, Ok(response) if response.is_empty()));
}

#[test]
fn a_component_in_quarantine_is_told_no_result_before_it_ends() {
    let seat = seat_with(OnFailure::Ignore, rule(1));
    let (served, mut peer) = session(&seat);
    seat.outbox.push(7, None).unwrap();
    peer.create_containers(&[1]);
    conclude_next(&seat, &served, Outcome::Failed(Failure::NoReply));
    assert!(seat.quarantine.is_active());
    assert!(seat.result_to_tell().is_none());
    seat.quarantine.reset();
    assert!(seat.result_to_tell().is_some());
}

#[test]
fn a_component_that_is_created_again_after_an_overdue_call_is_in_creation() {
    let seat = seat(OnFailure::Ignore);
    let (served, mut peer) = session(&seat);
    peer.create_containers(&[1]);
    let call = go_into_call(&served, SOON);
    assert_eq!(peer.answer().0, 1);
    assert!(!served.finish(&call));
    let (overdue, since) = (seat.condition(), seat.since());
    assert!(matches!(overdue, Condition::Away(Absence::Call(_))));
    seat.leave();
    let condition = seat.condition();
    assert!(matches!(condition, Condition::Away(Absence::Creation)));
    assert!(seat.since() > since);
    peer.create_containers(&[3]);
    assert_eq!(peer.answer().0, 3);
}

#[test]
fn a_panic_over_a_result_that_was_late_is_not_counted_again() {
    let seat = seat(OnFailure::Ignore);
    seat.result_is_late();
    seat.result_failed(Failure::Panic("ouch".into()), false);
    assert!(seat.out_of_step());
    assert_eq!(
        (
            seat.counters.late.get(),
            seat.counters.failures.counts().total()
        ),
        (1, 0)
    );
    seat.result_failed(Failure::Panic("ouch".into()), true);
    assert_eq!(seat.counters.failures.counts().total(), 1);
}
