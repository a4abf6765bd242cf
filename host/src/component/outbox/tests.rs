//! Requests on their way to the runtime, and their results on the way back.

use super::*;

const SESSION: Key = Key::for_tests(1);

fn outbox() -> Outbox {
    Outbox::new("10-test".into(), Arc::default())
}

/// The outbox does not look into a request.
fn request() -> Option<Vec<u8>> {
    Some(vec![1; 100])
}

fn outcome(outbox: &Outbox) -> (u64, Result<Vec<u8>, String>) {
    let UpdateResult { cookie, outcome } = outbox.take_result().expect("a result");
    (cookie, outcome.map_err(|failure| failure.to_string()))
}

#[test]
fn an_answer_is_for_the_request_that_was_sent_and_for_no_other() {
    let outbox = outbox();
    outbox.push(7, request()).unwrap();
    outbox.push(8, request()).unwrap();
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.answered(SESSION, 5, Ok(Vec::new()));
    outbox.answered(Key::for_tests(2), 3, Ok(Vec::new()));
    assert!(outbox.take_result().is_none() && outbox.answer_due().is_some());
    outbox.answered(SESSION, 3, Ok(Vec::new()));
    assert_eq!(outcome(&outbox), (7, Ok(Vec::new())));
    assert!(outbox.answer_due().is_none() && outbox.has_queued());
}

#[test]
fn a_late_answer_changes_nothing_any_more() {
    let outbox = outbox();
    let now = Instant::now();
    outbox.push(7, request()).unwrap();
    outbox.send(SESSION, 3, now).unwrap();
    outbox.expire(now + ANSWER_LIMIT - Duration::from_nanos(1));
    assert!(outbox.take_result().is_none());
    outbox.expire(now + ANSWER_LIMIT);
    let refused = outcome(&outbox).1.unwrap_err();
    assert_eq!(refused, "the runtime did not answer within 10 s");
    outbox.answered(SESSION, 3, Ok(Vec::new()));
    assert!(outbox.take_result().is_none());
    assert_eq!(outbox.counts().failed, 1);
}

#[test]
fn only_what_was_sent_over_a_lost_session_fails_with_it() {
    let outbox = outbox();
    outbox.push(7, request()).unwrap();
    outbox.push(8, request()).unwrap();
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.session_lost(Key::for_tests(2));
    assert!(outbox.take_result().is_none());
    outbox.session_lost(SESSION);
    let (cookie, lost) = outcome(&outbox);
    assert_eq!(cookie, 7);
    assert!(lost.unwrap_err().contains("session was lost"));
    assert!(outbox.has_queued());
}

#[test]
fn a_response_that_cannot_be_read_is_a_failure() {
    let outbox = outbox();
    outbox.push(7, request()).unwrap();
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.answered(SESSION, 3, Ok(vec![0x0a, 5]));
    assert!(outcome(&outbox).1.unwrap_err().contains("cannot be read"));
}

#[test]
fn a_request_without_changes_has_its_result_at_once() {
    let outbox = outbox();
    outbox.push(7, None).unwrap();
    assert!(!outbox.has_queued());
    assert_eq!(outcome(&outbox), (7, Ok(Vec::new())));
    assert_eq!((outbox.counts().queued, outbox.counts().dropped), (1, 1));
}

#[test]
fn a_request_waits_in_the_queue_until_it_is_answered() {
    let outbox = outbox();
    for cookie in 0..MAX_WAITING as u64 {
        outbox.push(cookie, request()).unwrap();
    }
    assert_eq!(outbox.push(99, request()), Err(Full));
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    assert_eq!(outbox.push(99, request()), Err(Full));
    outbox.answered(SESSION, 3, Ok(Vec::new()));
    outbox.push(99, request()).unwrap();
}

#[test]
fn results_that_are_not_fetched_are_bounded() {
    let outbox = outbox();
    for number in 0..MAX_RESULTS {
        outbox.push(7, request()).unwrap();
        let number = u32::try_from(number).unwrap();
        outbox.send(SESSION, number, Instant::now()).unwrap();
        outbox.answered(SESSION, number, Ok(Vec::new()));
    }
    assert_eq!(outbox.push(99, request()), Err(Full));
    outbox.take_result().unwrap();
    outbox.push(99, request()).unwrap();
}

#[test]
fn requests_without_changes_do_not_keep_out_the_others() {
    let outbox = outbox();
    while outbox.push(7, None).is_ok() {}
    outbox.push(8, request()).unwrap();
    assert!(outbox.send(SESSION, 3, Instant::now()).is_some());
}

#[test]
fn no_result_is_kept_for_an_instance_that_does_not_want_it() {
    let outbox = outbox();
    outbox.push(7, None).unwrap();
    outbox.keep_results(false);
    for _ in 0..2 * MAX_RESULTS {
        outbox.push(7, None).unwrap();
    }
    outbox.push(8, request()).unwrap();
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.answered(SESSION, 3, Ok(Vec::new()));
    assert!(outbox.take_result().is_none());
    outbox.keep_results(true);
    outbox.push(9, None).unwrap();
    assert_eq!(outcome(&outbox).0, 9);
}

#[test]
fn a_response_that_is_too_large_is_not_kept() {
    let outbox = outbox();
    outbox.push(7, request()).unwrap();
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.answered(SESSION, 3, Ok(vec![0; MAX_RESPONSE + 1]));
    assert!(outcome(&outbox).1.unwrap_err().contains("bytes"));
}

#[test]
fn large_requests_fill_the_queue_by_their_bytes() {
    let outbox = outbox();
    let large = || Some(vec![1; MAX_WAITING_BYTES / 4]);
    for cookie in 0..4 {
        outbox.push(cookie, large()).unwrap();
    }
    assert_eq!(outbox.push(99, request()), Err(Full));
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.push(99, request()).unwrap();
}

#[test]
fn the_results_of_an_instance_that_is_gone_reach_nobody() {
    let outbox = outbox();
    for cookie in 7..10 {
        outbox.push(cookie, request()).unwrap();
    }
    outbox.send(SESSION, 3, Instant::now()).unwrap();
    outbox.answered(SESSION, 3, Ok(Vec::new()));
    outbox.send(SESSION, 5, Instant::now()).unwrap();
    outbox.clear();
    // The runtime still works on it.
    assert!(outbox.answer_due().is_some());
    outbox.answered(SESSION, 5, Ok(Vec::new()));
    assert!(outbox.answer_due().is_none());
    assert!(outbox.take_result().is_none() && !outbox.has_queued());
    assert_eq!(outbox.counts().dropped, 1);
}
