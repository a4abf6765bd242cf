//! What an admin is told, and what a mistake costs.

use std::fs;
use std::path::Path;

use nri_host::config::{Overrides, Problem, Scope, load};
use proptest::prelude::*;

use crate::fixture::{A, Files, broken, names, with_components};

#[test]
fn all_mistakes_of_all_files_are_told_at_once() {
    let files = Files::new(
        r#"[runtime]
sokcet = "/run/nri.sock"
expect_runtime = 3
[host]
runtime_dir = "run"
component_dirs = ["/a", 4]
log = "verbose"
[[component]]
name = "a b"
index = 100
library = "/nowhere/liba.so"
on_failure = "fial"
timeout = "1.5s"
sync_timeout = 2
[[component]]
isolation = "process"
enabled = "no"
index = "10"
library = "./liba.so"
confg = {}
"#,
    )
    .drop_in(
        "50-c.toml",
        "[[component]]\nname = \"c\"\nrequired = 1\n[host]\nlog = \"info\"\n",
    );
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:2: sokcet: unknown key; did you mean \"socket\"?",
            "nri-host.toml:3: expect_runtime: wrong type: found an integer \
             (expected the name of a runtime, such as \"containerd\")",
            "nri-host.toml:5: runtime_dir: run is a relative path (expected an absolute path)",
            "nri-host.toml:6: component_dirs[1]: wrong type: found an integer \
             (expected an absolute path)",
            "nri-host.toml:7: log: \"verbose\" is not known here \
             (expected one of off, error, warn, info, debug, trace)",
            "nri-host.toml:9: component \"a b\": name: \"a b\" is no name for a component \
             (expected one or more of A-Z a-z 0-9 _ . + -)",
            "nri-host.toml:10: component \"a b\": index: 100 is out of range \
             (expected an integer from 0 to 99)",
            "nri-host.toml:12: component \"a b\": on_failure: \"fial\" is not known here \
             (expected one of ignore, fail); did you mean \"fail\"?",
            "nri-host.toml:13: component \"a b\": timeout: \"1.5s\" is not a duration \
             (expected a whole number and a unit, such as \"500ms\", \"2s\" or \"1m\")",
            "nri-host.toml:14: component \"a b\": sync_timeout: wrong type: found an integer \
             (expected a duration in quotes, such as \"500ms\" or \"2s\")",
            "nri-host.toml:15: name: is missing (expected a name for the component)",
            "nri-host.toml:16: isolation: \"process\" is not available in this version \
             (expected \"in-process\")",
            "nri-host.toml:17: enabled: wrong type: found a string \
             (expected true or false)",
            "nri-host.toml:18: index: wrong type: found a string \
             (expected an integer from 0 to 99)",
            "nri-host.toml:19: library: ./liba.so is a relative path (expected an \
             absolute path, or a bare file name that is looked for in component_dirs)",
            "nri-host.toml:20: confg: unknown key; did you mean \"config\"?",
            "conf.d/50-c.toml:1: component \"c\": index: is missing (expected an integer from 0 \
             to 99); no other file defines a component of this name",
            "conf.d/50-c.toml:1: component \"c\": library: is missing (expected an absolute path, \
             or a bare file name that is looked for in component_dirs); no other file defines a \
             component of this name",
            "conf.d/50-c.toml:3: component \"c\": required: wrong type: found an integer \
             (expected true or false)",
            "conf.d/50-c.toml:4: host: belongs in the main file: a drop-in holds nothing but \
             [[component]] tables",
        ]
    );
    assert!(files.load().config.is_none());
}

#[test]
fn metrics_are_listened_for_at_an_address_with_a_port_and_no_name() {
    for text in ["9411", "127.0.0.1", "localhost:9411", "127.0.0.1:99999", ""] {
        let files = Files::new(&format!("[host]\nmetrics_listen = \"{text}\"\n"));
        assert_eq!(
            files.mistakes(),
            [format!(
                "nri-host.toml:2: metrics_listen: {text:?} is not an IP address and a port \
                 (expected for example \"127.0.0.1:9411\" or \"[::1]:9411\")"
            )]
        );
    }
    for text in ["127.0.0.1:9411", "[::1]:9411"] {
        let files = Files::new(&format!("[host]\nmetrics_listen = \"{text}\"\n"));
        let listen = files.config().host.metrics_listen;
        assert_eq!(
            listen.map(|address| address.to_string()).as_deref(),
            Some(text)
        );
    }
}

#[test]
fn mistakes_in_the_quarantine_are_told_by_their_own_key() {
    let files = with_components(&format!(
        "{A}on_stuck = \"restart\"\n[component.quarantine]\nfailures = 101\nwindow = \"2h\"\n\
         time = 3\n[[component]]\nname = \"b\"\nindex = 11\nlibrary = \"libb.so\"\n\
         quarantine = 5\n[[component]]\nname = \"c\"\nindex = 12\nlibrary = \"libb.so\"\n\
         quarantine.failures = -1\n"
    ));
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:7: component \"a\": on_stuck: \"restart\" is not known here \
             (expected one of leave, restart-host)",
            "nri-host.toml:9: component \"a\": quarantine.failures: 101 is out of range \
             (expected an integer from 0 to 100)",
            "nri-host.toml:10: component \"a\": quarantine.window: \"2h\" is out of range \
             (expected 1ms to 1h)",
            "nri-host.toml:11: component \"a\": quarantine.time: unknown key \
             (expected one of failures, window)",
            "nri-host.toml:16: component \"b\": quarantine: wrong type: found an integer \
             (expected a table)",
            "nri-host.toml:21: component \"c\": quarantine.failures: -1 is out of range \
             (expected an integer from 0 to 100)",
        ]
    );
    assert_eq!(broken(&files.load()).len(), 3);
}

#[test]
fn a_missing_library_names_the_places_where_it_was_looked_for() {
    let files = with_components(
        "[[component]]\nname = \"a\"\nindex = 1\nlibrary = \"libx.so\"\n\
         [[component]]\nname = \"b\"\nindex = 2\nlibrary = \"/nowhere/libx.so\"\n",
    );
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:6: component \"a\": library: \"libx.so\" is in none of the \
             component_dirs (looked for lib/libx.so)",
            "nri-host.toml:10: component \"b\": library: /nowhere/libx.so cannot be reached: \
             No such file or directory (os error 2)",
        ]
    );
}

#[test]
fn a_mistake_in_a_component_costs_that_component_alone() {
    let files = with_components(&format!(
        "{A}[[component]]\nname = \"b\"\nindex = 11\nlibary = 1\n"
    ));
    let loaded = files.load();
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(broken(&loaded), [(Some("b"), Some(11))]);
    assert_eq!(loaded.broken[0].mistakes.len(), loaded.mistakes.len());
    assert!(
        loaded
            .mistakes
            .iter()
            .all(|m| m.scope == Scope::Component(Some("b".to_owned())))
    );
}

#[test]
fn a_broken_required_component_is_still_known_as_required() {
    let files = with_components("[[component]]\nname = \"b\"\nindex = 11\nrequired = true\n");
    assert!(files.load().broken[0].required);
}

#[test]
fn a_mistake_in_the_host_leaves_no_configuration() {
    for main in [
        "[runtime]\nsocket = 1\n",
        "[host]\nlog = \"loud\"\n",
        "[host]\nx = 1\n",
        "[metrics]\n",
        "runtime = 1\n",
        "[runtime\n",
        "[runtime]\nsocket = \"nri.sock\"\n",
    ] {
        let loaded = Files::new(main).load();
        assert!(loaded.config.is_none(), "{main:?}");
        assert!(
            loaded
                .mistakes
                .iter()
                .any(|mistake| mistake.scope == Scope::Host),
            "{main:?}: {:?}",
            loaded.mistakes
        );
    }
}

#[test]
fn a_missing_main_file_is_a_mistake_of_the_host() {
    let loaded = load(Path::new("/nowhere/nri-host.toml"), &Overrides::default());
    assert!(loaded.config.is_none());
    assert_eq!(
        loaded.mistakes[0].to_string(),
        "/nowhere/nri-host.toml: cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn a_table_that_was_meant_to_be_a_component_costs_no_other() {
    for (table, line) in [
        ("[[componnet]]\nname = \"b\"\n", 7),
        ("[[components]]\nname = \"b\"\n", 7),
    ] {
        let files = with_components(&format!("{A}{table}"));
        let loaded = files.load();
        assert_eq!(names(&loaded), ["a"], "{table:?}");
        assert_eq!(loaded.broken.len(), 1, "{table:?}");
        assert_eq!(loaded.mistakes[0].location.line, Some(line), "{table:?}");
        assert!(
            loaded.mistakes[0]
                .to_string()
                .ends_with("did you mean \"component\"?")
        );
    }
    let files = Files::new("[component]\nname = \"b\"\n");
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:1: component \"b\": component: wrong type: found a table \
          (expected [[component]] with double brackets)"
        ]
    );
    assert_eq!(broken(&files.load()), [(Some("b"), None)]);
}

#[test]
fn the_second_component_with_an_index_and_name_fails() {
    let files = with_components(&format!("{A}{}", A.replace("liba", "libb")));
    let loaded = files.load();
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(broken(&loaded), [(Some("a"), Some(10))]);
    assert!(
        loaded.config.unwrap().components[0]
            .library
            .ends_with("liba.so")
    );
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:7: component \"a\": 10-a is already defined at nri-host.toml:3: \
          index and name together must be unique"
        ]
    );
}

#[test]
fn a_disabled_component_takes_no_name_away() {
    let files = with_components(&format!("{A}enabled = false\n{A}"));
    let enabled: Vec<_> = files
        .config()
        .components
        .iter()
        .map(|c| c.enabled)
        .collect();
    assert_eq!(enabled, [false, true]);
    assert!(files.warnings().is_empty());
}

#[test]
fn equal_indexes_are_odd() {
    let files = with_components(&format!("{A}{}", A.replace("\"a\"", "\"b\"")));
    assert_eq!(files.config().components.len(), 2);
    assert_eq!(
        files.warnings(),
        [
            "nri-host.toml:9: component \"b\": index: 10 is also the index of component \"a\" \
          (nri-host.toml:5): the runtime may ask either of them first"
        ]
    );
}

#[test]
fn a_main_file_that_is_not_toml_brings_no_further_complaints() {
    let files = Files::new("[host]\nlog = \"info\n[[component]]\nname = \"a\"\nxyz = 1\n")
        .drop_in(
            "50.toml",
            "[[component]]\nname = \"other\"\nrequired = true\n",
        )
        .drop_in(
            "60.toml",
            "[[component]]\nname = \"other\"\nrequird = true\n",
        );
    let mistakes = files.mistakes();
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    assert!(
        mistakes[0].starts_with("nri-host.toml:2: is not valid TOML (column 12): "),
        "{mistakes:?}"
    );
    assert!(
        mistakes[1].starts_with("conf.d/60.toml:3: "),
        "{mistakes:?}"
    );
}

#[test]
fn all_syntax_errors_are_told_and_none_quotes_its_line() {
    let files = Files::new("[runtime]\nx = \"hunter2\ny = hunter2\nz = = 1\n");
    let mistakes = files.mistakes();
    assert!(mistakes.len() >= 3, "{mistakes:?}");
    assert!(
        mistakes.iter().all(|mistake| !mistake.contains("hunter2")),
        "{mistakes:?}"
    );
}

#[test]
fn values_below_config_are_never_shown() {
    let files = with_components(&format!(
        "{A}[component.config]\npassword = \"hunter2\"\nfar = inf\nbig = 99999999999999999999\n"
    ));
    let loaded = files.load();
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:9: component \"a\": config.far: a float that is not finite cannot be \
             handed to a component (expected a finite one, or a string)",
            "nri-host.toml:10: component \"a\": config.big: an integer of more than 64 bits \
             cannot be handed to a component (expected a smaller one, or a string)",
        ]
    );
    assert!(!format!("{loaded:?}").contains("hunter2"));

    let files = with_components(&format!("{A}config = {{ password = \"hunter2\" }}\n"));
    assert!(!format!("{:?}", files.load()).contains("hunter2"));
}

#[test]
fn socket_paths_that_no_address_can_hold_are_refused() {
    let long = "x".repeat(120);
    let loaded = Files::new(&format!(
        "[runtime]\nsocket = \"/{long}\"\n[host]\nruntime_dir = \"/{long}\"\n"
    ))
    .load();
    let limits = loaded.mistakes.iter().filter(|mistake| {
        matches!(
            mistake.problem,
            Problem::SocketPathTooLong { limit: 107, .. }
        )
    });
    assert_eq!(limits.count(), 2);
}

#[test]
fn odd_keys_cannot_write_to_the_terminal() {
    let files = Files::new("[host]\n\"\\u001b[31m\" = 1\n");
    assert_eq!(
        files.mistakes(),
        [
            "nri-host.toml:2: \\u{1b}[31m: unknown key (expected one of component_dirs, \
             runtime_dir, state_dir, fail_exempt_namespaces, log, metrics_listen)"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn whatever_a_file_holds_each_mistake_has_a_line_of_it(
        text in "([a-z_]{1,9}( = ([0-9]{1,4}|\"[a-z/]{0,5}\"|\\[|\\{|true)|\\]|)|\\[{1,2}(host|runtime|component(\\.config)?)\\]{0,2}|\\PC{0,6})(\n(name|index|library|log|socket) = ([0-9]{1,3}|\"[a-z/]{0,5}\"))*",
    ) {
        let lines = text.lines().count().max(1);
        // The parser reports an unexpected end behind the last line.
        for mistake in Files::new(&text).load().mistakes {
            let line = mistake.location.line.expect("the file itself can be read");
            prop_assert!((1..=lines + 1).contains(&line), "{text:?}: {mistake}");
        }
    }

    #[test]
    fn a_file_that_was_cut_off_is_told_or_still_means_something(len: prop::sample::Index) {
        let whole = with_components(&format!("{A}timeout = \"1s\"\n[component.config]\nx = [1]\n"));
        let text = fs::read_to_string(whole.path("nri-host.toml")).expect("it was written");
        let files = Files::new(&text[..len.index(text.len())]);
        let loaded = files.load();
        prop_assert_eq!(
            loaded.config.is_none(),
            loaded.mistakes.iter().any(|mistake| mistake.scope == Scope::Host)
        );
        prop_assert!(loaded.broken.iter().all(|broken| !broken.mistakes.is_empty()));
    }
}
