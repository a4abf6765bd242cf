use nri_plugin_api::testing::{self, FailureKind, Harness, Outcome, json, run_command};
use nri_plugin_api::{Health, HealthProblem, Method, MethodSet};
use serde_json::Value;

use crate::Faulty;

fn create_container(harness: &mut Harness<Faulty>, pod: &str) -> Outcome<usize> {
    let pod = testing::pod(pod, []);
    let outcome = harness.create_container(&pod, &testing::container(&pod, "web"));
    match outcome {
        Outcome::Answer(response) => Outcome::Answer(response.adjust.annotations.len()),
        Outcome::Rejected(text) => Outcome::Rejected(text),
        Outcome::Failed(text) => Outcome::Failed(text),
        Outcome::Panicked(text) => Outcome::Panicked(text),
        Outcome::Dead => Outcome::Dead,
        Outcome::Unsupported => Outcome::Unsupported,
    }
}

fn doing(behaviour: &Value) -> Harness<Faulty> {
    Harness::create(json!({ "on": { "CreateContainer": behaviour } })).unwrap()
}

#[test]
fn each_fault_is_the_one_that_was_asked_for() {
    let mut harness = doing(&json!({ "do": "reject", "text": "no" }));
    assert_eq!(
        create_container(&mut harness, "p"),
        Outcome::Rejected("no".to_owned())
    );
    let mut harness = doing(&json!({ "do": "error", "text": "broken" }));
    assert_eq!(
        create_container(&mut harness, "p"),
        Outcome::Failed("broken".to_owned())
    );
    let mut harness = doing(&json!({ "do": "panic", "text": "ouch" }));
    assert!(
        matches!(create_container(&mut harness, "p"), Outcome::Panicked(t) if t.ends_with("ouch"))
    );
    assert_eq!(create_container(&mut harness, "p"), Outcome::Dead);
    let mut harness = doing(&json!({ "do": "annotate", "text": "a=b" }));
    assert_eq!(create_container(&mut harness, "p"), Outcome::Answer(1));
}

#[test]
fn faults_are_limited_by_pod_and_by_number() {
    let fault = json!({ "do": "error", "for": { "pod-name-prefix": "bad-" }, "times": 2 });
    let mut harness = doing(&fault);
    assert_eq!(create_container(&mut harness, "good"), Outcome::Answer(0));
    for _ in 0..2 {
        assert!(matches!(
            create_container(&mut harness, "bad-1"),
            Outcome::Failed(_)
        ));
    }
    assert_eq!(create_container(&mut harness, "bad-1"), Outcome::Answer(0));
}

#[test]
fn updates_are_asked_for_and_what_comes_of_them_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("calls.jsonl");
    let mut harness = Harness::<Faulty>::create(json!({
        "record": record,
        "updates": { "in_create": ["c0"] },
        "on": { "CreateContainer": { "do": "update", "text": "c1" } },
    }))
    .unwrap();
    assert_eq!(create_container(&mut harness, "p"), Outcome::Answer(0));
    let asked = harness.take_updates();
    for (id, request) in asked {
        let container = &request.update[0].container_id;
        let result = match container.as_str() {
            "c0" => Err("no such container"),
            _ => Ok(&["c1"][..]),
        };
        harness.update_result(id, result).answer();
    }
    let text = std::fs::read_to_string(&record).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines
        .filter(|line: &Value| line["method"].as_str().unwrap().starts_with("update_"))
        .collect();
    let asked = |container| {
        json!({
            "instance": "test", "method": "update_containers",
            "container": container, "status": "queued",
        })
    };
    assert_eq!(
        lines,
        [
            asked("c0"),
            asked("c1"),
            json!({
                "instance": "test", "method": "update_result",
                "container": "c0", "error": "no such container",
            }),
            json!({
                "instance": "test", "method": "update_result",
                "container": "c1", "failed": ["c1"],
            }),
        ]
    );
}

#[test]
fn creation_fails_as_configured() {
    let failure = Harness::<Faulty>::create(json!({ "create": "try-later" })).unwrap_err();
    assert_eq!(failure.kind, FailureKind::TryLater);
    let failure = Harness::<Faulty>::create(json!({ "create": "panic" })).unwrap_err();
    assert!(failure.message.contains("as configured"), "{failure}");
}

#[test]
fn unknown_methods_are_mistakes_in_the_configuration() {
    let config = json!({ "methods": ["Synchronise"], "on": { "Create": { "do": "error" } } });
    let failure = Harness::<Faulty>::create(config).unwrap_err();
    let keys: Vec<_> = failure.mistakes.iter().map(|m| m.key.as_str()).collect();
    assert_eq!(keys, ["methods[0]", "on.Create"]);
}

#[test]
fn it_handles_every_method_unless_it_is_narrowed() {
    assert_eq!(
        Harness::<Faulty>::create(json!({})).unwrap().methods(),
        MethodSet::ALL
    );
}

#[test]
fn the_record_has_a_line_for_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("calls.jsonl");
    let config = json!({ "record": record, "methods": ["Synchronize", "CreateContainer"] });
    let mut harness = Harness::<Faulty>::create(config).unwrap();
    assert_eq!(
        harness.methods().iter().collect::<Vec<_>>(),
        [Method::CreateContainer, Method::Synchronize]
    );
    let pod = testing::pod("web-0", []);
    let container = testing::container(&pod, "nginx");
    harness
        .synchronize(std::slice::from_ref(&pod), &[container.clone(), container])
        .answer();
    let _ = create_container(&mut harness, "web-1");
    drop(harness);

    let text = std::fs::read_to_string(&record).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            json!({ "instance": "test", "method": "create" }),
            json!({ "instance": "test", "method": "Synchronize", "pods": 1, "containers": 2 }),
            json!({
                "instance": "test", "method": "CreateContainer",
                "namespace": "default", "pod": "web-1", "container": "web",
            }),
            json!({ "instance": "test", "method": "destroy" }),
        ]
    );
}

#[test]
fn it_says_of_itself_what_the_configuration_says() {
    let problem = json!({ "message": "no such key", "file": "/a.json", "line": 3 });
    let health = json!({ "summary": "12 hooks", "problems": [problem] });
    let harness = Harness::<Faulty>::create(json!({ "health": health })).unwrap();
    let mut expected = Health::new("12 hooks");
    expected.add(HealthProblem::new("no such key").file("/a.json").line(3));
    assert_eq!(harness.health(), Some(expected));
}

#[test]
fn its_commands_tell_the_methods_and_fail_as_they_are_asked_to() {
    let run = |args: &[&str]| {
        let config = json!({ "methods": ["Synchronize", "CreateContainer"] });
        let ran = run_command::<Faulty>(&config, args);
        (ran.status.code(), ran.output + &ran.errors)
    };
    assert_eq!(
        run(&["methods"]),
        (0, "Synchronize\nCreateContainer\n".to_owned())
    );
    assert_eq!(run(&["fail", "no"]), (1, "no\n".to_owned()));
    assert_eq!(
        run(&["fail"]),
        (64, "fail: one TEXT is needed\n".to_owned())
    );
}
