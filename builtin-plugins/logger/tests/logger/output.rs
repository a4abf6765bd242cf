//! Where lines go: to a file, or to the log of the host.

use std::fs;

use nri_logger::Logger;
use nri_plugin_api::Health;
use nri_plugin_api::testing::{self, Harness, json};
use serde_json::Value;

use crate::lines::{call_all_pods, lines, read};

#[test]
fn a_file_is_rotated_and_made_again_when_it_was_moved_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events");
    let config = json!({"file": path, "rotate_bytes": 4096, "rotate_keep": 3});
    let mut logger = Harness::<Logger>::create(config.clone()).unwrap();
    let pods: Vec<_> = (0..40)
        .map(|i| testing::pod(&format!("pod-{i:02}"), []))
        .collect();
    for pod in &pods {
        call_all_pods!(logger, pod, RunPodSandboxRequest);
    }
    drop(logger);
    let files = ["events.3", "events.2", "events.1", "events"].map(|name| folder.path().join(name));
    let mut names = Vec::new();
    for file in files.iter().filter(|file| file.exists()) {
        assert!(fs::metadata(file).unwrap().len() <= 4096, "{file:?}");
        let pods = read(file)
            .into_iter()
            .map(|line| line["pod"]["name"].clone());
        names.extend(pods);
    }
    assert!(files[2].exists(), "more than 4096 bytes were written");
    let last: Vec<Value> = pods.iter().map(|pod| json!(pod.name)).collect();
    assert!(last.ends_with(&names), "{names:?}");
}

#[test]
fn what_finds_no_room_is_counted_in_a_line() {
    let lines = lines(&json!({"queue_bytes": 200}), |logger| {
        let large = "x".repeat(500);
        call_all_pods!(
            logger,
            testing::pod("large", [("x", &*large)]),
            RunPodSandboxRequest
        );
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["event"], "dropped");
    assert_eq!(lines[0]["count"], 1);
}

/// The writer is another thread: waits until it has reported what is wanted.
fn reported(logger: &Harness<Logger>, is_it: impl Fn(&Health) -> bool) -> Health {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let health = logger.health().unwrap_or_default();
        if is_it(&health) {
            return health;
        }
        assert!(std::time::Instant::now() < deadline, "{health:?}");
        std::thread::yield_now();
    }
}

#[test]
fn the_logger_says_what_it_wrote_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events");
    let config = json!({"file": path, "queue_bytes": 400});
    let mut logger = Harness::<Logger>::create(config).unwrap();
    let summary = |events: &str| format!("{events} events written to {}", path.display());
    reported(&logger, |health| health.summary == summary("0"));
    call_all_pods!(logger, testing::pod("web", []), RunPodSandboxRequest);
    reported(&logger, |health| health.summary == summary("1"));

    fs::rename(&path, folder.path().join("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    let large = "x".repeat(500);
    call_all_pods!(
        logger,
        testing::pod("large", [("x", &*large)]),
        RunPodSandboxRequest
    );
    let dropped = format!("{}, 1 dropped", summary("1"));
    let health = reported(&logger, |health| health.summary == dropped);
    assert_eq!(health.problems.len(), 1, "{health:?}");
    assert_eq!(health.problems[0].file.as_deref(), path.to_str());

    let logger = Harness::<Logger>::create(json!({})).unwrap();
    let summary = "0 events handed to the host's log";
    reported(&logger, |health| health.summary == summary);
}

/// The first line of the logger in the log of the host. The writer is another thread: waits until it
/// has written.
fn first_in_log(logger: &Harness<Logger>) -> (testing::LogLevel, Value) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        if let Some(line) = logger.logs().first() {
            let json = serde_json::from_str(&line.message).expect("each line is JSON");
            return (line.level, json);
        }
        assert!(std::time::Instant::now() < deadline, "nothing is written");
        std::thread::yield_now();
    }
}

#[test]
fn without_a_file_lines_go_to_the_log_of_the_host() {
    let mut logger = Harness::<Logger>::create(json!({})).unwrap();
    let pod = testing::pod("web", []);
    call_all_pods!(logger, pod, RunPodSandboxRequest);
    let (level, line) = first_in_log(&logger);
    assert_eq!(level, testing::LogLevel::Info);
    assert_eq!(line["event"], "RunPodSandbox");
}

#[test]
fn a_line_that_the_host_would_cut_keeps_its_names() {
    let mut logger = Harness::<Logger>::create(json!({"max_event_bytes": 1 << 20})).unwrap();
    let long = "x".repeat(8 << 10);
    let pod = testing::pod("web", [("long", &*long)]);
    call_all_pods!(logger, pod, RunPodSandboxRequest);
    let (_, line) = first_in_log(&logger);
    assert_eq!(line["truncated"], true);
    assert_eq!(line["pod"]["name"], "web");
}

#[test]
fn a_level_of_the_host_that_leaves_the_lines_out_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let problems = |level, config: &Value| {
        let logger = testing::Setup::new()
            .log_level(level)
            .create::<Logger>(config);
        reported(&logger.unwrap(), |health| {
            health.summary.starts_with("0 events")
        })
        .problems
    };
    let told = problems(testing::LogLevel::Warn, &json!({}));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].message.contains("leaves out"), "{told:?}");
    assert!(problems(testing::LogLevel::Info, &json!({})).is_empty());
    let file = json!({ "file": folder.path().join("events") });
    assert!(problems(testing::LogLevel::Warn, &file).is_empty());
}
