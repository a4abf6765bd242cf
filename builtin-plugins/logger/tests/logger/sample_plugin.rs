//! The logger beside the sample plugin of the same name in the NRI project: what that one does, row
//! by row, and what this one makes of it. `docs/components/logger.md` has the reasons of the
//! deviations.

use nri_logger::Logger;
use nri_plugin_api::request::RequestMessage;
use nri_plugin_api::testing::{self, Harness, Value, json};
use nri_plugin_api::{Method, MethodSet, api};

/// The sample's masks, of which bit n - 1 stands for event n.
const SAMPLE_ALL: u64 = 0x3fff;
const SAMPLE_POD: u64 = 0x1807;
const SAMPLE_CONTAINER: u64 = 0x27f8;

/// A mask as runtimes know it: without Synchronize, which is no event there.
fn mask(methods: MethodSet) -> u64 {
    let events = Method::ALL
        .iter()
        .filter(|method| **method != Method::Synchronize);
    let order = [
        Method::RunPodSandbox,
        Method::StopPodSandbox,
        Method::RemovePodSandbox,
        Method::CreateContainer,
        Method::PostCreateContainer,
        Method::StartContainer,
        Method::PostStartContainer,
        Method::UpdateContainer,
        Method::PostUpdateContainer,
        Method::StopContainer,
        Method::RemoveContainer,
        Method::UpdatePodSandbox,
        Method::PostUpdatePodSandbox,
        Method::ValidateContainerAdjustment,
    ];
    assert_eq!(events.count(), order.len());
    let bits = order.iter().enumerate();
    bits.filter(|(_, method)| methods.contains(**method))
        .map(|(bit, _)| 1 << bit)
        .sum()
}

#[test]
fn groups_and_names_are_those_of_the_sample_without_the_check_of_adjustments() {
    const CHECK: u64 = 0x2000;
    let rows: [(&str, Value, Option<u64>); 14] = [
        ("nothing is all", json!({}), Some(SAMPLE_ALL - CHECK)),
        ("all", json!({"events": ["all"]}), Some(SAMPLE_ALL - CHECK)),
        ("pod", json!({"events": ["pod"]}), Some(SAMPLE_POD)),
        (
            "podsandbox",
            json!({"events": ["podsandbox"]}),
            Some(SAMPLE_POD),
        ),
        (
            "container",
            json!({"events": ["container"]}),
            Some(SAMPLE_CONTAINER - CHECK),
        ),
        (
            "a name in capitals",
            json!({"events": ["RUNPODSANDBOX"]}),
            Some(1),
        ),
        (
            "blanks around a name",
            json!({"events": [" runpodsandbox "]}),
            Some(1),
        ),
        // An error there.
        (
            "blanks around a group",
            json!({"events": ["pod "]}),
            Some(SAMPLE_POD),
        ),
        (
            "commas",
            json!({"events": ["runpodsandbox,createcontainer"]}),
            Some(0x9),
        ),
        (
            "several texts",
            json!({"events": ["pod", "createcontainer"]}),
            Some(SAMPLE_POD | 0x8),
        ),
        (
            "the check by name",
            json!({"events": ["validatecontaineradjustment"]}),
            Some(CHECK),
        ),
        ("an unknown name", json!({"events": ["createpod"]}), None),
        ("an empty name", json!({"events": [""]}), None),
        // All there.
        ("an empty list", json!({"events": []}), None),
    ];
    for (row, config, expected) in rows {
        let logger = Harness::<Logger>::create(config);
        match (logger, expected) {
            (Ok(mut logger), Some(expected)) => {
                assert_eq!(mask(logger.methods()), expected, "{row}");
            }
            (Err(failure), None) => assert_eq!(failure.mistakes.len(), 1, "{row}: {failure}"),
            (logger, expected) => panic!("{row}: {logger:?}, not {expected:?}"),
        }
    }
}

/// Everything that a message can have, one time.
fn full<M: RequestMessage>(fill: impl FnOnce(&mut M, api::PodSandbox, api::Container)) -> M {
    let pod = testing::pod("web", []);
    let container = testing::container(&pod, "nginx");
    let mut message = M::default();
    fill(&mut message, pod, container);
    message
}

fn resources() -> api::LinuxResources {
    api::LinuxResources {
        rdt_class: Some(api::OptionalString::default()).into(),
        ..Default::default()
    }
}

/// The record of a message, but for its time.
fn record<M: RequestMessage>(message: &M) -> Value {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("events");
    let config = json!({"file": path, "events": ["all", "ValidateContainerAdjustment"]});
    let mut logger = Harness::<Logger>::create(config).expect("the settings are fine");
    let _outcome = logger.call(message);
    drop(logger);
    let text = std::fs::read_to_string(path).expect("the logger made the file");
    let mut record: Value = serde_json::from_str(&text).expect("there is one line");
    let time = record
        .as_object_mut()
        .and_then(|fields| fields.remove("time"));
    time.expect("each record has a time");
    record
}

/// Asserts what a record has besides time and event.
macro_rules! has {
    ($message:ident: $($field:ident),+) => {
        let message = full(|message: &mut api::$message, _pod, _container| {
            $(has!(@set message, _pod, _container, $field);)+
        });
        let record = record(&message);
        let mut expected = vec!["event", $(stringify!($field)),+];
        expected.sort_unstable();
        let mut fields: Vec<&String> = record.as_object().unwrap().keys().collect();
        fields.sort_unstable();
        assert_eq!(fields, expected, "{}", stringify!($message));
    };
    (@set $message:ident, $pod:ident, $container:ident, pod) => { $message.pod = Some($pod).into() };
    (@set $message:ident, $pod:ident, $container:ident, container) => {
        $message.container = Some($container).into()
    };
    (@set $message:ident, $pod:ident, $container:ident, adjust) => {
        $message.adjust.mut_or_insert_default().args.push("x".to_owned())
    };
    (@set $message:ident, $pod:ident, $container:ident, update) => {
        $message.update.push(api::ContainerUpdate::default())
    };
    (@set $message:ident, $pod:ident, $container:ident, $resources:ident) => {
        $message.$resources = Some(resources()).into()
    };
}

#[test]
fn each_event_has_what_the_sample_prints_of_it() {
    has!(RunPodSandboxRequest: pod);
    has!(UpdatePodSandboxRequest: pod, overhead_linux_resources, linux_resources);
    has!(PostUpdatePodSandboxRequest: pod);
    has!(StopPodSandboxRequest: pod);
    has!(RemovePodSandboxRequest: pod);
    has!(CreateContainerRequest: pod, container);
    has!(PostCreateContainerRequest: pod, container);
    has!(StartContainerRequest: pod, container);
    has!(PostStartContainerRequest: pod, container);
    has!(UpdateContainerRequest: pod, container, linux_resources);
    has!(PostUpdateContainerRequest: pod, container);
    has!(StopContainerRequest: pod, container);
    has!(RemoveContainerRequest: pod, container);
    has!(ValidateContainerAdjustmentRequest: pod, container, adjust, update);
}

/// A row about adjustments: settings, annotations of the container, and what is answered.
struct Adjusts {
    row: &'static str,
    settings: Value,
    container_has: &'static [&'static str],
    annotations: &'static [&'static str],
    env: &'static [&'static str],
}

const NONE: &[&str] = &[];

fn adjustments() -> Vec<Adjusts> {
    let adjusts = |row, settings, container_has, annotations, env| Adjusts {
        row,
        settings,
        container_has,
        annotations,
        env,
    };
    vec![
        adjusts("nothing", json!({}), &["sa"], NONE, NONE),
        adjusts(
            "add-annotation",
            json!({"add_annotation": "aa"}),
            NONE,
            &["aa"],
            NONE,
        ),
        adjusts("add-env", json!({"add_env": "AE"}), NONE, NONE, &["AE"]),
        adjusts(
            "set-env",
            json!({"set_env": "SE"}),
            NONE,
            NONE,
            &["-SE", "SE"],
        ),
        // The sample always removes, too: runtimes then apply the two in any order.
        adjusts(
            "set-annotation",
            json!({"set_annotation": "sa"}),
            NONE,
            &["sa"],
            NONE,
        ),
        adjusts(
            "set-annotation of one that is there",
            json!({"set_annotation": "sa"}),
            &["sa"],
            &["-sa", "sa"],
            NONE,
        ),
        adjusts(
            "all",
            json!({"add_annotation": "aa", "set_annotation": "sa", "add_env": "AE", "set_env": "SE"}),
            &["sa"],
            &["-sa", "aa", "sa"],
            &["AE", "-SE", "SE"],
        ),
        adjusts(
            "without the event",
            json!({"add_env": "AE", "events": ["RunPodSandbox"]}),
            NONE,
            NONE,
            &["AE"],
        ),
        adjusts(
            "a pod that is not selected",
            json!({"add_env": "AE", "namespaces": ["other"]}),
            NONE,
            NONE,
            NONE,
        ),
    ]
}

#[test]
fn new_containers_get_what_the_sample_gives_them() {
    let value = |name: &str| match name.strip_prefix('-') {
        Some(_) => String::new(),
        None => format!("logger-pid-{}", std::process::id()),
    };
    for case in adjustments() {
        let mut logger = Harness::<Logger>::create(case.settings).unwrap();
        assert!(
            logger.methods().contains(Method::CreateContainer),
            "{}",
            case.row
        );
        let pod = testing::pod("web", []);
        let mut container = testing::container(&pod, "nginx");
        let has = case.container_has.iter();
        container.annotations = has
            .map(|key| ((*key).to_owned(), "old".to_owned()))
            .collect();
        let answer = logger.create_container(&pod, &container).answer();
        let annotations = case.annotations.iter();
        let annotations = annotations
            .map(|key| ((*key).to_owned(), value(key)))
            .collect();
        let env = case.env.iter().map(|name| api::KeyValue {
            key: (*name).to_owned(),
            value: value(name),
            ..Default::default()
        });
        let expected = api::ContainerAdjustment {
            annotations,
            env: env.collect(),
            ..Default::default()
        };
        let adjust = answer.adjust.unwrap_or_default();
        assert_eq!(adjust, expected, "{}", case.row);
        assert!(
            answer.update.is_empty() && answer.evict.is_empty(),
            "{}",
            case.row
        );
    }
}

#[test]
fn names_that_a_runtime_would_refuse_are_mistakes() {
    for (key, config) in [
        ("add_annotation", json!({"add_annotation": ""})),
        ("add_annotation", json!({"add_annotation": "-key"})),
        (
            "set_annotation",
            json!({"add_annotation": "key", "set_annotation": "key"}),
        ),
        ("add_env", json!({"add_env": "A=B"})),
        ("set_env", json!({"set_env": "-A"})),
        ("set_env", json!({"add_env": "A", "set_env": "A"})),
    ] {
        let failure = Harness::<Logger>::create(config.clone()).unwrap_err();
        let keys: Vec<&str> = failure.mistakes.iter().map(|m| m.key.as_str()).collect();
        assert_eq!(keys, [key], "{config}");
    }
}

/// The sample prints everything in YAML, line by line, with the values of variables.
#[test]
fn a_document_of_yaml_has_what_the_sample_prints_but_for_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events");
    let config = json!({"file": path, "format": "yaml"});
    let mut logger = Harness::<Logger>::create(config).unwrap();
    let pod = testing::pod("web", [("note", "two\nlines\n")]);
    let mut container = testing::container(&pod, "nginx");
    container.env = vec!["PASSWORD=hunter2".to_owned()];
    for _ in 0..2 {
        let _answer = logger.create_container(&pod, &container).answer();
    }
    drop(logger);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(documents.len(), 2);
    for document in &documents {
        assert_eq!(document["event"], "CreateContainer");
        assert_eq!(document["pod"]["annotations"]["note"], "two\nlines\n");
        assert_eq!(document["container"]["args"], json!(["/bin/true"]));
        assert_eq!(document["container"]["env"], json!(["PASSWORD=***"]));
    }
}
