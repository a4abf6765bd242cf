//! Configuration files as admins write them, and what they are told about their mistakes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nri_host::config::{
    Config, HostConfig, Isolation, Loaded, OnFailure, Overrides, Problem, RuntimeConfig, Scope,
    load,
};
use serde_json::json;
use tempfile::TempDir;
use tracing::level_filters::LevelFilter;

/// A folder with a main file, drop-ins, and libraries that exist.
struct Files {
    dir: TempDir,
}

impl Files {
    fn new(main: &str) -> Self {
        let files = Self {
            dir: TempDir::new().expect("a temporary folder can be made"),
        };
        files.write("nri-host.toml", &files.with_dirs(main));
        for library in ["liba.so", "libb.so"] {
            files.write(&format!("lib/{library}"), "");
        }
        files
    }

    /// Adds `conf.d/NAME`.
    fn drop_in(self, name: &str, text: &str) -> Self {
        self.write(&format!("conf.d/{name}"), text);
        self
    }

    /// Puts the folder of libraries in place of `LIB`.
    fn with_dirs(&self, text: &str) -> String {
        text.replace("LIB", &self.path("lib").display().to_string())
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is below the folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn load(&self) -> Loaded {
        load(&self.path("nri-host.toml"), &Overrides::default())
    }

    /// The mistakes, with the folder left out.
    fn mistakes(&self) -> Vec<String> {
        let dir = format!("{}/", self.dir.path().display());
        let mistakes = self.load().mistakes;
        mistakes
            .iter()
            .map(|mistake| mistake.to_string().replace(&dir, ""))
            .collect()
    }

    fn warnings(&self) -> Vec<String> {
        let dir = format!("{}/", self.dir.path().display());
        let warnings = self.load().warnings;
        warnings
            .iter()
            .map(|warning| warning.to_string().replace(&dir, ""))
            .collect()
    }

    fn config(&self) -> Config {
        let loaded = self.load();
        assert!(loaded.mistakes.is_empty(), "{:#?}", self.mistakes());
        loaded.config.expect("there are no mistakes")
    }
}

/// A main file in which the libraries are found.
fn with_components(components: &str) -> Files {
    Files::new(&format!("[host]\ncomponent_dirs = [\"LIB\"]\n{components}"))
}

/// Line 3 is the first of these.
const A: &str = "[[component]]\nname = \"a\"\nindex = 10\nlibrary = \"liba.so\"\n";

fn names(loaded: &Loaded) -> Vec<&str> {
    let config = loaded
        .config
        .as_ref()
        .expect("the host itself is configured well");
    config
        .components
        .iter()
        .map(|component| component.name.as_str())
        .collect()
}

fn broken(loaded: &Loaded) -> Vec<(Option<&str>, Option<u8>)> {
    let broken = loaded.broken.iter();
    broken
        .map(|broken| (broken.name.as_deref(), broken.index))
        .collect()
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let files = Files::new("");
    let config = files.config();
    assert_eq!(config.runtime, RuntimeConfig::default());
    assert_eq!(config.host, HostConfig::default());
    assert!(config.components.is_empty());
    assert_eq!(
        files.warnings(),
        ["nri-host.toml: no component is configured"]
    );
}

#[test]
fn every_key_is_read() {
    let files = Files::new(
        r#"
[runtime]
socket = "/run/other/nri.sock"
expect_runtime = "containerd"
[host]
component_dirs = ["/nowhere", "LIB"]
runtime_dir = "/run/x"
state_dir = "/var/lib/x"
fail_exempt_namespaces = ["kube-system", "storage"]
log = "debug"
[[component]]
name = "dev_ice.injector+1-x"
index = 7
library = "libb.so"
enabled = true
timeout = "500ms"
sync_timeout = "2s"
on_failure = "fail"
required = true
isolation = "in-process"
[component.config]
allow = ["/dev/fuse"]
since = 1979-05-27
limit = 1.5
[component.config.deep]
flag = true
"#,
    );
    let config = files.config();
    assert_eq!(config.runtime.socket, Path::new("/run/other/nri.sock"));
    assert_eq!(config.runtime.expect_runtime.as_deref(), Some("containerd"));
    assert_eq!(
        config.host.component_dirs,
        [PathBuf::from("/nowhere"), files.path("lib")]
    );
    assert_eq!(config.host.runtime_dir, Path::new("/run/x"));
    assert_eq!(
        config.host.admin_socket(),
        Path::new("/run/x/nri-host.sock")
    );
    assert_eq!(config.host.state_dir, Path::new("/var/lib/x"));
    assert_eq!(
        config.host.fail_exempt_namespaces,
        ["kube-system", "storage"]
    );
    assert_eq!(config.host.log, LevelFilter::DEBUG);
    let [component] = &config.components[..] else {
        panic!("there is one component: {config:?}");
    };
    assert_eq!(component.plugin_name(), "07-dev_ice.injector+1-x");
    assert_eq!(component.library, files.path("lib/libb.so"));
    assert!(component.enabled && component.required);
    assert_eq!(component.timeout, Some(Duration::from_millis(500)));
    assert_eq!(component.sync_timeout, Some(Duration::from_secs(2)));
    assert_eq!(component.on_failure, OnFailure::Fail);
    assert_eq!(component.isolation, Isolation::InProcess);
    assert_eq!(
        serde_json::Value::Object(component.config.clone()),
        json!({
            "allow": ["/dev/fuse"],
            "since": "1979-05-27",
            "limit": 1.5,
            "deep": {"flag": true},
        })
    );
}

#[test]
fn flags_win_over_the_file() {
    let files = Files::new("[runtime]\nsocket = \"/run/a.sock\"\n[host]\nlog = \"warn\"\n");
    let overrides = Overrides {
        socket: Some("/run/b.sock".into()),
        log: Some(LevelFilter::TRACE),
    };
    let config = load(&files.path("nri-host.toml"), &overrides)
        .config
        .unwrap();
    assert_eq!(config.runtime.socket, Path::new("/run/b.sock"));
    assert_eq!(config.host.log, LevelFilter::TRACE);
}

#[test]
fn a_relative_socket_on_the_command_line_is_taken_from_the_current_folder() {
    let overrides = Overrides {
        socket: Some("nri.sock".into()),
        log: None,
    };
    let config = load(&Files::new("").path("nri-host.toml"), &overrides)
        .config
        .unwrap();
    assert_eq!(
        config.runtime.socket,
        std::env::current_dir().unwrap().join("nri.sock")
    );
}

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
fn a_drop_in_adds_a_component() {
    let files = with_components(A).drop_in(
        "20-b.toml",
        "[[component]]\nname = \"b\"\nindex = 20\nlibrary = \"libb.so\"\n",
    );
    let components = files.config().components;
    let plugins: Vec<_> = components
        .iter()
        .map(|component| component.plugin_name())
        .collect();
    assert_eq!(plugins, ["10-a", "20-b"]);
}

#[test]
fn a_drop_in_changes_the_keys_that_it_gives() {
    let files = with_components(&format!(
        "{A}timeout = \"1s\"\n[component.config]\nkeep = 1\nlist = [1, 2]\ndeep = {{ x = 1, y = 2 }}\n"
    ))
    .drop_in(
        "90-admin.toml",
        "[[component]]\nname = \"a\"\nrequired = true\n[component.config]\nlist = [3]\n\
         [component.config.deep]\ny = 3\n",
    )
    .drop_in("95-last.toml", "[[component]]\nname = \"a\"\nindex = 12\n");
    let [component] = &files.config().components[..] else {
        panic!("there is one component");
    };
    assert_eq!(component.index, 12);
    assert!(component.required);
    assert_eq!(component.timeout, Some(Duration::from_secs(1)));
    assert_eq!(
        serde_json::Value::Object(component.config.clone()),
        json!({"keep": 1, "list": [3], "deep": {"x": 1, "y": 3}})
    );
    for (key, place) in [
        ("keep", "nri-host.toml:9"),
        ("list[0]", "conf.d/90-admin.toml:5"),
        ("deep.x", "nri-host.toml:11"),
        ("deep.y", "conf.d/90-admin.toml:7"),
        ("deep.z", "nri-host.toml:11"),
        ("nothing", "nri-host.toml:8"),
        ("", "nri-host.toml:8"),
    ] {
        let location = component.locate(key).to_string();
        assert!(location.ends_with(place), "{key:?}: {location}");
    }
}

#[test]
fn a_key_without_a_config_table_is_located_at_the_component() {
    let files = with_components(A);
    let location = files.config().components[0].locate("allow[0]");
    assert_eq!(location.line, Some(3));
}

#[test]
fn drop_ins_are_read_in_name_order_and_unfinished_files_are_not() {
    let index = |index: u8| format!("[[component]]\nname = \"a\"\nindex = {index}\n");
    let files = with_components(A)
        .drop_in("20.toml", &index(22))
        .drop_in("10.toml", &index(21))
        .drop_in(".30.toml", &index(23))
        .drop_in("40.toml.bak", &index(24))
        .drop_in("50.toml~", &index(25));
    assert_eq!(files.config().components[0].index, 22);
}

#[test]
fn a_component_can_be_switched_off_whatever_is_wrong_with_it() {
    let off = "[[component]]\nname = \"a\"\nenabled = false\n";
    let files = with_components(A).drop_in("90.toml", off);
    assert!(!files.config().components[0].enabled);

    let files = with_components(&A.replace("liba", "libx")).drop_in("90.toml", off);
    assert!(!files.config().components[0].enabled);

    let files = with_components(&format!("{A}tiemout = 1\n")).drop_in("90.toml", off);
    let loaded = files.load();
    assert_eq!((loaded.mistakes.len(), loaded.broken.len()), (1, 0));
    assert_eq!(names(&loaded), ["a"]);
}

#[test]
fn switching_off_what_is_not_there_is_only_odd() {
    let off = "[[component]]\nname = \"gone\"\nenabled = false\n";
    let files = with_components(A).drop_in("90.toml", off);
    assert_eq!(files.config().components.len(), 1);
    assert_eq!(
        files.warnings(),
        ["conf.d/90.toml:1: component \"gone\": switches off a component that no file defines"]
    );
}

#[test]
fn a_drop_in_for_a_misspelt_component_names_the_one_that_was_meant() {
    let files = with_components(&A.replace("\"a\"", "\"device-injector\"")).drop_in(
        "90.toml",
        "[[component]]\nname = \"device-injectr\"\nrequired = true\n",
    );
    let mistakes = files.mistakes();
    assert_eq!(mistakes.len(), 2);
    for mistake in mistakes {
        assert!(
            mistake.ends_with("did you mean \"device-injector\"?"),
            "{mistake}"
        );
    }
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
fn one_name_may_stand_at_two_indexes_but_a_drop_in_must_say_which_it_means() {
    let twice = format!("{A}{}", A.replace("10", "90"));
    let change = "[[component]]\nname = \"a\"\nrequired = true\n";
    let files = with_components(&twice).drop_in("50.toml", &format!("{change}index = 90\n"));
    let required: Vec<_> = files
        .config()
        .components
        .iter()
        .map(|c| c.required)
        .collect();
    assert_eq!(required, [false, true]);

    let files = with_components(&twice).drop_in("50.toml", change);
    assert_eq!(
        files.mistakes(),
        [
            "conf.d/50.toml:1: component \"a\": 2 components have this name (nri-host.toml:3, \
          nri-host.toml:7): give the index of one of them"
        ]
    );
    assert_eq!(files.load().broken.len(), 2);
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
fn a_drop_in_that_replaces_a_library_is_odd() {
    let files = with_components(A).drop_in("50.toml", &A.replace("liba", "libb"));
    assert!(files.config().components[0].library.ends_with("libb.so"));
    assert_eq!(
        files.warnings(),
        [
            "conf.d/50.toml:4: component \"a\": library: takes the place of the library named at \
          nri-host.toml:6: that one is not run under this name"
        ]
    );
}

#[test]
fn a_component_whose_drop_in_cannot_be_understood_does_not_run_without_it() {
    let files = with_components(&format!(
        "{A}{}",
        A.replace("\"a\"", "\"b\"").replace("10", "11")
    ))
    .drop_in(
        "50-a.toml",
        "[[component]]\nname = \"a\"\nenabled = fasle\n",
    );
    let loaded = files.load();
    assert_eq!(names(&loaded), ["b"]);
    assert_eq!(broken(&loaded), [(Some("a"), Some(10))]);
    assert_eq!(loaded.mistakes.len(), 1, "{:?}", files.mistakes());
    assert!(matches!(loaded.mistakes[0].scope, Scope::DropIn(_)));
    assert_eq!(loaded.mistakes[0].location.line, Some(3));
}

#[test]
fn an_unreadable_drop_in_is_told_and_costs_nothing_else() {
    let files = with_components(A).drop_in("50.toml", "???");
    fs::create_dir(files.path("conf.d/60.toml")).unwrap();
    fs::write(files.path("conf.d/70.toml"), b"name = \"\xff\"").unwrap();
    fs::write(files.path("conf.d/80.toml"), " ".repeat((1 << 20) + 1)).unwrap();
    let loaded = files.load();
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(broken(&loaded), [(None, None); 4]);
    let mistakes = files.mistakes();
    assert!(
        mistakes[0].starts_with("conf.d/50.toml:1: is not valid TOML: "),
        "{mistakes:?}"
    );
    assert_eq!(
        mistakes[mistakes.len() - 3..],
        [
            "conf.d/60.toml: cannot be read: Is a directory (os error 21)",
            "conf.d/70.toml: is not UTF-8 text from byte 8 on",
            "conf.d/80.toml: is larger than 1048576 bytes",
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
        mistakes[0].starts_with("nri-host.toml:2: is not valid TOML: "),
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
        ["nri-host.toml:2: \\u{1b}[31m: unknown key"]
    );
}

mod shipped {
    use super::*;

    /// The file as packages install it.
    const TEXT: &str = include_str!("../../config/nri-host.toml");

    /// With every key switched on: settings stand behind a `#` without a space.
    fn uncommented() -> String {
        let setting = |line: &str| {
            let key = line
                .strip_prefix('#')
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '['));
            key.unwrap_or(line).to_owned()
        };
        TEXT.lines().map(|line| setting(line) + "\n").collect()
    }

    #[test]
    fn as_it_is_it_holds_the_defaults() {
        let config = Files::new(TEXT).config();
        assert_eq!(config.runtime, RuntimeConfig::default());
        assert_eq!(config.host, HostConfig::default());
        assert!(config.components.is_empty());
    }

    #[test]
    fn the_values_in_it_are_the_defaults() {
        let files = Files::new(&uncommented().replace("/usr/lib/nri-host/components", "LIB"));
        files.write("lib/libnri_device_injector.so", "");
        let mut config = files.config();
        config.host.component_dirs = HostConfig::default().component_dirs;
        assert_eq!(config.host, HostConfig::default());
        assert_eq!(config.runtime.socket, RuntimeConfig::default().socket);

        let short = with_components(
            "[[component]]\nname = \"device-injector\"\nindex = 10\nlibrary = \"liba.so\"\n",
        );
        let [shown] = &config.components[..] else {
            panic!("there is one component: {config:?}");
        };
        let default = &short.config().components[0];
        assert_eq!(shown.enabled, default.enabled);
        assert_eq!(shown.on_failure, default.on_failure);
        assert_eq!(shown.required, default.required);
        assert_eq!(shown.isolation, default.isolation);
    }

    #[test]
    fn it_shows_every_key() {
        let text = uncommented();
        let missing: Vec<_> = [
            "socket",
            "expect_runtime",
            "component_dirs",
            "runtime_dir",
            "state_dir",
            "fail_exempt_namespaces",
            "log",
            "name",
            "index",
            "library",
            "enabled",
            "timeout",
            "sync_timeout",
            "on_failure",
            "required",
            "isolation",
        ]
        .into_iter()
        .filter(|key| {
            !text
                .lines()
                .any(|line| line.starts_with(&format!("{key} = ")))
        })
        .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
