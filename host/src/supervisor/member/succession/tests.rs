use super::*;
use crate::config::OnStuck;
use crate::supervisor::means;
use crate::supervisor::member::tests::{after_crashes, member};
use crate::supervisor::stuck::STUCK_LIMIT;

/// Its thread does not run, so nothing happens but what is done here.
fn staying_out() -> Member {
    member("", Some(after_crashes(Duration::from_secs(3600))))
}

#[test]
fn an_added_component_that_stays_out_holds_up_no_answer() {
    let mut member = staying_out();
    let now = Instant::now();
    member.added(now);
    member.observe(now);
    assert!(!member.is_changing());
    let (reason, _) = member.kept_out().unwrap();
    assert_eq!(member.take_outcome(), Some((Outcome::Failed, Some(reason))));
}

#[test]
fn a_new_rule_holds_for_what_the_component_is_stuck_in_already() {
    let mut member = staying_out();
    member.seat.leave();
    let late = member.seat.since() + STUCK_LIMIT;
    member.observe(late);
    assert!(member.ends_host.is_none());
    let config = ComponentConfig {
        on_stuck: OnStuck::RestartHost,
        ..member.config.clone()
    };
    let policy = means::policy(&config, &[]);
    member.adopt(config, policy, late);
    member.observe(late);
    assert!(member.ends_host.is_some());
}

#[test]
fn nobody_waits_for_a_successor_without_a_thread() {
    let mut member = staying_out();
    // It is being made, so its successor waits until that is over.
    member.seat.leave();
    let config = member.config.clone();
    let policy = means::policy(&config, &[]);
    member.replace(config, policy, None, Instant::now());
    assert!(member.is_changing());
    let seats: Vec<_> = member.seats().collect();
    assert!(matches!(seats[..], [seat] if Arc::ptr_eq(seat, &member.seat)));
}
