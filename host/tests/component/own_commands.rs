//! `nri-host component`: the commands that components bring with them.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Output, Stdio};

use crate::commands::{configured, nri_host, program, text};
use crate::fixture::Workshop;

const CONFIG: &str = r#"
[host]
component_dirs = ["LIB"]
state_dir = "LIB/state"
[[component]]
name = "talker"
index = 10
library = "libtalker.so"
enabled = false
config = { word = "hello" }
[[component]]
name = "silent"
index = 20
library = "libsilent.so"
[[component]]
name = "text"
index = 30
library = "libtext.so"
[[component]]
name = "twin"
index = 40
library = "libsilent.so"
[[component]]
name = "twin2"
index = 41
library = "libsilent.so"
[[component]]
name = "broken"
library = "libtalker.so"
[[component]]
name = "half"
index = 50
"#;

/// Commands that do what their names say.
const TALKER: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>

static int32_t say(const nrih_command_call *call, uint32_t stream, const char *text) {
  return call->write(call->ctx, stream, (const uint8_t *)text, strlen(text));
}

static void list(void *ctx, void (*tell)(void *, const char *, size_t, const char *, size_t)) {
  tell(ctx, "args", 4, "WORDS...: shows the call", 24);
  tell(ctx, "exit", 4, "ends\nthe process", 16);
}

static int32_t run(const nrih_command_call *call) {
  const char *name = call->args[0].data;
  size_t len = call->args[0].len;
#define IS(text) (len == strlen(text) && memcmp(name, text, len) == 0)
  if (IS("args")) {
    for (size_t i = 0; i < call->args_count; i++) {
      call->write(call->ctx, NRIH_STREAM_OUTPUT, (const uint8_t *)call->args[i].data,
                  call->args[i].len);
      say(call, NRIH_STREAM_OUTPUT, "|");
    }
    call->write(call->ctx, NRIH_STREAM_OUTPUT, (const uint8_t *)call->config, call->config_len);
    say(call, NRIH_STREAM_ERROR, "done\n");
    return 255;
  }
  if (IS("input")) {
    char line[80];
    while (fgets(line, sizeof line, stdin)) say(call, NRIH_STREAM_OUTPUT, line);
    return 0;
  }
  if (IS("forever")) {
    while (say(call, NRIH_STREAM_OUTPUT, "more\n") == NRIH_OK) { }
    return NRIH_FAILED;
  }
  if (IS("find")) {
    while (say(call, NRIH_STREAM_OUTPUT, "found\n") == NRIH_OK) { }
    return 9;
  }
  if (IS("status")) return 256;
  if (IS("stream")) return say(call, 3, "x") == NRIH_UNSUPPORTED ? 0 : 1;
  if (IS("exit")) exit(3);
  if (IS("term")) raise(SIGTERM);
  return NRIH_UNSUPPORTED;
}

static const nrih_command COMMANDS = { sizeof(nrih_command), 0, list, run };

const void *interface(const char *id, size_t len) {
  if (len == strlen(NRIH_COMMAND_ID) && memcmp(id, NRIH_COMMAND_ID, len) == 0) return &COMMANDS;
  return 0;
}
"#;

fn workshop() -> Workshop {
    let workshop = configured(CONFIG);
    workshop.component("lib/libsilent.so", &[]);
    workshop.file("lib/libtext.so", b"#!/bin/sh\n");
    workshop.component_with("lib/libtalker.so", TALKER, &["-DGET_INTERFACE=interface"]);
    workshop
}

fn component(workshop: &Workshop, args: &[&str]) -> Output {
    let config = workshop.path("nri-host.toml").display().to_string();
    nri_host(&[&["--config", &config, "component"], args].concat())
}

/// Exit status, standard output and standard error.
fn told(output: &Output) -> (Option<i32>, String, String) {
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_component_that_is_switched_off_lists_its_commands_with_one_line_each() {
    let listed = told(&component(&workshop(), &["talker"]));
    let table = "args  WORDS...: shows the call\nexit  ends the process\n";
    assert_eq!(listed, (Some(0), table.into(), String::new()));
}

#[test]
fn a_command_gets_its_arguments_as_they_are_and_the_components_configuration() {
    let workshop = workshop();
    let args = ["args", "--config", "-x", "--", "ä b", ""];
    for name in ["talker", "10-talker"] {
        let ran = told(&component(&workshop, &[&[name], &args[..]].concat()));
        let output = r#"args|--config|-x|--|ä b||{"word":"hello"}"#;
        assert_eq!(ran, (Some(255), output.into(), "done\n".into()));
    }
}

#[test]
fn a_command_reads_standard_input() {
    let workshop = workshop();
    let mut child = program()
        .args(["component", "talker", "input"])
        .env("NRI_HOST_CONFIG", workshop.path("nri-host.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut input = child.stdin.take().expect("it is a pipe");
    input.write_all(b"one\ntwo\n").expect("the command reads");
    drop(input);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(text(&output.stdout), "one\ntwo\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let workshop = workshop();
    for (command, status) in [("forever", 0), ("find", 9)] {
        let mut child = program()
            .args(["component", "talker", command])
            .env("NRI_HOST_CONFIG", workshop.path("nri-host.toml"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(status), String::new())
        );
    }
}

#[test]
fn a_command_ends_with_its_own_status_or_signal() {
    let workshop = workshop();
    assert_eq!(
        component(&workshop, &["talker", "exit"]).status.code(),
        Some(3)
    );
    assert_eq!(
        component(&workshop, &["talker", "term"]).status.signal(),
        Some(15)
    );
    assert_eq!(
        component(&workshop, &["talker", "status"]).status.code(),
        Some(1)
    );
    assert_eq!(
        component(&workshop, &["talker", "stream"]).status.code(),
        Some(0)
    );
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let workshop = workshop();
    for (args, status, words) in [
        (
            &["talker", "sing"][..],
            64,
            "component \"talker\" has no command \"sing\"; it has\nargs  WORDS...: shows the call\n",
        ),
        (
            &["silent"],
            64,
            "component \"silent\" has no commands of its own\n",
        ),
        (
            &["talkr"],
            64,
            "there is no component \"talkr\"; did you mean \"talker\"?\n",
        ),
        (
            &["broken", "args"],
            78,
            "component \"broken\" has mistakes in its configuration:\n",
        ),
        (
            &["50-half"],
            78,
            "component \"50-half\" has mistakes in its configuration:\n",
        ),
        (&["text"], 65, "lib/libtext.so: is not an ELF file\n"),
        (&[], 64, "Usage: nri-host component"),
    ] {
        let (code, output, errors) = told(&component(&workshop, args));
        assert_eq!((code, output.as_str()), (Some(status), ""), "{args:?}");
        assert!(errors.contains(words), "{args:?}: {errors}");
    }
}

#[test]
fn without_a_configuration_there_are_no_components() {
    let workshop = configured("[host]\nlog = 5\n");
    let (code, _, errors) = told(&component(&workshop, &["talker"]));
    assert_eq!(code, Some(78));
    assert!(errors.contains("nri-host.toml:2"), "{errors}");
}
