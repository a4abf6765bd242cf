//! What is hidden.

use nri_plugin_api::api;
use nri_plugin_api::testing::{self, json};
use serde_json::Value;

use crate::lines::{call_all, everything, lines, request};

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
