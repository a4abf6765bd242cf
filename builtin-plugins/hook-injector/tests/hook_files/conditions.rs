//! For which containers hooks run, row by row: H01 to H15, H23, H27 to H32, H35. The rows are those
//! of `docs/components/hook-injector.md`.

use nri_plugin_api::testing::json;

use crate::node::{DEFAULT, Node, Subject, annotated, mounts, runs};

/// A hook with everything, as the observed plugin was given it.
const P: &str =
    r#""hook": {"path": "/bin/true", "args": ["true", "-x"], "env": ["A=b"], "timeout": 5}"#;
const P_TEXT: &str = "/bin/true true -x A=b 5s";

/// A file of version 1.0.0 with this condition and these stages.
fn file(when: &str, stages: &str) -> String {
    format!(r#"{{"version": "1.0.0", {P}, "when": {when}, "stages": {stages}}}"#)
}

/// Whether a hook with this condition runs for a container.
#[track_caller]
fn is_match(row: &str, when: &str, subject: &Subject) -> bool {
    let hooks = Node::with(&file(when, r#"["createRuntime"]"#))
        .injector()
        .hooks(subject);
    if hooks.is_empty() {
        return false;
    }
    assert_eq!(hooks, [format!("createRuntime {P_TEXT}")], "{row}");
    true
}

#[test]
fn conditions_of_version_1_all_have_to_hold() {
    let bash = runs("/bin/bash");
    let no_args = Subject::default();
    let ab = annotated(&[("a", "1"), ("b", "2")]);
    let a = annotated(&[("a", "1")]);
    let both = Subject {
        annotations: vec![("a", "ctr")],
        ..annotated(&[("a", "pod")])
    };
    for (row, when, subject, expected) in [
        ("H02", r#"{"always": false}"#, &bash, false),
        (
            "H02",
            r#"{"always": false, "commands": ["bash"]}"#,
            &bash,
            false,
        ),
        ("H03", "{}", &bash, false),
        ("H03", "null", &bash, false),
        ("H04", r#"{"commands": ["sh"]}"#, &bash, true),
        (
            "H05",
            r#"{"commands": ["^x$", "^/bin/bash$"]}"#,
            &bash,
            true,
        ),
        ("H07", r#"{"commands": []}"#, &no_args, false),
        (
            "H08",
            r#"{"always": true, "commands": ["zsh"]}"#,
            &bash,
            false,
        ),
        (
            "H09",
            r#"{"annotations": {"^a$": "1", "^b$": "2"}}"#,
            &ab,
            true,
        ),
        (
            "H09",
            r#"{"annotations": {"^a$": "1", "^b$": "2"}}"#,
            &a,
            false,
        ),
        ("H10", r#"{"annotations": {"^a$": "^pod$"}}"#, &both, true),
        ("H10", r#"{"annotations": {"^a$": "^ctr$"}}"#, &both, false),
        ("H11", r#"{"annotations": {}}"#, &ab, false),
        ("H23", r#"{"commands": ["(?i)^/BIN/\\w+$"]}"#, &bash, true),
        // What is absent, and what is null.
        (
            "null",
            r#"{"always": null, "commands": ["sh"]}"#,
            &bash,
            true,
        ),
        // A condition that fails before keeps the one without an answer from being asked.
        (
            "order",
            r#"{"always": false, "commands": ["sh"]}"#,
            &no_args,
            false,
        ),
        ("empty value", r#"{"annotations": {"a": ""}}"#, &a, true),
    ] {
        assert_eq!(is_match(row, when, subject), expected, "{row} {when}");
    }
}

#[test]
fn h03_a_file_without_conditions_never_matches() {
    let text = format!(r#"{{"version": "1.0.0", {P}, "stages": ["poststop"]}}"#);
    assert!(
        Node::with(&text)
            .injector()
            .hooks(&runs("/bin/sh"))
            .is_empty()
    );
}

#[test]
fn stages_are_mapped_and_repeated() {
    for (row, stages, expected) in [
        (
            "H01",
            r#"["prestart", "poststop"]"#,
            vec!["createRuntime", "poststop"],
        ),
        (
            "H14",
            r#"["prestart", "createRuntime", "prestart"]"#,
            vec!["createRuntime"; 3],
        ),
        ("H15", "[]", vec![]),
        (
            "all",
            r#"["poststop", "poststart", "startContainer", "createContainer"]"#,
            vec!["createContainer", "startContainer", "poststart", "poststop"],
        ),
    ] {
        let node = Node::with(&file(r#"{"always": true}"#, stages));
        let expected: Vec<_> = expected
            .iter()
            .map(|stage| format!("{stage} {P_TEXT}"))
            .collect();
        assert_eq!(node.injector().hooks(&runs("/bin/sh")), expected, "{row}");
    }
}

#[test]
fn h06_a_condition_without_an_answer_rejects_the_container() {
    let node = Node::with(&file(r#"{"commands": ["sh"]}"#, r#"["poststop"]"#));
    let reason = node.injector().ask(&Subject::default()).rejection();
    assert!(
        reason.contains("a.json: it asks for the container's command"),
        "{reason}"
    );
}

#[test]
fn h35_one_condition_without_an_answer_keeps_all_hooks_away() {
    let node = Node::with(&file(r#"{"always": true}"#, r#"["poststop"]"#));
    for name in ["b.json", "c.json"] {
        node.write(
            DEFAULT,
            name,
            &file(r#"{"commands": ["sh"]}"#, r#"["poststop"]"#),
        );
    }
    let mut injector = node.injector();
    let reason = injector.ask(&Subject::default()).rejection();
    // All of them at once.
    assert!(
        reason.contains("b.json: ") && reason.contains("c.json: "),
        "{reason}"
    );
    assert!(!reason.contains("a.json"), "{reason}");
    assert_eq!(injector.hooks(&runs("/bin/sh")).len(), 3);
}

#[test]
fn h12_bind_mounts_count_that_a_pod_asks_for() {
    let when = r#"{"hasBindMounts": true}"#;
    let node = Node::with(&file(when, r#"["poststop"]"#));
    let (mut requested, mut any) = (
        node.injector(),
        node.injector_with(json!({ "bind_mounts": "any" })),
    );
    for (subject, counts) in [
        (mounts("bind", "/data", &["rbind", "ro"]), true),
        (mounts("", "/data", &["rbind"]), true),
        (mounts("none", "/data", &["bind"]), true),
        // The sample plugin counts these as well.
        (mounts("proc", "/proc", &["nosuid"]), false),
        (mounts("tmpfs", "/data", &[]), false),
    ] {
        assert_eq!(!requested.hooks(&subject).is_empty(), counts, "{subject:?}");
        assert_eq!(any.hooks(&subject).len(), 1, "{subject:?}");
    }
    assert!(requested.hooks(&runs("/bin/sh")).is_empty());
    assert!(any.hooks(&runs("/bin/sh")).is_empty());
}

#[test]
fn what_every_container_has_counts_where_the_pod_replaces_it() {
    const POD: &str = "/var/lib/kubelet/pods/u";
    const VOLUME: &str = "/var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/v";
    const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let node = Node::with(&file(r#"{"hasBindMounts": true}"#, r#"["poststop"]"#));
    let mut injector = node.injector();
    for (destination, source, counts) in [
        ("/etc/hosts", format!("{POD}/etc-hosts"), false),
        ("/etc/hosts", VOLUME.to_owned(), true),
        (
            "/etc/hosts",
            format!("{POD}/volume-subpaths/v/etc-hosts"),
            true,
        ),
        (
            "/dev/shm",
            "/run/containerd/c/sandboxes/i/shm".to_owned(),
            false,
        ),
        (
            "/dev/shm",
            "/run/c/overlay-containers/i/userdata/shm".to_owned(),
            false,
        ),
        ("/dev/shm", "/dev/shm".to_owned(), false),
        ("/dev/shm/", VOLUME.to_owned(), true),
        ("/dev/shm", "/home/shm".to_owned(), true),
        (
            "/dev/termination-log",
            format!("{POD}/containers/c0/1f"),
            false,
        ),
        ("/dev/termination-log", VOLUME.to_owned(), true),
        (
            TOKEN,
            format!("{POD}/volumes/kubernetes.io~projected/kube-api-access-x"),
            false,
        ),
        (TOKEN, VOLUME.to_owned(), true),
    ] {
        let mut subject = mounts("bind", destination, &["rbind"]);
        subject.mounts[0].source.clone_from(&source);
        let hooks = injector.hooks(&subject);
        assert_eq!(!hooks.is_empty(), counts, "{destination} from {source}");
    }
}

#[test]
fn h13_nobody_can_ask_for_containers_without_bind_mounts() {
    let when = r#"{"hasBindMounts": false}"#;
    assert!(!is_match("H13", when, &runs("/bin/sh")));
    assert!(!is_match("H13", when, &mounts("bind", "/data", &["rbind"])));
}

#[test]
fn conditions_of_version_0_1_have_to_hold_once() {
    let zsh = Subject {
        pod_annotations: vec![("k", "rebar")],
        ..runs("/bin/sh")
    };
    for (row, text, subject, expected) in [
        (
            "H27",
            r#"{"hook": "/bin/true", "arguments": ["-d"], "stages": ["prestart"], "cmds": ["sh"]}"#,
            runs("/bin/sh"),
            vec!["createRuntime /bin/true /bin/true -d"],
        ),
        (
            "H28",
            r#"{"version": "0.1.0", "hook": "/bin/true", "stage": ["poststop"], "cmd": ["sh"]}"#,
            runs("/bin/sh"),
            vec!["poststop /bin/true"],
        ),
        (
            "H31",
            r#"{"hook": "/bin/true", "stage": ["poststop"], "annotations": ["^foo$", "bar"],
                "cmds": ["zsh"]}"#,
            zsh,
            vec!["poststop /bin/true"],
        ),
        (
            "H31",
            r#"{"hook": "/bin/true", "stage": ["poststop"], "annotations": ["^foo$", "bar"],
                "cmds": ["zsh"]}"#,
            runs("/bin/sh"),
            vec![],
        ),
        (
            "H32",
            r#"{"hook": "/bin/true", "stages": ["poststop"]}"#,
            runs("/bin/sh"),
            vec![],
        ),
        (
            "H32",
            r#"{"hook": "/bin/true", "stages": ["poststop"], "hasbindmounts": false}"#,
            mounts("bind", "/data", &["bind"]),
            vec![],
        ),
        (
            "any case of letters",
            r#"{"hook": "/bin/true", "stages": ["poststop"], "HasBindMounts": true}"#,
            mounts("bind", "/data", &["bind"]),
            vec!["poststop /bin/true"],
        ),
        (
            "no annotation is asked for, and there is one",
            r#"{"hook": "/bin/true", "stages": ["poststop"], "annotation": []}"#,
            annotated(&[("some", "thing")]),
            vec!["poststop /bin/true"],
        ),
        (
            "no annotation is asked for, and there is none",
            r#"{"hook": "/bin/true", "stages": ["poststop"], "annotation": []}"#,
            runs("/bin/sh"),
            vec![],
        ),
        (
            "no arguments, and an empty list of them",
            r#"{"hook": "/bin/true", "arguments": [], "stages": ["poststop"], "cmds": [""]}"#,
            runs("/bin/sh"),
            vec!["poststop /bin/true /bin/true"],
        ),
        (
            "an empty version",
            r#"{"version": "", "hook": "/bin/true", "stages": ["poststop"], "cmds": ["sh"]}"#,
            runs("/bin/sh"),
            vec!["poststop /bin/true"],
        ),
        (
            "a condition that holds before keeps the one without an answer from being asked",
            r#"{"hook": "/bin/true", "stages": ["poststop"], "annotations": ["x"], "cmds": ["sh"]}"#,
            Subject {
                pod_annotations: vec![("k", "x")],
                ..Subject::default()
            },
            vec!["poststop /bin/true"],
        ),
    ] {
        assert_eq!(
            Node::with(text).injector().hooks(&subject),
            expected,
            "{row}"
        );
    }
}

#[test]
fn excluded_pods_get_no_hooks() {
    let node = Node::with(&file(r#"{"always": true}"#, r#"["poststop"]"#));
    let mut injector = node.injector_with(json!({
        "exclude": { "namespaces": ["kube-system", "build-*"], "runtime_handlers": ["kata"] }
    }));
    let subject = |namespace, handler| Subject {
        namespace,
        handler,
        ..runs("/bin/sh")
    };
    for (namespace, handler, gets_hooks) in [
        ("default", "runc", true),
        ("kube-system", "runc", false),
        ("kube", "", true),
        ("kube-system-2", "", true),
        ("build-7", "", false),
        ("default", "kata", false),
        ("default", "kata-qemu", true),
    ] {
        let hooks = injector.hooks(&subject(namespace, handler));
        assert_eq!(!hooks.is_empty(), gets_hooks, "{namespace} {handler}");
    }
}
