//! Components that end the whole process: who is said to have done it, and who stays out for it.

mod kept_out;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::Result;
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nri_host_tests::artifacts::c_component;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Builder, Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;
use tempfile::TempDir;

/// A runtime, and hosts that come and go over the same state.
struct Node {
    runtime: FakeRuntime,
    folder: TempDir,
}

impl Node {
    async fn new() -> Result<Self> {
        Ok(Self {
            runtime: FakeRuntime::start(Profile::newest()).await?,
            folder: tempfile::tempdir()?,
        })
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn host(&self) -> Builder {
        Host::builder()
            .socket(self.runtime.socket())
            .set("state_dir", self.state().display().to_string())
    }

    /// Runs a host with this component beside a good one until a call about a container ends it.
    async fn crash(&self, subject: Component) -> Result<Dead> {
        let mut host = self
            .host()
            .component(subject)
            .component(Component::faulty("bystander", 90, json!({})))
            .start()?;
        let plugin = self.runtime.plugin("10-subject").await?;
        self.runtime.plugin("90-bystander").await?;
        let pod = pods::pod("web-0").namespace("shop").build();
        let container = pods::container(&pod, "server").build();
        let answer = plugin.create_container(&pod, &container).await;
        assert!(answer.is_err(), "answered: {answer:?}\n{}", host.log());
        Dead::await_end_of(&mut host).await
    }
}

/// How a host ended.
struct Dead {
    status: ExitStatus,
    log: String,
}

impl Dead {
    async fn await_end_of(host: &mut Host) -> Result<Self> {
        let status = host.ended().await?;
        let log = host.log();
        Ok(Self { status, log })
    }

    /// The lines that put the end down to somebody.
    fn verdicts(&self) -> Vec<&str> {
        let lines = self.log.lines();
        lines
            .filter(|line| line.starts_with("nri-host: "))
            .collect()
    }
}

fn crashes(crash: &str, place: &str) -> Result<Component> {
    let library = c_component("crashes")?;
    Ok(Component::new("subject", 10, library).config(json!({ "crash": crash, "in": place })))
}

const CALL: &str =
    "component 10-subject crashed in CreateContainer for container server of pod shop/web-0";

#[tokio::test]
async fn the_process_dies_of_a_fault_as_ever_and_it_is_put_down_to_the_call() -> Result<()> {
    let mut faults = vec![
        ("segv", Signal::SIGSEGV, "SIGSEGV at address 0x10"),
        ("bus", Signal::SIGBUS, "SIGBUS at address 0x"),
        ("abort", Signal::SIGABRT, "SIGABRT"),
        ("raise", Signal::SIGSEGV, "SIGSEGV"),
        // Rust's own handler tells it and aborts.
        ("overflow", Signal::SIGABRT, "SIGSEGV at address 0x"),
    ];
    if cfg!(target_arch = "x86_64") {
        faults.push(("ill", Signal::SIGILL, "SIGILL at address 0x"));
        faults.push(("fpe", Signal::SIGFPE, "SIGFPE at address 0x"));
        faults.push(("trap", Signal::SIGTRAP, "SIGTRAP"));
    }
    for (fault, signal, cause) in faults {
        let node = Node::new().await?;
        let dead = node.crash(crashes(fault, "CreateContainer")?).await?;
        let verdicts = dead.verdicts();
        assert_eq!(
            dead.status.signal(),
            Some(signal as i32),
            "{fault}\n{}",
            dead.log
        );
        assert_eq!(verdicts.len(), 1, "{fault}: {}", dead.log);
        let expected = format!("nri-host: {CALL}: {cause}");
        assert!(verdicts[0].starts_with(&expected), "{fault}: {}", dead.log);
        if fault == "overflow" {
            assert!(
                dead.log.contains("has overflowed its stack"),
                "{}",
                dead.log
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_component_that_calls_exit_is_told_with_its_status_before_anything_else_runs()
-> Result<()> {
    let node = Node::new().await?;
    let dead = node.crash(crashes("exit", "CreateContainer")?).await?;
    // Never the one of the component, which may tell the service manager to leave it at that.
    assert_eq!(dead.status.code(), Some(1), "{}", dead.log);
    assert_eq!(
        dead.verdicts(),
        [
            "nri-host: component 10-subject ended the process in CreateContainer for container \
          server of pod shop/web-0: exit(3)"
        ]
    );
    Ok(())
}

#[tokio::test]
async fn the_next_start_tells_who_it_was_and_goes_on() -> Result<()> {
    let node = Node::new().await?;
    let subject = crashes("segv", "CreateContainer")?;
    node.crash(subject.clone()).await?;
    let host = node.host().component(subject).start()?;
    node.runtime.plugin("10-subject").await?;
    let text = "ended the host the last time";
    host.logged(text).await?;
    let log = host.log();
    let told = log.lines().find(|line| line.contains(text)).unwrap();
    for word in [
        "ERROR",
        "subject",
        "CreateContainer",
        "server",
        "shop/web-0",
        "SIGSEGV",
    ] {
        assert!(told.contains(word), "{word} is missing: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn crashes_outside_of_calls_are_put_down_to_what_was_under_way() -> Result<()> {
    for (place, step) in [("create", "create"), ("methods", "get_interface")] {
        let node = Node::new().await?;
        let mut host = node.host().component(crashes("segv", place)?).start()?;
        let dead = Dead::await_end_of(&mut host).await?;
        assert_eq!(
            dead.verdicts(),
            [format!(
                "nri-host: component 10-subject crashed in {step}: SIGSEGV at address 0x10"
            )]
        );
    }
    let node = Node::new().await?;
    let mut host = node
        .host()
        .component(crashes("abort", "destroy")?)
        .start()?;
    node.runtime.plugin("10-subject").await?;
    host.signal(Signal::SIGTERM)?;
    let dead = Dead::await_end_of(&mut host).await?;
    assert_eq!(dead.status.signal(), Some(Signal::SIGABRT as i32));
    assert_eq!(
        dead.verdicts(),
        ["nri-host: component 10-subject crashed in destroy: SIGABRT"]
    );
    Ok(())
}

#[tokio::test]
async fn a_crash_in_a_constructor_is_put_down_to_the_library() -> Result<()> {
    let node = Node::new().await?;
    let mut host = node
        .host()
        .env("CRASH_IN_CONSTRUCTOR", "1")
        .component(crashes("none", "none")?)
        .start()?;
    let dead = Dead::await_end_of(&mut host).await?;
    assert_eq!(
        dead.verdicts(),
        [
            "nri-host: component 10-subject crashed in the constructors of its library: SIGSEGV at \
          address 0x10"
        ]
    );
    Ok(())
}

#[tokio::test]
async fn a_crash_on_a_thread_of_a_component_s_own_is_told_and_held_against_nobody() -> Result<()> {
    let node = Node::new().await?;
    let subject = crashes("thread", "CreateContainer")?.set("quarantine", once());
    let dead = node.crash(subject.clone()).await?;
    assert_eq!(dead.status.signal(), Some(Signal::SIGSEGV as i32));
    assert_eq!(
        dead.verdicts(),
        [
            "nri-host: the process ended on a thread named \"worker\" that is not the host's; which \
          component started it is not known: SIGSEGV at address 0x10"
        ]
    );
    let alone = Node::new().await?;
    let mut host = alone.host().component(subject.clone()).start()?;
    let plugin = alone.runtime.plugin("10-subject").await?;
    let pod = pods::pod("web-0").build();
    let container = pods::container(&pod, "server").build();
    plugin.create_container(&pod, &container).await.unwrap_err();
    let dead = Dead::await_end_of(&mut host).await?;
    assert!(
        dead.verdicts()[0].contains("the only library that is loaded is ")
            && dead.verdicts()[0].contains("libcrashes.so"),
        "{}",
        dead.log
    );
    let host = node.host().component(subject).start()?;
    host.wait_state("subject", State::Active).await?;
    host.logged("a thread that is not the host's").await
}

#[tokio::test]
async fn a_signal_from_outside_is_put_down_to_nobody() -> Result<()> {
    let node = Node::new().await?;
    let mut host = node.host().component(crashes("none", "none")?).start()?;
    node.runtime.plugin("10-subject").await?;
    host.signal(Signal::SIGABRT)?;
    let dead = Dead::await_end_of(&mut host).await?;
    assert_eq!(dead.status.signal(), Some(Signal::SIGABRT as i32));
    assert!(dead.verdicts().is_empty(), "{}", dead.log);
    let mut host = node.host().component(crashes("none", "none")?).start()?;
    host.wait_state("subject", State::Active).await?;
    assert!(!host.log().contains("the last time"), "{}", host.log());
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn nobody_who_reads_its_log_keeps_the_process_from_dying() -> Result<()> {
    // Rust's own handler would tell the overflow to standard error.
    for crash in ["segv", "overflow"] {
        let node = Node::new().await?;
        let pipe = node.folder.path().join("full");
        let _reader = full_pipe(&pipe)?;
        let script = format!("exec \"$0\" \"$@\" 2>{}", pipe.display());
        let mut host = node
            .host()
            .launcher(&["sh", "-c", &script])
            .component(crashes(crash, "create")?)
            .start()?;
        let dead = Dead::await_end_of(&mut host).await?;
        assert_eq!(dead.status.signal(), Some(Signal::SIGSEGV as i32));
        let host = node.host().component(crashes("none", "none")?).start()?;
        host.logged("it ended the host the last time").await?;
    }
    Ok(())
}

/// A named pipe that takes nothing more, as nobody reads from it.
fn full_pipe(path: &Path) -> Result<File> {
    nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let mut pipe = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    for size in [4096, 1] {
        while pipe.write(&vec![b'x'; size]).is_ok() {}
    }
    Ok(pipe)
}

/// `quarantine` after a single crash.
fn once() -> toml::Table {
    toml::Table::from_iter([("failures".to_owned(), 1.into())])
}

#[tokio::test]
async fn without_a_state_folder_crashes_are_still_put_down_to_somebody() -> Result<()> {
    let node = Node::new().await?;
    fs::write(node.state(), "a file where the folder should be")?;
    let dead = node.crash(crashes("segv", "CreateContainer")?).await?;
    assert_eq!(dead.status.signal(), Some(Signal::SIGSEGV as i32));
    assert_eq!(dead.verdicts().len(), 1, "{}", dead.log);
    let warnings = dead.log.matches("crashes cannot be remembered").count();
    assert_eq!(warnings, 1, "{}", dead.log);
    Ok(())
}
