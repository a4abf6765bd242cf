use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::super::member::tests::{after_crashes, member};
use super::super::{Ended, Supervisor};
use super::*;
use crate::admin::notify::ServiceManager;

#[tokio::test]
async fn a_stuck_component_ends_the_host_and_that_is_held_against_it() {
    let state = tempfile::tempdir().unwrap();
    let staying_out = after_crashes(Duration::from_secs(3600));
    let mut stuck = member("on_stuck = \"restart-host\"", Some(staying_out));
    stuck.ends_host = Some(stuck.stuck_in("CreateContainer"));
    let supervisor = Supervisor::new(
        state.path().join("no-runtime.sock"),
        vec![stuck],
        Vec::new(),
        Arc::new(Notify::new()),
        ServiceManager::from_environment(),
        History::open(state.path()).unwrap().history,
    );
    let (_ask, questions) = mpsc::channel(1);
    let ended = supervisor
        .run(questions, std::future::pending::<()>())
        .await;
    assert_eq!(ended, Ended::Stuck);
    let history = History::open(state.path()).unwrap().history;
    assert!(history.knows("10-none"));
}

#[test]
fn restarts_for_a_stuck_component_count_together_however_narrow_the_window_is() {
    let narrow = "quarantine = { failures = 5, window = \"1m\" }";
    let config = member(&format!("on_stuck = \"restart-host\"\n{narrow}"), None).config;
    assert_eq!(counted(&config).window, Duration::from_secs(600));
    let config = member(narrow, None).config;
    assert_eq!(counted(&config), config.quarantine);
}
