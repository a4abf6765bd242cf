//! What the logger writes.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use nri_logger::Logger;
use nri_plugin_api::testing::{self, Harness, json};
use nri_plugin_api::{Health, Method, MethodSet, api};
use serde_json::Value;

/// What a logger does with a few requests: its lines, after it has ended.
fn lines(config: &Value, requests: impl FnOnce(&mut Harness<Logger>)) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("events");
    let mut config = config.clone();
    config["file"] = json!(path);
    let mut logger = Harness::<Logger>::create(config).expect("the settings are fine");
    requests(&mut logger);
    drop(logger);
    read(&path)
}

/// The settings with which nothing is left out.
fn everything() -> Value {
    json!({"events": ["all", "ValidateContainerAdjustment"]})
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the logger made the file");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

fn request<M: Default>(fill: impl FnOnce(&mut M)) -> M {
    let mut message = M::default();
    fill(&mut message);
    message
}

/// Calls the method of each message, about one pod and one container.
macro_rules! call_all {
    ($logger:expr, $pod:expr, $container:expr, $($message:ident),*) => {$(
        let message = request(|message: &mut api::$message| {
            message.pod = Some($pod.clone()).into();
            message.container = Some($container.clone()).into();
        });
        let _answer = $logger.call(&message).answer();
    )*};
}

macro_rules! call_all_pods {
    ($logger:expr, $pod:expr, $($message:ident),*) => {$(
        let message = request(|message: &mut api::$message| {
            message.pod = Some($pod.clone()).into();
        });
        let _answer = $logger.call(&message).answer();
    )*};
}

#[test]
fn every_event_becomes_one_line() {
    let pod = testing::pod("web", [("a", "b")]);
    let container = testing::container(&pod, "nginx");
    let lines = lines(&everything(), |logger| {
        let _answer = logger.synchronize(&[], &[]).answer();
        call_all_pods!(
            logger,
            pod,
            RunPodSandboxRequest,
            UpdatePodSandboxRequest,
            PostUpdatePodSandboxRequest,
            StopPodSandboxRequest,
            RemovePodSandboxRequest
        );
        call_all!(
            logger,
            pod,
            container,
            CreateContainerRequest,
            PostCreateContainerRequest,
            StartContainerRequest,
            PostStartContainerRequest,
            UpdateContainerRequest,
            PostUpdateContainerRequest,
            StopContainerRequest,
            RemoveContainerRequest,
            ValidateContainerAdjustmentRequest
        );
    });
    let events: Vec<&str> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        events,
        [
            "Synchronize",
            "RunPodSandbox",
            "UpdatePodSandbox",
            "PostUpdatePodSandbox",
            "StopPodSandbox",
            "RemovePodSandbox",
            "CreateContainer",
            "PostCreateContainer",
            "StartContainer",
            "PostStartContainer",
            "UpdateContainer",
            "PostUpdateContainer",
            "StopContainer",
            "RemoveContainer",
            "ValidateContainerAdjustment",
        ]
    );
    for line in &lines[1..] {
        assert_eq!(line["pod"]["name"], "web", "{line}");
        assert_eq!(line["pod"]["annotations"], json!({"a": "b"}), "{line}");
    }
    for line in &lines[6..] {
        assert_eq!(line["container"]["name"], "nginx", "{line}");
        assert_eq!(line["container"]["pod_sandbox_id"], "web-id", "{line}");
        assert_eq!(line["container"]["args"], json!(["/bin/true"]), "{line}");
    }
}

#[test]
fn times_are_in_utc_and_in_order() {
    let pod = testing::pod("web", []);
    let before = std::time::SystemTime::now();
    let lines = lines(&json!({}), |logger| {
        for _ in 0..3 {
            call_all_pods!(logger, pod, RunPodSandboxRequest);
        }
    });
    let mut last = before - std::time::Duration::from_micros(1);
    for line in &lines {
        let text = line["time"].as_str().unwrap();
        assert!(text.ends_with('Z'), "{text}");
        let time = humantime::parse_rfc3339(text).unwrap();
        assert!(time >= last, "{text}");
        last = time;
    }
    assert_eq!(lines.len(), 3);
}

#[test]
fn secrets_in_variables_are_hidden_wherever_they_stand() {
    const SECRET: &str = "hunter2";
    let pod = testing::pod("web", []);
    let mut container = testing::container(&pod, "nginx");
    let variable = || format!("PASSWORD={SECRET}=x");
    container.env = vec![variable(), SECRET.to_owned()];
    let hook = || api::Hook {
        path: "/bin/hook".to_owned(),
        env: vec![variable()],
        ..Default::default()
    };
    let hooks = || api::Hooks {
        prestart: vec![hook()],
        create_runtime: vec![hook()],
        create_container: vec![hook()],
        start_container: vec![hook()],
        poststart: vec![hook()],
        poststop: vec![hook()],
        ..Default::default()
    };
    container.hooks = Some(hooks()).into();
    let lines = lines(&everything(), |logger| {
        call_all!(
            logger,
            pod,
            container,
            CreateContainerRequest,
            StopContainerRequest
        );
        let message = request(|message: &mut api::ValidateContainerAdjustmentRequest| {
            message.container = Some(container.clone()).into();
            let adjust = message.adjust.mut_or_insert_default();
            adjust.env.push(api::KeyValue {
                key: "TOKEN".to_owned(),
                value: SECRET.to_owned(),
                ..Default::default()
            });
            adjust.hooks = Some(hooks()).into();
        });
        let _answer = logger.call(&message).answer();
    });
    assert_eq!(lines.len(), 3);
    for line in &lines {
        assert!(!line.to_string().contains(SECRET), "{line}");
        assert_eq!(line["container"]["env"], json!(["PASSWORD=***", "***"]));
        assert_eq!(
            line["container"]["hooks"]["poststop"][0]["env"],
            json!(["PASSWORD=***"])
        );
    }
    assert_eq!(
        lines[2]["adjust"]["env"],
        json!([{"key": "TOKEN", "value": "***"}])
    );
}

#[test]
fn annotations_are_hidden_by_pattern_and_copies_of_pods_by_default() {
    let keys = [
        "kubectl.kubernetes.io/last-applied-configuration",
        "example.com/Secret-key",
        "plain",
    ];
    let pod = testing::pod("web", keys.map(|key| (key, "hunter2")));
    let mut container = testing::container(&pod, "nginx");
    container.annotations = pod.annotations.clone();
    let hidden = |config: Value| {
        let mut config = config;
        config["events"] = json!(["all", "ValidateContainerAdjustment"]);
        let line = lines(&config, |logger| {
            let message = request(|message: &mut api::ValidateContainerAdjustmentRequest| {
                message.pod = Some(pod.clone()).into();
                message.container = Some(container.clone()).into();
                message.adjust.mut_or_insert_default().annotations = pod.annotations.clone();
            });
            let _answer = logger.call(&message).answer();
        })
        .remove(0);
        let places = ["pod", "container", "adjust"];
        let annotations = places.map(|place| line[place]["annotations"].clone());
        let [pod, container, adjust] = annotations;
        assert_eq!(pod, container);
        assert_eq!(pod, adjust);
        keys.map(|key| pod[key] == "***")
    };
    assert_eq!(hidden(json!({})), [true, false, false]);
    let patterns = json!({"redact_annotations": ["*secret*"]});
    assert_eq!(hidden(patterns), [false, true, false]);
    assert_eq!(hidden(json!({"redact_annotations": []})), [false; 3]);
    assert_eq!(hidden(json!({"redact_annotations": ["*"]})), [true; 3]);
}

#[test]
fn variables_can_be_shown_but_those_that_are_named() {
    let pod = testing::pod("web", []);
    let mut container = testing::container(&pod, "nginx");
    container.env = vec!["PATH=/bin".to_owned(), "TOKEN=x".to_owned()];
    let config = json!({"redact_env": ["*token*"]});
    let lines = lines(&config, |logger| {
        call_all!(logger, pod, container, StartContainerRequest);
    });
    let env = &lines[0]["container"]["env"];
    assert_eq!(*env, json!(["PATH=/bin", "TOKEN=***"]));
}

/// Pods by namespace and labels, and which are written about.
#[test]
fn pods_are_chosen_by_namespace_and_labels() {
    let pod = |namespace: &str, labels: &[(&str, &str)]| {
        let mut pod = testing::pod(namespace, []);
        namespace.clone_into(&mut pod.namespace);
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        pod.labels = labels.collect();
        pod
    };
    let pods = [
        pod("team-a", &[("app", "web-1")]),
        pod("team-b", &[("app", "db"), ("tier", "back")]),
        pod("team", &[]),
        pod("kube-system", &[("app", "web-2")]),
    ];
    for (config, chosen) in [
        (json!({}), vec!["team-a", "team-b", "team", "kube-system"]),
        (json!({"namespaces": ["team"]}), vec!["team"]),
        (json!({"namespaces": ["team-*"]}), vec!["team-a", "team-b"]),
        (
            json!({"exclude_namespaces": ["kube-*"]}),
            vec!["team-a", "team-b", "team"],
        ),
        (
            json!({"namespaces": ["team*"], "exclude_namespaces": ["*-b"]}),
            vec!["team-a", "team"],
        ),
        (
            json!({"labels": {"app": "web-*"}}),
            vec!["team-a", "kube-system"],
        ),
        (
            json!({"labels": {"app": "*", "tier": "back"}}),
            vec!["team-b"],
        ),
        (json!({"labels": {"app": ""}}), vec![]),
    ] {
        let containers: Vec<_> = pods
            .iter()
            .map(|pod| testing::container(pod, "c"))
            .collect();
        let lines = lines(&config, |logger| {
            let _answer = logger.synchronize(&pods, &containers).answer();
            for (pod, container) in pods.iter().zip(&containers) {
                call_all_pods!(logger, pod, StopPodSandboxRequest);
                call_all!(logger, pod, container, StopContainerRequest);
            }
        });
        assert_eq!(lines[0]["pod_count"], chosen.len(), "{config}");
        assert_eq!(lines[0]["container_count"], chosen.len(), "{config}");
        let namespaces: Vec<&str> = lines[1..]
            .iter()
            .map(|line| line["pod"]["namespace"].as_str().unwrap())
            .collect();
        let expected: Vec<&str> = chosen.iter().flat_map(|pod| [*pod, *pod]).collect();
        assert_eq!(namespaces, expected, "{config}");
    }
}

#[test]
fn text_is_one_line_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events");
    let config = json!({"file": path, "format": "text", "queue_bytes": 400});
    let mut logger = Harness::<Logger>::create(config).unwrap();
    let pod = testing::pod("web", [("secret", "x")]);
    let container = testing::container(&pod, "two\nlines");
    let _answer = logger.synchronize(&[], &[]).answer();
    call_all_pods!(logger, pod, RunPodSandboxRequest);
    call_all!(logger, pod, container, StopContainerRequest);
    let _outcome = logger.call_encoded(Method::UpdatePodSandbox, &[0x1a, 0x01, 0xff]);
    let large = "x".repeat(500);
    call_all_pods!(
        logger,
        testing::pod("large", [("x", &*large)]),
        RunPodSandboxRequest
    );
    drop(logger);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(lines[0], "Synchronize pod_count=0 container_count=0");
    assert_eq!(
        lines[1],
        "RunPodSandbox namespace=default pod=web pod_id=web-id"
    );
    assert!(
        lines[2].starts_with(
            r#"StopContainer namespace=default pod=web pod_id=web-id container="two\nlines" container_id="#
        ),
        "{text}"
    );
    assert!(lines[3].starts_with("UpdatePodSandbox error="), "{text}");
    assert_eq!(lines[4..], ["dropped count=1"], "{text}");
}

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
fn a_check_of_adjustments_is_written_with_owners_and_plugins() {
    let lines = lines(&everything(), |logger| {
        let message = request(|message: &mut api::ValidateContainerAdjustmentRequest| {
            let owners = message.owners.mut_or_insert_default();
            let of_container = owners.owners.entry("id".to_owned()).or_default();
            of_container.simple.insert(7, "10-injector".to_owned());
            message.plugins.push(api::PluginInstance {
                name: "injector".to_owned(),
                index: "10".to_owned(),
                ..Default::default()
            });
        });
        let _answer = logger.call(&message).answer();
    });
    assert_eq!(
        lines[0]["owners"]["owners"]["id"]["simple"]["7"],
        "10-injector"
    );
    assert_eq!(
        lines[0]["plugins"],
        json!([{"name": "injector", "index": "10"}])
    );
}

#[test]
fn a_line_that_is_too_long_keeps_its_names() {
    let long = "x".repeat(5000);
    let pod = testing::pod("web", [("long", long.as_str())]);
    let container = testing::container(&pod, "nginx");
    let config = json!({"max_event_bytes": 4096});
    let lines = lines(&config, |logger| {
        call_all!(logger, pod, container, CreateContainerRequest);
        call_all_pods!(logger, testing::pod("small", []), RunPodSandboxRequest);
    });
    assert_eq!(lines[0]["truncated"], true);
    assert!(lines[0]["bytes"].as_u64().unwrap() > 5000);
    assert_eq!(
        lines[0]["pod"],
        json!({"id": "web-id", "name": "web", "uid": "web-uid", "namespace": "default"})
    );
    assert_eq!(lines[0]["container"]["name"], "nginx");
    assert!(lines[0].to_string().len() <= 4096);
    assert_eq!(lines[1].get("truncated"), None);
}

#[test]
fn synchronize_counts_all_and_names_some() {
    let pods: Vec<_> = (0..500)
        .map(|i| testing::pod(&format!("pod-{i}"), []))
        .collect();
    let containers: Vec<_> = pods
        .iter()
        .flat_map(|pod| ["a", "b"].map(|name| testing::container(pod, name)))
        .collect();
    let config = json!({"max_event_bytes": 64 << 10});
    let sent = |config: &Value| {
        lines(config, |logger| {
            let _answer = logger.synchronize(&pods, &containers).answer();
        })
    };
    let line = sent(&config).remove(0);
    assert_eq!(line["pod_count"], 500);
    assert_eq!(line["container_count"], 1000);
    assert_eq!(line["pods"].as_array().unwrap().len(), 100);
    assert_eq!(line["containers"].as_array().unwrap().len(), 100);
    assert_eq!(
        line["pods"][7],
        json!({"id": "pod-7-id", "name": "pod-7", "uid": "pod-7-uid", "namespace": "default"})
    );
    assert_eq!(
        line["containers"][3],
        json!({"id": "pod-1-b-id", "pod_sandbox_id": "pod-1-id", "name": "b"})
    );
    let short = sent(&json!({"max_event_bytes": 4096})).remove(0);
    assert_eq!(short["pod_count"], 500);
    assert_eq!(short["truncated"], true);
    assert_eq!(short.get("pods"), None);
}

#[test]
fn an_event_that_cannot_be_read_does_not_stop_the_others() {
    let pod = testing::pod("web", []);
    let lines = lines(&json!({}), |logger| {
        // The pod is fine, and so is the walk over the fields; field 3 has the wrong type.
        let _outcome = logger.call_encoded(Method::UpdatePodSandbox, &[0x1a, 0x01, 0xff]);
        call_all_pods!(logger, pod, RunPodSandboxRequest);
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0]["event"], "UpdatePodSandbox");
    assert!(lines[0]["error"].is_string(), "{lines:?}");
    assert_eq!(lines[1]["event"], "RunPodSandbox");
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
fn only_the_events_of_the_settings_are_subscribed_to() {
    let methods = |events: Value| {
        let mut logger = Harness::<Logger>::create(json!({"events": events})).unwrap();
        logger.methods().iter().collect::<Vec<_>>()
    };
    assert_eq!(
        methods(json!(["CreateContainer"])),
        [Method::CreateContainer]
    );
    assert_eq!(methods(json!(["pod"])).len(), 5);
    assert_eq!(methods(json!(["container", "synchronize"])).len(), 9);
    assert_eq!(methods(json!(["pod, createcontainer"])).len(), 6);
}

/// A failure in `ValidateContainerAdjustment` refuses the container, whatever `on_failure` is. Nobody
/// who switches a log on expects that.
#[test]
fn a_logger_can_refuse_no_container_unless_it_is_told_to_log_the_check() {
    let methods = |config| Harness::<Logger>::create(config).unwrap().methods();
    let harmless = MethodSet::ALL.without(Method::ValidateContainerAdjustment);
    assert_eq!(methods(json!({})), harmless);
    assert_eq!(methods(json!({"events": ["all"]})), harmless);
    assert_eq!(methods(everything()), MethodSet::ALL);
}

#[test]
fn mistakes_in_the_settings_are_told_by_key_and_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let failure = Harness::<Logger>::create(json!({
        "file": folder.path().join("absent/events"),
        "events": ["pod", "CreatePod", ""],
        "queue": 0,
        "queue_bytes": 0,
        "max_event_bytes": 10,
        "rotate_bytes": 1,
        "rotate_keep": 1001,
        "namespaces": ["a", "a**"],
        "exclude_namespaces": ["["],
        "labels": {"app": "***"},
        "redact_env": ["["],
        "redact_annotations": ["a", "["],
    }))
    .unwrap_err();
    let mistakes: HashMap<&str, &str> = failure
        .mistakes
        .iter()
        .map(|mistake| (mistake.key.as_str(), mistake.message.as_str()))
        .collect();
    let mut keys: Vec<&&str> = mistakes.keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            &"events[1]",
            &"events[2]",
            &"exclude_namespaces[0]",
            &"file",
            &"labels.app",
            &"max_event_bytes",
            &"namespaces[1]",
            &"queue",
            &"queue_bytes",
            &"redact_annotations[1]",
            &"redact_env[0]",
            &"rotate_bytes",
            &"rotate_keep",
        ]
    );
    assert!(mistakes["file"].contains("No such file"), "{mistakes:?}");
    assert!(mistakes["events[1]"].contains("CreatePod"), "{mistakes:?}");

    for config in [
        json!({"events": []}),
        json!({"namespaces": []}),
        json!({"format": "yaml"}),
        json!({"file": "/dev/null"}),
        json!({"file": "x"}),
    ] {
        let failure = Harness::<Logger>::create(config.clone()).unwrap_err();
        assert_eq!(failure.mistakes.len(), 1, "{config}");
    }
    let failure = Harness::<Logger>::create(json!({"event": []})).unwrap_err();
    assert!(failure.message.contains("event"), "{failure}");
}
