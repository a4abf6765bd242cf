//! What is written of each event.

use std::fs;

use nri_logger::Logger;
use nri_plugin_api::testing::{self, Harness, json};
use nri_plugin_api::{Method, api};
use serde_json::Value;

use crate::lines::{call_all, call_all_pods, everything, lines, request};

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
