use tokio::sync::mpsc;

use super::super::member::tests::{after_crashes, config, means, member};
use super::super::{Deed, Ended, Files, Supervisor};
use super::*;
use crate::admin::notify::ServiceManager;

/// A supervisor of one component, which is stuck and wants the host to end for that.
fn with_stuck(state: &std::path::Path, history: History) -> Supervisor {
    let staying_out = after_crashes(Duration::from_secs(3600));
    let mut stuck = member("on_stuck = \"restart-host\"", Some(staying_out));
    stuck.ends_host = Some(stuck.stuck_in("CreateContainer"));
    let mut config = config("", state);
    config.runtime.socket = state.join("no-runtime.sock");
    config.components.clear();
    let files = Files {
        read: std::sync::Arc::new(|| panic!("nobody asks for a reload")),
        set_log: Box::new(|_| ()),
    };
    let service = ServiceManager::from_environment();
    let means = means(state);
    let mut supervisor = Supervisor::start(config, &[], means, files, service, history).unwrap();
    supervisor.members.push(stuck);
    supervisor
}

#[tokio::test]
async fn a_stuck_component_ends_the_host_and_that_is_held_against_it() {
    let state = tempfile::tempdir().unwrap();
    let history = History::open(state.path()).unwrap().history;
    let supervisor = with_stuck(state.path(), history);
    let (_ask, questions) = mpsc::channel(1);
    let ended = supervisor
        .run(questions, std::future::pending::<()>())
        .await;
    assert_eq!(ended, Ended::Stuck);
    let history = History::open(state.path()).unwrap().history;
    assert!(history.knows("10-none"));
}

#[tokio::test]
async fn a_reset_that_is_forgotten_at_the_next_start_says_so() {
    let state = tempfile::tempdir().unwrap();
    let mut history = History::open(state.path()).unwrap().history;
    let crash = Crash {
        component: "10-none".to_owned(),
        ..Crash::default()
    };
    history.add(crash).unwrap();
    std::fs::create_dir(state.path().join("crashes.new")).unwrap();
    let mut supervisor = with_stuck(state.path(), history);
    let [reset] = &supervisor.reset("none").unwrap()[..] else {
        panic!("there is one component");
    };
    assert_eq!(reset.done, [Deed::QuarantineEnded]);
    let [problem] = &reset.problems[..] else {
        panic!("{reset:?}");
    };
    assert!(problem.contains("known again"), "{problem}");
    assert!(reset.to_string().ends_with(problem.as_str()), "{reset}");
}

#[tokio::test]
async fn nobody_waits_for_an_answer_of_a_host_that_is_stopping() {
    let state = tempfile::tempdir().unwrap();
    let history = History::open(state.path()).unwrap().history;
    let mut supervisor = with_stuck(state.path(), history);
    let member = &mut supervisor.members[0];
    member.ends_host = None;
    // There is an instance, and no thread that would end it.
    member.seat.arrive(0);
    let (ask, questions) = mpsc::channel(1);
    tokio::select! {
        biased;
        () = ask.closed() => {}
        _ = supervisor.run(questions, std::future::ready(())) => panic!("it took questions to the end"),
    }
}

#[tokio::test]
async fn what_the_next_start_would_not_know_ends_no_host() {
    let state = tempfile::tempdir().unwrap();
    let mut supervisor = with_stuck(state.path(), History::default());
    assert!(!supervisor.ends_for_stuck());
}

#[test]
fn a_component_that_hangs_a_while_after_each_start_comes_to_stay_out() {
    let config = member("on_stuck = \"restart-host\"", None).config;
    let rule = counted(&config);
    let now = 1_800_000_000;
    let state = tempfile::tempdir().unwrap();
    let mut history = History::open(state.path()).unwrap().history;
    for restart in 0..u64::from(rule.failures) {
        let crash = Crash {
            time: now + restart * 3600,
            component: "10-none".to_owned(),
            fingerprint: "f".to_owned(),
            ..Crash::default()
        };
        history.add(crash).unwrap();
    }
    let last = now + u64::from(rule.failures - 1) * 3600;
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(last);
    assert!(history.kept_out("10-none", "f", rule, last).is_some());
}

#[test]
fn restarts_for_a_stuck_component_count_together_however_narrow_the_window_is() {
    let narrow = "quarantine = { failures = 5, window = \"1m\" }";
    let config = member(&format!("on_stuck = \"restart-host\"\n{narrow}"), None).config;
    assert_eq!(counted(&config).window, RESTARTS_WINDOW);
    let config = member(narrow, None).config;
    assert_eq!(counted(&config), config.quarantine);
}
