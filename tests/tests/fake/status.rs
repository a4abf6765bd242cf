//! `nri-host status`, as people and scripts see it.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use nri_host_tests::host::{Component, ComponentStatus, Host, State};
use nri_host_tests::patience::patiently;
use nri_host_tests::terminal::{Display, Terminal};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::scene::{SUBJECT, Scene, in_every_call};

/// Makes a command take the terminal for its own, so that Ctrl-C ends it.
const TAKES_TERMINAL: &[&str] = &["setsid", "--ctty"];

/// A command on a terminal.
fn on_terminal(host: &Host, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Terminal> {
    let mut command = host.command(TAKES_TERMINAL, arguments)?;
    // Programs take a CI for a terminal with colours.
    command.env("TERM", "xterm-256color").env_remove("CI");
    command.envs(environment.iter().copied());
    Terminal::run(command)
}

fn failing() -> Component {
    in_every_call(&json!({ "do": "error", "text": "out of tape" }))
}

#[tokio::test]
async fn colours_are_shown_on_a_terminal_that_has_them_unless_somebody_minds() -> Result<()> {
    let scene = Scene::new(Component::faulty(SUBJECT, 10, json!({}))).await?;
    scene.host.wait_state(SUBJECT, State::Active).await?;
    let environments: [&[(&str, &str)]; 4] = [
        &[],
        &[("NO_COLOR", "1")],
        &[("TERM", "dumb")],
        &[("CLICOLOR", "0")],
    ];
    for environment in environments {
        let terminal = on_terminal(&scene.host, &["status"], environment)?;
        let (status, display) = terminal.ended().await?;
        ensure!(status.success(), "{status}: {display:?}");
        let is_coloured = display.sent.contains("\x1b[32mactive");
        assert_eq!(is_coloured, environment.is_empty(), "{environment:?}");
        let row = display.screen.lines().find(|line| line.starts_with(" 10 "));
        let row = row.with_context(|| format!("no row in:\n{}", display.screen))?;
        assert!(row.starts_with(" 10 subject   active "), "{row}");
    }
    let piped = scene.host.run(&["status"]).await?.stdout;
    assert!(
        piped.contains("active") && !piped.contains('\x1b'),
        "{piped}"
    );
    let mut forced = scene.host.command(&[], &["status"])?;
    let forced = patiently("the table", forced.env("CLICOLOR_FORCE", "1").output()).await??;
    assert!(String::from_utf8_lossy(&forced.stdout).contains("\x1b[32mactive"));
    Ok(())
}

#[tokio::test]
async fn of_one_component_everything_is_shown_its_last_errors_first_of_all() -> Result<()> {
    let scene = Scene::new(failing()).await?;
    for _ in 0..2 {
        scene.create_container().await?;
    }
    let counted = |component: &ComponentStatus| component.count("failures") == Some(2);
    scene
        .host
        .wait_component(SUBJECT, "failing twice", counted)
        .await?;
    for name in [SUBJECT, "10-subject"] {
        let shown = scene.host.run(&["status", name]).await?;
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert_eq!(shown.stdout.matches("out of tape").count(), 2, "{shown:?}");
        for words in [
            "10-subject: active for ",
            "libnri_faulty.so\n",
            "RunPodSandbox, StopPodSandbox",
            "(errors 2)",
            " ago: CreateContainer for container server of pod shop/web-0: ",
        ] {
            assert!(shown.stdout.contains(words), "{words:?}: {}", shown.stdout);
        }
        assert!(!shown.stdout.contains("bystander"), "{}", shown.stdout);
    }
    let json = scene.host.run(&["status", SUBJECT, "--json"]).await?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    let names: Vec<_> = json["components"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|component| &component["name"])
        .collect();
    assert_eq!(names, [SUBJECT]);
    Ok(())
}

#[tokio::test]
async fn a_component_that_is_not_there_is_a_usage_error() -> Result<()> {
    let scene = Scene::new(failing()).await?;
    for arguments in [
        &["status", "subjcet"][..],
        &["status", "subjcet", "--ready"],
        &["status", "subjcet", "--watch"],
    ] {
        let finished = scene.host.run(arguments).await?;
        assert_eq!(finished.code, Some(64), "{finished:?}");
        let hint = "there is no component \"subjcet\"; did you mean \"subject\"?";
        assert!(finished.stderr.contains(hint), "{finished:?}");
    }
    let finished = scene.host.run(&["status", "--watch", "soon"]).await?;
    assert_eq!(finished.code, Some(64), "{finished:?}");
    Ok(())
}

#[tokio::test]
async fn scripts_learn_whether_the_host_or_a_component_is_ready() -> Result<()> {
    let subject = failing().quarantined_after(1).set("required", true);
    let scene = Scene::new(subject).await?;
    scene
        .host
        .wait_status("ready", |status| status.ready)
        .await?;
    let ready = async |arguments: &[&str]| {
        let finished = scene.host.run(arguments).await?;
        anyhow::Ok((finished.code, finished.stdout))
    };
    let yes = (Some(0), "ready\n".to_owned());
    assert_eq!(ready(&["status", "--ready"]).await?, yes);
    assert_eq!(ready(&["status", SUBJECT, "--ready"]).await?, yes);
    scene.create_container().await?;
    scene.host.wait_state(SUBJECT, State::Quarantined).await?;
    for arguments in [&["status", "--ready"][..], &["status", SUBJECT, "--ready"]] {
        let (code, said) = ready(arguments).await?;
        assert_eq!(code, Some(1));
        let why = "not ready: 10-subject is quarantined: 1 of its calls failed";
        assert!(said.starts_with(why), "{said}");
    }
    assert_eq!(ready(&["status", "bystander", "--ready"]).await?, yes);
    // However bad it is, the daemon has answered.
    assert_eq!(ready(&["status"]).await?.0, Some(0));
    let finished = Host::builder().run(&["status", "--ready"]).await?;
    assert_eq!(finished.code, Some(69), "{finished:?}");
    Ok(())
}

fn host_in(runtime_dir: &str, name: &str) -> Result<Host> {
    Host::builder()
        .set("runtime_dir", runtime_dir)
        .component(Component::faulty(name, 10, json!({})))
        .start()
}

#[tokio::test]
async fn who_watches_sees_the_daemon_go_and_come_back_until_ctrl_c() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime_dir = folder.path().to_string_lossy();
    let mut first = host_in(&runtime_dir, "first")?;
    let mut terminal = on_terminal(&first, &["status", "--watch", "0.1"], &[])?;
    // What came before is gone each time.
    let only = |words: [&'static str; 3]| {
        move |display: &Display| {
            let [is_there, others @ ..] = words.map(|words| display.screen.contains(words));
            is_there && !others.contains(&true)
        }
    };
    let [up, down, back] = [" 10 first ", "the daemon is not running", " 10 second "];
    terminal
        .shows("the first host", only([up, down, back]))
        .await?;
    first.stop().await?;
    terminal.shows("its end", only([down, up, back])).await?;
    let _second = host_in(&runtime_dir, "second")?;
    terminal
        .shows("the second host", only([back, up, down]))
        .await?;
    terminal.press(b"\x03")?;
    let (status, display) = terminal.ended().await?;
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32));
    assert!(display.screen.contains("second"), "{}", display.screen);
    Ok(())
}

#[tokio::test]
async fn what_watches_through_a_pipe_gets_one_block_or_document_after_another() -> Result<()> {
    let scene = Scene::new(failing()).await?;
    let first_lines = async |arguments: &[&str], count: usize| {
        let mut command = scene.host.command(&[], arguments)?;
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("it was asked for")?;
        let mut lines = BufReader::new(output).lines();
        let mut read = Vec::new();
        while read.len() < count {
            let line = patiently("a line", lines.next_line()).await??;
            read.push(line.context("it ended")?);
        }
        anyhow::Ok(read)
    };
    let documents = first_lines(&["status", "--json", "--watch", "0.1"], 2).await?;
    for document in documents {
        let status: Value = serde_json::from_str(&document)?;
        assert_eq!(status["components"][0]["name"], SUBJECT);
    }
    let lines = first_lines(&["status", "-w", "0.1"], 20).await?;
    let headings = lines.iter().filter(|line| line.starts_with("IDX ")).count();
    assert!(headings >= 2, "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains('\x1b')), "{lines:?}");
    Ok(())
}
