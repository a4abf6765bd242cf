//! `nri-host check` and `nri-host inspect`, as an admin sees them.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::fixture::{Workshop, note_name, patched, sound};

/// Runs the program without anything of this process' environment that it listens to.
pub(crate) fn nri_host(args: &[&str]) -> Output {
    program()
        .args(args)
        .output()
        .expect("the program can be started")
}

/// The program, to be given arguments.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nri-host"));
    for name in ["NRI_HOST_CONFIG", "NRI_HOST_SOCKET", "NRI_HOST_LOG"] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it prints text")
}

/// A workshop with a configuration in which `LIB` is the folder of libraries.
pub(crate) fn configured(config: &str) -> Workshop {
    let workshop = Workshop::new();
    let lib = workshop.path("lib");
    fs::create_dir(&lib).expect("a folder can be made");
    let config = config.replace("LIB", &lib.display().to_string());
    workshop.file("nri-host.toml", config.as_bytes());
    workshop
}

/// Checks the configuration. Returns the exit status, and the lines with the folder left out.
pub(crate) fn check(workshop: &Workshop) -> (Option<i32>, Vec<String>) {
    let config = workshop.path("nri-host.toml").display().to_string();
    let output = nri_host(&["check", "--config", &config]);
    let folder = fs::canonicalize(workshop.path("")).expect("the folder is there");
    let lines = text(&output.stdout).replace(&format!("{}/", folder.display()), "");
    (
        output.status.code(),
        lines.lines().map(str::to_owned).collect(),
    )
}

const TWO: &str = r#"
[host]
component_dirs = ["LIB"]
[[component]]
name = "a"
index = 10
library = "liba.so"
[[component]]
name = "b"
index = 20
library = "libb.so"
"#;

#[test]
fn a_sound_configuration_is_checked() {
    let workshop = configured(TWO);
    workshop.component("lib/liba.so", &[]);
    workshop.component(
        "lib/libb.so",
        &["-DVERSION=\"2\"", "-DID=\"dev.example.b\""],
    );
    let (status, lines) = check(&workshop);
    assert_eq!(
        lines,
        [
            "OK: 10-a: dev.example.fixture 1.2.3 (lib/liba.so)",
            "OK: 20-b: dev.example.b 2 (lib/libb.so)",
            "2 components OK, 0 mistakes, 0 warnings",
        ]
    );
    assert_eq!(status, Some(0));
}

#[test]
fn a_library_that_cannot_be_loaded_is_a_mistake() {
    let workshop = configured(TWO);
    let code =
        "#include <stdlib.h>\n__attribute__((constructor)) static void no(void) { exit(3); }";
    workshop.component_with("lib/liba.so", code, &[]);
    workshop.component("lib/libb.so", &[]);
    let (status, lines) = check(&workshop);
    assert_eq!(
        lines,
        [
            "nri-host.toml:7: component \"a\": library: lib/liba.so: exited with status 3 in its \
             constructors; it was not loaded into the host",
            "OK: 20-b: dev.example.fixture 1.2.3 (lib/libb.so)",
            "1 component OK, 1 mistake, 0 warnings",
        ]
    );
    assert_eq!(status, Some(78));
}

#[test]
fn mistakes_in_files_and_in_libraries_are_told_in_one_run() {
    let workshop = configured(&format!(
        "{TWO}timout = \"1s\"\n[[component]]\nname = \"c\"\nindex = 30\nlibrary = \"libc.so\"\n\
         [[component]]\nname = \"d\"\nindex = 30\nenabled = false\nlibrary = \"libd.so\"\n"
    ));
    let other_abi = patched(sound(), note_name(sound()) + 8, &2u16.to_le_bytes());
    workshop.file("lib/liba.so", &other_abi);
    workshop.file("lib/libb.so", sound());
    workshop.component("lib/libc.so", &["-Wl,-rpath,/opt"]);
    let (status, lines) = check(&workshop);
    assert_eq!(
        lines,
        [
            "nri-host.toml:12: component \"b\": timout: unknown key; did you mean \"timeout\"?",
            "nri-host.toml:7: component \"a\": library: lib/liba.so: is built for ABI 2; this \
             host has ABI 1",
            "warning: nri-host.toml:16: component \"c\": library: lib/libc.so: looks for its \
             libraries in /opt first",
            "OK: 30-c: dev.example.fixture 1.2.3 (lib/libc.so)",
            "disabled: 30-d",
            "1 component OK, 2 mistakes, 1 warning",
        ]
    );
    assert_eq!(status, Some(78));
}

#[test]
fn libraries_that_do_not_get_along_are_found_without_loading_them() {
    for (flag, reason) in [
        (
            "NRIH_FLAG_ONE_INSTANCE",
            "says that it can serve one component only",
        ),
        (
            "NRIH_FLAG_GO_RUNTIME",
            "carries a Go runtime, as does the library of 10-a",
        ),
    ] {
        let workshop = configured(TWO);
        let flags = format!("-DFLAGS={flag}");
        let component = workshop.component("lib/liba.so", &[&flags]);
        if flag == "NRIH_FLAG_GO_RUNTIME" {
            workshop.component("lib/libb.so", &[&flags, "-DVERSION=\"2\""]);
        } else {
            fs::copy(component, workshop.path("lib/libb.so")).expect("it can be copied");
        }
        let (status, lines) = check(&workshop);
        assert_eq!(
            lines[0],
            "OK: 10-a: dev.example.fixture 1.2.3 (lib/liba.so)"
        );
        assert!(lines[1].contains(reason), "{lines:?}");
        assert_eq!((status, lines.len()), (Some(78), 3));
    }
}

#[test]
fn a_configuration_that_cannot_be_read_fails_the_check() {
    let output = nri_host(&["check", "--config", "/nowhere/nri-host.toml"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stdout).starts_with("/nowhere/nri-host.toml: cannot be read"));
}

#[test]
fn inspect_says_what_a_file_is() {
    let workshop = Workshop::new();
    let args = ["-DFLAGS=NRIH_FLAG_ONE_INSTANCE", "-Wl,-rpath,/opt"];
    let path = workshop.component("a.so", &args).display().to_string();
    let output = nri_host(&["inspect", &path]);
    let printed = text(&output.stdout);
    for line in [
        "  component   dev.example.fixture 1.2.3",
        "  ABI         1.0 (host 1.0 or newer)",
        "  flags       one-instance",
        "  libraries   libc.so.6",
        "  warning     looks for its libraries in /opt first",
    ] {
        assert!(
            printed.lines().any(|printed| printed == line),
            "{line:?} in {printed}"
        );
    }
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn inspect_goes_on_after_a_file_that_is_refused() {
    let workshop = Workshop::new();
    let good = workshop.file("good.so", sound()).display().to_string();
    let bad = workshop
        .file("bad.so", b"#!/bin/sh\n")
        .display()
        .to_string();
    let output = nri_host(&["inspect", &bad, &good]);
    let printed = text(&output.stdout);
    assert!(printed.starts_with(&format!("{bad}\n  refused     is not an ELF file\n\n")));
    assert!(
        printed.contains("  component   dev.example.fixture 1.2.3\n"),
        "{printed}"
    );
    assert_eq!(output.status.code(), Some(65));

    let output = nri_host(&["inspect", "--json", &bad, &good]);
    let reports: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(reports[0]["path"], bad.as_str());
    assert_eq!(reports[0]["refused"], "is not an ELF file");
    assert_eq!(reports[1]["id"], "dev.example.fixture");
    assert_eq!(reports[1]["abi"], "1.0");
    assert_eq!(reports[1]["libraries"], serde_json::json!(["libc.so.6"]));
    assert_eq!(reports[1]["size"], sound().len());
    assert_eq!(reports[1]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(output.status.code(), Some(65));
}

#[test]
fn inspect_without_a_file_is_a_mistake_of_the_command_line() {
    assert_eq!(nri_host(&["inspect"]).status.code(), Some(64));
}
