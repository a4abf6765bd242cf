//! How the files of `conf.d` add to the main file.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use nri_host::config::Scope;
use serde_json::json;

use crate::fixture::{A, broken, names, with_components};

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
fn a_component_that_a_wrong_file_may_have_switched_on_is_not_taken_for_switched_off() {
    let change = "[[component]]\nname = \"a\"\n";
    for wrong in [
        "enabeld = true\n",
        "enabled = true\ntimeout = 1\n",
        "enabled = true\n[[\n",
    ] {
        let files = with_components(&format!("{A}enabled = false\n"))
            .drop_in("90.toml", &format!("{change}{wrong}"));
        let loaded = files.load();
        assert_eq!(loaded.broken.len(), 1, "{wrong:?}");
        assert_eq!(loaded.broken[0].name.as_deref(), Some("a"), "{wrong:?}");
        assert_eq!(names(&loaded), [""; 0], "{wrong:?}");

        let files = files.drop_in("95.toml", &format!("{change}enabled = false\n"));
        assert_eq!(names(&files.load()), ["a"], "{wrong:?}, and then off");
    }
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
    // Whoever opens it to read waits for a writer.
    mkfifo(&files.path("conf.d/90.toml"), Mode::S_IRUSR).unwrap();
    symlink("nowhere", files.path("conf.d/95.toml")).unwrap();
    let loaded = files.load();
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(broken(&loaded), [(None, None); 6]);
    let mistakes = files.mistakes();
    assert!(
        mistakes[0].starts_with("conf.d/50.toml:1: is not valid TOML (column 4): "),
        "{mistakes:?}"
    );
    assert_eq!(
        mistakes[mistakes.len() - 5..],
        [
            "conf.d/60.toml: is not a regular file",
            "conf.d/70.toml: is not UTF-8 text from byte 8 on",
            "conf.d/80.toml: is larger than 1048576 bytes",
            "conf.d/90.toml: is not a regular file",
            "conf.d/95.toml: cannot be read: No such file or directory (os error 2)",
        ]
    );
}
