//! The configuration that comes out of everything, as text.

use std::path::Path;

use nri_host::config::{Config, Effective, Given, KEYS, Overrides, load, load_effective};
use proptest::prelude::*;
use tracing::level_filters::LevelFilter;

use crate::fixture::{A, Files, with_components};

fn effective(files: &Files, overrides: &Overrides) -> Effective {
    load_effective(&files.path("nri-host.toml"), overrides).1
}

/// Without the comment at the beginning and the name of the folder, one space before each comment.
fn text(files: &Files, overrides: &Overrides) -> Vec<String> {
    let text = effective(files, overrides).to_string();
    let folder = files.path("");
    let (_, text) = text.split_once("\n\n").expect("there is a beginning");
    text.replace(&folder.display().to_string(), "")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// What the text means when it is read as a file of its own.
fn reread(files: &Files, text: &str) -> Config {
    files.write("again.toml", text);
    let loaded = load(&files.path("again.toml"), &Overrides::default());
    assert!(loaded.mistakes.is_empty(), "{:?}\n{text}", loaded.mistakes);
    loaded.config.expect("there are no mistakes")
}

/// Where values were written differs, of course.
fn assert_same(mut one: Config, mut other: Config) {
    let nowhere = one.components.first().map(|first| first.origin.clone());
    let components = one.components.iter_mut().chain(&mut other.components);
    for component in components {
        component.origin = nowhere.clone().expect("there is a component");
    }
    assert_eq!(one, other);
}

#[test]
fn every_key_is_shown_with_its_origin() {
    let files = Files::new(&format!(
        "[runtime]\nsocket = \"/run/a.sock\"\nhandshake_timeout = \"90s\"\n[host]\n\
         log = \"warn\"\ncomponent_dirs = [\"LIB\"]\n{A}quarantine.window = \"1m\"\n\
         [component.config]\nlist = [1, 'x\"y']\n[component.config.deep]\nx = 1\n"
    ))
    .drop_in(
        "50.toml",
        "[[component]]\nname = \"a\"\non_failure = \"fail\"\n\
         [component.config]\ndeep.\"a b\" = 1979-05-27\n",
    );
    let overrides = Overrides {
        socket: Some(Given {
            value: "/run/b.sock".into(),
            by: "NRI_HOST_SOCKET",
        }),
        log: Some(Given {
            value: LevelFilter::DEBUG,
            by: "--log",
        }),
    };
    assert_eq!(
        text(&files, &overrides),
        [
            "[runtime]",
            "socket = \"/run/b.sock\" # NRI_HOST_SOCKET",
            "#expect_runtime = # not set",
            "handshake_timeout = \"90s\" # nri-host.toml:3",
            "",
            "[host]",
            "component_dirs = [\"lib\"] # nri-host.toml:6",
            "runtime_dir = \"/run/nri-host\" # default",
            "state_dir = \"/var/lib/nri-host\" # default",
            "fail_exempt_namespaces = [\"kube-system\"] # default",
            "log = \"debug\" # --log",
            "#metrics_listen = # not set",
            "",
            "[[component]] # nri-host.toml:7",
            "name = \"a\" # nri-host.toml:8",
            "index = 10 # nri-host.toml:9",
            "library = \"lib/liba.so\" # nri-host.toml:10",
            "enabled = true # default",
            "#timeout = # not set",
            "#sync_timeout = # not set",
            "on_failure = \"fail\" # conf.d/50.toml:3",
            "on_stuck = \"leave\" # default",
            "required = false # default",
            "isolation = \"in-process\" # default",
            "[component.quarantine]",
            "failures = 5 # default",
            "window = \"1m\" # nri-host.toml:11",
            "[component.config]",
            "list = [1, \"x\\\"y\"] # nri-host.toml:13",
            "[component.config.deep]",
            "\"a b\" = \"1979-05-27\" # conf.d/50.toml:5",
            "x = 1 # nri-host.toml:15",
        ]
    );
}

#[test]
fn no_key_is_left_out() {
    let text = text(&with_components(A), &Overrides::default());
    let key = |line: &str| {
        line.split(' ')
            .next()
            .map(|key| key.trim_start_matches('#').to_owned())
    };
    let shown: Vec<_> = text.iter().filter_map(|line| key(line)).collect();
    for (path, keys) in KEYS {
        for key in keys {
            let table = format!("{path}.{key}");
            let table = table.trim_start_matches('.');
            let is_shown = [
                (*key).to_owned(),
                format!("[{table}]"),
                format!("[[{table}]]"),
            ]
            .iter()
            .any(|line| shown.contains(line));
            assert!(is_shown, "{table}");
        }
    }
}

#[test]
fn it_names_all_files_and_warns_of_secrets() {
    let files = with_components(A).drop_in("50.toml", "");
    let text = effective(&files, &Overrides::default()).to_string();
    let (beginning, _) = text.split_once("\n\n").expect("there is a beginning");
    assert!(
        beginning.lines().all(|line| line.starts_with('#')),
        "{beginning}"
    );
    for words in ["/nri-host.toml\n", "/conf.d/50.toml\n", "secrets"] {
        assert!(beginning.contains(words), "{words:?} is not in {beginning}");
    }
}

#[test]
fn all_that_is_sound_is_shown_beside_what_is_not() {
    let files = Files::new(&format!(
        "[runtime]\nsocket = \"relative\"\nhandshake_timeout = \"5s\"\n[host]\n\
         component_dirs = [\"LIB\"]\nfail_exempt_namespaces = [\"a\", 1]\n{A}\
         [[component]]\nname = \"b\"\nindex = 100\nlibrary = \"libb.so\"\n"
    ))
    .drop_in("50.toml", "???");
    let text = text(&files, &Overrides::default());
    for line in [
        "socket = \"/var/run/nri/nri.sock\" # default, for nri-host.toml:2 is wrong",
        "handshake_timeout = \"5s\" # nri-host.toml:3",
        "fail_exempt_namespaces = [\"kube-system\"] # default, for nri-host.toml:6 is wrong",
        "name = \"a\" # nri-host.toml:8",
        "# left out: component \"b\", which has mistakes (nri-host.toml:13)",
        "# left out: component, which has mistakes (conf.d/50.toml:1)",
    ] {
        assert!(text.iter().any(|shown| shown == line), "{line}\n{text:#?}");
    }
    assert!(!text.iter().any(|line| line.contains("libb.so")));
}

#[test]
fn a_file_name_cannot_end_the_comment_that_it_stands_in() {
    let files = with_components(A).drop_in(
        "5\nlog = 0.toml",
        "[[component]]\nname = \"a\"\nrequired = true\n",
    );
    let text = effective(&files, &Overrides::default()).to_string();
    assert!(text.contains("required = true"));
    assert!(text.contains("conf.d/5?log = 0.toml:3"), "{text}");
    reread(&files, &text);
}

#[test]
fn what_is_not_run_is_shown_too() {
    let files = with_components(&format!(
        "{A}enabled = false\nrequird = true\n[component.config]\nx = nan\n{}",
        A.replace("10", "11").replace("liba", "libx")
    ))
    .drop_in(
        "50.toml",
        "[[component]]\nname = \"a\"\nindex = 11\nenabled = false\n",
    );
    let effective = effective(&files, &Overrides::default());
    assert_eq!(effective.config.components.len(), 2);
    assert_same(reread(&files, &effective.to_string()), {
        let mut config = effective.config;
        // What cannot be handed to a component is left out.
        config.components[0].config.clear();
        config
    });
}

#[test]
fn the_main_file_need_not_be_there() {
    let (loaded, effective) = load_effective(Path::new("/nowhere/x.toml"), &Overrides::default());
    assert_eq!(loaded.mistakes.len(), 1);
    assert!(
        effective
            .to_string()
            .contains("state_dir = \"/var/lib/nri-host\"")
    );
}

/// Any value that can be handed to a component.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        prop::num::f64::NORMAL.prop_map(serde_json::Value::from),
        prop_oneof![Just(0.0), Just(-0.0), Just(1e300)].prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_it_says_means_the_same(
        config in prop::collection::btree_map("\\PC{0,6}|[a-z\\n\"'.]{1,5}", value(), 0..5),
        timeout in prop::option::of(1u64..3_600_000),
        failures in 0u32..=100,
        log in prop::sample::select(&["off", "error", "warn", "info", "debug", "trace"]),
        exempt in prop::collection::vec("\\PC{1,5}", 0..3),
    ) {
        let files = with_components(A);
        let mut config_in_toml = toml::Table::new();
        config_in_toml.insert("config".to_owned(), toml::Value::try_from(&config).expect("TOML has it"));
        let mut component = toml::Table::new();
        component.insert("name".to_owned(), "a".into());
        component.extend(config_in_toml);
        if let Some(timeout) = timeout {
            component.insert("timeout".to_owned(), format!("{timeout}ms").into());
        }
        let mut quarantine = toml::Table::new();
        quarantine.insert("failures".to_owned(), i64::from(failures).into());
        component.insert("quarantine".to_owned(), quarantine.into());
        let mut drop_in = toml::Table::new();
        drop_in.insert("component".to_owned(), toml::Value::Array(vec![component.into()]));
        files.write("conf.d/50.toml", &toml::to_string(&drop_in).expect("it is TOML"));
        let exempt: Vec<_> = exempt.into_iter().map(toml::Value::String).collect();
        files.write("nri-host.toml", &files.with_dirs(&format!(
            "[host]\ncomponent_dirs = [\"LIB\"]\nlog = \"{log}\"\nfail_exempt_namespaces = {}\n{A}",
            toml::Value::Array(exempt)
        )));
        let written = files.config();
        let shown = effective(&files, &Overrides::default()).to_string();
        files.write("conf.d/50.toml", "");
        assert_same(reread(&files, &shown), written);
    }
}
