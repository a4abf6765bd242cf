use std::fs;
use std::path::Path;

use tokio::sync::Notify;

use super::super::stuck::STUCK_LIMIT;
use super::*;
use crate::component::load::{Libraries, Probe};
use crate::component::watchdog::Watchdog;
use crate::config::{Overrides, load};

/// A configuration with one component whose library is none.
pub(in super::super) fn config(keys: &str, folder: &Path) -> Config {
    let path = |name: &str| folder.join(name);
    fs::write(path("libnone.so"), "").unwrap();
    let text = format!(
        "[[component]]\nname = \"none\"\nindex = 10\nlibrary = {:?}\n{keys}\n",
        path("libnone.so")
    );
    fs::write(path("nri-host.toml"), text).unwrap();
    let loaded = load(&path("nri-host.toml"), &Overrides::default());
    loaded.config.unwrap()
}

pub(in super::super) fn means(folder: &Path) -> Means {
    let path = |name: &str| folder.join(name);
    Means {
        libraries: Arc::new(Libraries::new(path("state"), Probe::new(path("none")))),
        watchdog: Watchdog::start().unwrap(),
        notice: Arc::new(Notify::new()),
    }
}

/// A component whose library is none, so that no code of one is needed.
pub(in super::super) fn member(keys: &str, kept_out: Option<KeptOut>) -> Member {
    let folder = tempfile::tempdir().unwrap();
    let config = config(keys, folder.path());
    let component = config.components[0].clone();
    Member::start(component, &config, &means(folder.path()), kept_out).unwrap()
}

#[test]
fn a_quarantine_is_over_when_its_time_is() {
    let mut member = member("quarantine.failures = 1", None);
    let mut now = Instant::now();
    let term = member.seat.quarantine.failed(now).unwrap();
    // As the supervisor does: it sleeps until there is something due.
    while now < term.until {
        assert!(member.seat.quarantine.is_active());
        now = member.observe(now).unwrap();
    }
    member.observe(now);
    assert!(!member.seat.quarantine.is_active());
    assert_eq!(now, term.until);
}

pub(in super::super) fn after_crashes(time: Duration) -> KeptOut {
    KeptOut {
        time,
        crashes: 5,
        last: Crash::default(),
    }
}

#[test]
fn an_instance_makes_the_next_wait_for_one_a_first_wait_again() {
    // Its thread does not run, so nothing happens but what is done here.
    let mut member = member("", Some(after_crashes(Duration::from_secs(3600))));
    let mut now = Instant::now();
    let mut wait = |member: &mut Member| {
        member
            .seat
            .not_created(NotCreated::TryLater("no".to_owned()));
        let due = member.observe_instance(now).unwrap();
        let wait = due - now;
        now = due;
        member.observe_instance(now).unwrap();
        wait
    };
    let waits: Vec<Duration> = (0..8).map(|_| wait(&mut member)).collect();
    assert!(waits[7] > MIN_CREATE_WAIT * 10, "{waits:?}");
    member.seat.arrive(0);
    member.observe_instance(Instant::now());
    assert_eq!(wait(&mut member), MIN_CREATE_WAIT);
}

#[test]
fn a_component_that_stays_out_is_started_when_its_time_is_over() {
    let mut member = member("", Some(after_crashes(Duration::from_secs(600))));
    let (_, until) = member.kept_out().unwrap();
    assert_eq!(member.observe(Instant::now()), Some(until));
    member.observe(until - Duration::from_millis(1));
    assert!(matches!(member.seat.condition(), Condition::KeptOut));
    assert!(member.seat.has_stopped(), "it holds up no end of the host");
    member.observe(until);
    assert!(!matches!(member.seat.condition(), Condition::KeptOut));
    assert!(member.kept_out().is_none());
}

#[test]
fn a_stuck_component_ends_the_host_only_where_that_is_configured() {
    for (on_stuck, ends) in [("leave", false), ("restart-host", true)] {
        // Its thread does not run, so nothing happens but what is done here.
        let staying_out = after_crashes(Duration::from_secs(3600));
        let mut member = member(&format!("on_stuck = {on_stuck:?}"), Some(staying_out));
        member.seat.leave();
        let since = member.seat.since();
        member.observe(since + STUCK_LIMIT - Duration::from_millis(1));
        assert!(member.ends_host.is_none());
        member.observe(since + STUCK_LIMIT);
        let crash = member.ends_host.take();
        assert_eq!(crash.is_some(), ends);
        if let Some(crash) = crash {
            assert_eq!(crash.component, "10-none");
            assert_eq!(crash.cause, "not back after 60 s");
        }
        member.observe(since + STUCK_LIMIT * 2);
        assert!(member.ends_host.is_none(), "once is enough");
    }
}
