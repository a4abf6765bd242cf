use std::fs;
use std::path::Path;

use super::*;
use crate::config::{Loaded, Overrides, load};

/// A configuration of components `(file, text)`, whose library is there. `main` names the main file.
fn files(folder: &Path, files: &[(&str, &str)]) -> Loaded {
    let _ = fs::remove_dir_all(folder.join("conf.d"));
    fs::create_dir_all(folder.join("conf.d")).unwrap();
    fs::write(folder.join("lib.so"), "").unwrap();
    let library = format!("library = {:?}", folder.join("lib.so"));
    for (name, text) in files {
        let text = text.replace("LIB", &library);
        let path = match *name {
            "main" => folder.join("nri-host.toml"),
            name => folder.join("conf.d").join(name),
        };
        fs::write(path, text).unwrap();
    }
    load(&folder.join("nri-host.toml"), &Overrides::default())
}

/// What becomes of whom, in words.
fn words(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let old = files(folder.path(), before).config.unwrap();
    let new = files(folder.path(), after);
    let known: Vec<Known<'_>> = old
        .components
        .iter()
        .map(|config| Known {
            config,
            runs: config.enabled,
        })
        .collect();
    let plan = plan(&known, &new.config.unwrap().components, &new.broken);
    let name = |place: usize| known[place].config.plugin_name();
    let mut words = Vec::new();
    for (place, config) in plan.described {
        let now = config.plugin_name();
        words.push(match place {
            Some(place) => format!("{} is {now}", name(place)),
            None => format!("{now} comes"),
        });
    }
    words.extend(
        plan.kept
            .iter()
            .map(|(at, _)| format!("{} stays", name(*at))),
    );
    words.extend(plan.gone.iter().map(|at| format!("{} goes", name(*at))));
    words.extend(
        plan.broken
            .iter()
            .map(|broken| format!("{} is broken", broken.name.as_deref().unwrap_or("a file"))),
    );
    words.sort();
    words
}

const A: &str = "[[component]]\nname = \"a\"\nindex = 10\nLIB\n";
const B: &str = "[[component]]\nname = \"b\"\nindex = 20\nLIB\n";

fn both() -> String {
    format!("{A}{B}")
}

#[test]
fn who_is_described_is_or_comes_and_who_is_not_goes() {
    assert_eq!(
        words(&[("main", A)], &[("main", B)]),
        ["10-a goes", "20-b comes"]
    );
    assert_eq!(words(&[("main", A)], &[("main", A)]), ["10-a is 10-a"]);
}

#[test]
fn another_index_is_no_other_component_where_the_name_is_the_only_one() {
    let moved = A.replace("10", "30");
    assert_eq!(words(&[("main", A)], &[("main", &moved)]), ["10-a is 30-a"]);
    let twice = format!("{A}{}", A.replace("10", "20"));
    let other = format!("{}{}", A.replace("10", "30"), A.replace("10", "40"));
    assert_eq!(
        words(&[("main", &twice)], &[("main", &other)]),
        ["10-a goes", "20-a goes", "30-a comes", "40-a comes"]
    );
}

#[test]
fn who_is_described_badly_stays_and_others_do_not_care() {
    let both = both();
    let bad = both.replace("index = 10", "index = 10\ntimeout = \"soon\"");
    assert_eq!(
        words(&[("main", &both)], &[("main", &bad)]),
        ["10-a stays", "20-b is 20-b"]
    );
    let bad = both.replace("index = 10", "index = 1000");
    assert_eq!(
        words(&[("main", &both)], &[("main", &bad)]),
        ["10-a stays", "20-b is 20-b"]
    );
    assert_eq!(
        words(&[("main", B)], &[("main", &bad)]),
        ["20-b is 20-b", "a is broken"]
    );
}

#[test]
fn another_of_the_same_name_that_is_described_badly_costs_the_good_one_nothing() {
    let bad = format!("{A}{}", A.replace("10", "11\ntimeout = \"soon\""));
    assert_eq!(
        words(&[("main", A)], &[("main", &bad)]),
        ["10-a is 10-a", "a is broken"]
    );
}

#[test]
fn whom_a_file_that_cannot_be_read_had_a_part_in_stays() {
    let off = "[[component]]\nname = \"a\"\nenabled = false\n";
    let broken = ("x.toml", "\u{1}");
    assert_eq!(
        words(&[("main", A), ("x.toml", B)], &[("main", A), broken]),
        ["10-a is 10-a", "20-b stays", "a file is broken"]
    );
    // It is not to run, as far as anybody knows.
    assert_eq!(
        words(
            &[("main", &both()), ("x.toml", off)],
            &[("main", &both()), broken]
        ),
        ["10-a stays", "20-b is 20-b", "a file is broken"]
    );
}

#[test]
fn a_table_that_may_have_been_meant_to_be_a_component_keeps_the_one_that_is_missed() {
    let after = both().replacen("[[component]]", "[[componnent]]", 1);
    assert_eq!(
        words(&[("main", &both())], &[("main", &after)]),
        ["10-a stays", "20-b is 20-b", "a file is broken"]
    );
}
