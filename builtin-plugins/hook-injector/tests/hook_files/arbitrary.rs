//! Whatever is in hook files and annotations, the component answers.

use nri_plugin_api::testing::Outcome;
use proptest::prelude::*;

use crate::node::{Node, Subject};

/// Texts that are nearly hook files.
fn file() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just(r#"{"version": "1.0.0", "hook": {"path": "/bin/true"}, "stages": ["poststop"], "when": "#.to_owned()),
        Just(r#"{"hook": "/bin/true", "stages": ["prestart"], "cmds": "#.to_owned()),
        Just(r#"{"always": true, "commands": "#.to_owned()),
        Just(r#"{"annotations": {""#.to_owned()),
        Just(r#"["\\w+"#.to_owned()),
        Just(r#"(?i)[[:alpha:]"#.to_owned()),
        Just("\":\"".to_owned()),
        Just("\"]}".to_owned()),
        Just("}}".to_owned()),
        Just("null".to_owned()),
        Just("[".to_owned()),
        "[a-z0-9.*+?(){}|^$é-]{1,8}",
        "\\PC{1,4}",
        any::<String>(),
    ];
    proptest::collection::vec(token, 0..16).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_file_breaks_the_component(text in file(), has_args in any::<bool>()) {
        let node = Node::with(&text);
        let subject = Subject {
            pod_annotations: vec![("a", "b")],
            args: if has_args { vec!["/bin/sh"] } else { Vec::new() },
            ..Subject::default()
        };
        match node.injector().ask(&subject) {
            Outcome::Answer(_) | Outcome::Rejected(_) => {}
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
