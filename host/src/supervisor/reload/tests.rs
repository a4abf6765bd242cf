use std::sync::{Arc, Mutex, mpsc};

use super::*;
use crate::admin::notify::ServiceManager;
use crate::config::{Overrides, load};
use crate::crash::History;
use crate::supervisor::member::tests::{config, means};

/// What was read after the answer that it was not read must not be brought about unseen.
#[tokio::test]
async fn what_is_read_too_late_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config("enabled = false", folder.path());
    config.runtime.socket = folder.path().join("no-runtime.sock");
    let file = folder.path().join("nri-host.toml");
    let (let_go, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let read = move || {
        // As from a file server that is away.
        let _ = held.lock().unwrap().recv();
        load(&file, &Overrides::default())
    };
    let (to, log_levels) = mpsc::channel();
    let files = Files {
        read: Arc::new(read),
        set_log: Box::new(move |level| to.send(level).unwrap()),
    };
    let (service, history) = (ServiceManager::from_environment(), History::default());
    let means = means(folder.path());
    let mut supervisor = Supervisor::start(config, &[], means, files, service, history).unwrap();

    let now = Instant::now();
    for at in [now, now + LIMIT] {
        // The second one waits behind the same file.
        let (asker, answer) = oneshot::channel();
        supervisor.reload.want(Some(asker));
        supervisor.reload_step(at);
        supervisor.reload_step(now + LIMIT);
        let limit_seconds = LIMIT.as_secs();
        let expected = Err(ReloadError::Reading { limit_seconds });
        assert_eq!(answer.await.unwrap(), expected);
    }
    drop(let_go);
    let found = supervisor.reload.found().await;
    assert!(found.is_some());
    supervisor.take_found(found);
    assert_eq!(supervisor.reload_step(now + LIMIT), None);
    assert!(matches!(supervisor.reload.stage, Stage::Idle));
    assert!(log_levels.try_recv().is_err(), "nothing was taken over");

    let (asker, answer) = oneshot::channel();
    supervisor.reload.want(Some(asker));
    supervisor.reload_step(Instant::now());
    let found = supervisor.reload.found().await;
    supervisor.take_found(found);
    supervisor.reload_step(Instant::now());
    answer.await.unwrap().unwrap();
    assert!(
        log_levels.try_recv().is_ok(),
        "the next one is as any other"
    );
}
