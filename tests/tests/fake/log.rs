//! `nri-host log`.

use std::process::Stdio;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::patience::patiently;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout};

use crate::scene::{SUBJECT, Scene, in_every_call};

fn failing() -> Component {
    in_every_call(&json!({ "do": "error", "text": "out of tape" }))
}

/// A component has failed once.
async fn failed_once() -> Result<Scene> {
    let scene = Scene::new(failing()).await?;
    scene.host.wait_state(SUBJECT, State::Active).await?;
    scene.create_container().await?;
    scene.host.logged("out of tape").await?;
    Ok(scene)
}

#[tokio::test]
async fn it_shows_what_the_component_and_the_host_said_of_it_and_of_no_other() -> Result<()> {
    let scene = failed_once().await?;
    for name in [SUBJECT, "10-subject"] {
        let shown = scene.host.run(&["log", name]).await?;
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
        let order: Vec<_> = ["creating", "active", "call failed"]
            .iter()
            .map(|words| shown.stdout.find(words))
            .collect();
        assert!(order.iter().all(Option::is_some), "{}", shown.stdout);
        assert!(order.is_sorted(), "{}", shown.stdout);
        for line in shown.stdout.lines() {
            assert!(line.contains(" 10-subject: "), "{line}");
        }
        let last = shown.stdout.lines().last().unwrap_or_default();
        assert!(last.contains(" WARN 10-subject: call failed "), "{last}");
        assert!(last.contains("out of tape"), "{last}");
    }
    Ok(())
}

#[tokio::test]
async fn the_last_lines_can_be_had_as_json() -> Result<()> {
    let scene = failed_once().await?;
    let all = scene.host.run(&["log", SUBJECT]).await?.stdout;
    let shown = scene
        .host
        .run(&["log", SUBJECT, "-n", "2", "--json"])
        .await?;
    let lines: Vec<Value> = shown
        .stdout
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    assert_eq!(lines.len(), 2, "{shown:?}");
    assert!(all.lines().count() > 2, "{all}");
    assert_eq!(lines[1]["level"], "warn");
    assert_eq!(lines[1]["component"], "10-subject");
    let time = |line: &Value| line["time_us"].as_u64();
    assert!(time(&lines[0]) < time(&lines[1]), "{lines:?}");
    Ok(())
}

#[tokio::test]
async fn components_of_one_name_share_what_is_shown_unless_one_is_meant() -> Result<()> {
    let host = Host::builder()
        .component(Component::faulty(SUBJECT, 10, json!({})))
        .component(Component::faulty(SUBJECT, 20, json!({})))
        .start()?;
    host.logged_times("creating", 2).await?;
    let shown = host.run(&["log", SUBJECT]).await?.stdout;
    assert!(shown.contains(" 10-subject: creating "), "{shown}");
    assert!(shown.contains(" 20-subject: creating "), "{shown}");
    let shown = host.run(&["log", "20-subject"]).await?.stdout;
    assert!(!shown.contains(" 10-subject: "), "{shown}");
    Ok(())
}

#[tokio::test]
async fn without_a_daemon_or_a_component_or_a_line_it_says_so() -> Result<()> {
    let finished = Host::builder().run(&["log", SUBJECT, "--follow"]).await?;
    assert_eq!(finished.code, Some(69), "{finished:?}");
    let host = Host::builder()
        .component(Component::faulty(SUBJECT, 10, json!({})))
        .component(Component::faulty("off", 20, json!({})).set("enabled", false))
        .component(Component::faulty("wrong", 30, json!({})).set("timeout", "soon"))
        .start()?;
    host.wait_status("there", |status| status.components.len() == 3)
        .await?;
    let finished = host.run(&["log", "subjcet"]).await?;
    assert_eq!(finished.code, Some(64), "{finished:?}");
    let hint = "there is no component \"subjcet\"; did you mean \"subject\"?";
    assert!(finished.stderr.contains(hint), "{finished:?}");
    let finished = host.run(&["log", "off"]).await?;
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""));
    assert!(
        finished.stderr.contains("nothing is logged"),
        "{finished:?}"
    );
    assert!(finished.stderr.contains("switched off"), "{finished:?}");
    for name in ["wrong", "30-wrong"] {
        let finished = host.run(&["log", name]).await?;
        let mistake = "\"soon\" is not a duration";
        assert!(finished.stdout.contains(mistake), "{finished:?}");
    }
    let finished = host.run(&["log", ""]).await?;
    assert_eq!(finished.code, Some(64), "{finished:?}");
    Ok(())
}

/// Lines that the daemon keeps of a component.
const MAX_LINES: usize = 200;

/// `log --follow`, and what it writes.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    remarks: Lines<BufReader<ChildStderr>>,
}

impl Follower {
    fn of(host: &Host, arguments: &[&str]) -> Result<Self> {
        let mut command = host.command(&[], &[&["log", "--follow"], arguments].concat())?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let output = child.stdout.take().context("it was asked for")?;
        let remarks = child.stderr.take().context("it was asked for")?;
        Ok(Self {
            child,
            lines: BufReader::new(output).lines(),
            remarks: BufReader::new(remarks).lines(),
        })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.child.id().context("it has ended")?;
        Ok(kill(Pid::from_raw(i32::try_from(pid)?), signal)?)
    }

    /// Reads on up to a line with these words. How many lines that took.
    async fn reads(&mut self, words: &str) -> Result<usize> {
        let mut count = 0;
        loop {
            let line = patiently(words, self.lines.next_line()).await??;
            let line = line.with_context(|| format!("it ended before {words:?}"))?;
            count += 1;
            if line.contains(words) {
                return Ok(count);
            }
        }
    }
}

#[tokio::test]
async fn who_follows_gets_each_line_once_and_goes_on_after_a_restart_of_the_daemon() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime_dir = folder.path().to_string_lossy();
    let start = || {
        Host::builder()
            .set("runtime_dir", &*runtime_dir)
            .component(Component::faulty(SUBJECT, 10, json!({})))
            .start()
    };
    let mut first = start()?;
    first.logged("creating").await?;
    let mut follower = Follower::of(&first, &[SUBJECT])?;
    follower.reads("creating").await?;
    first.stop().await?;
    let second = start()?;
    second.logged("creating").await?;
    // Nothing of the first host's again.
    assert_eq!(follower.reads("creating").await?, 1);
    Ok(())
}

#[tokio::test]
async fn who_cannot_follow_is_told_that_lines_are_missing() -> Result<()> {
    let scene = failed_once().await?;
    let mut follower = Follower::of(&scene.host, &[SUBJECT])?;
    follower.reads("call failed").await?;
    follower.signal(Signal::SIGSTOP)?;
    let more_than_kept = MAX_LINES + 20;
    for _ in 0..more_than_kept {
        scene
            .plugin
            .create_container(&scene.pod, &scene.container)
            .await?;
    }
    scene
        .host
        .logged_times("call failed", 1 + more_than_kept)
        .await?;
    follower.signal(Signal::SIGCONT)?;
    let told = patiently("the gap", follower.remarks.next_line()).await??;
    assert!(told.is_some_and(|told| told.contains("lines are missing here")));
    follower.reads("call failed").await?;
    Ok(())
}
