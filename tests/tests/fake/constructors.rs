//! Libraries whose constructors do what no library may.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use nri_host_tests::artifacts::compile_c_component;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Builder, Component, ComponentStatus, Host, State};
use nri_host_tests::patience::patiently;
use nri_host_tests::pods;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::sleep;

/// Name of the component that nothing is wrong with.
const GOOD: &str = "good";
/// Time between two looks at something that tells no change.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const HANGS: &str = "for (;;) pause();";

/// A folder with what constructors leave behind.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A component with this code in a constructor, which first writes down in which process it
    /// runs.
    fn component(&self, name: &str, index: u8, code: &str) -> Result<Component> {
        let library = self.path(&format!("lib{name}.so"));
        let runs = self.path(name);
        let constructor = format!(
            "-DCONSTRUCTOR=FILE *f = fopen(\"{}\", \"a\"); fprintf(f, \"%d\\n\", getpid()); \
             fclose(f); {code}",
            runs.display()
        );
        compile_c_component("constructor", &[&constructor], &library)?;
        Ok(Component::new(name, index, library))
    }

    /// The processes in which the component's constructor ran.
    fn runs(&self, name: &str) -> Vec<u32> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// The children of a process, those that nobody has waited for included.
fn children(pid: u32) -> Result<Vec<String>> {
    let mut children = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let list = fs::read_to_string(task?.path().join("children"))?;
        children.extend(list.split_whitespace().map(str::to_owned));
    }
    Ok(children)
}

async fn serves(runtime: &FakeRuntime, plugin: &str) -> Result<()> {
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    let plugin = runtime.plugin(plugin).await?;
    plugin.create_container(&pod, &container).await?;
    Ok(())
}

#[tokio::test]
async fn those_that_end_or_block_their_process_fail_alone_and_never_run_in_the_host() -> Result<()>
{
    let scene = Scene::new()?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let faults = [
        (
            "crashes",
            "volatile char *volatile p = 0; *p = 1;",
            "was killed by SIGSEGV",
        ),
        ("aborts", "abort();", "was killed by SIGABRT"),
        ("exits", "exit(3);", "exited with status 3"),
        ("hangs", HANGS, "did not come back within 5s"),
        ("spins", "for (;;) {}", "did not come back within 5s"),
        (
            "chats",
            "for (;;) (void)!write(2, \"\", 1);",
            "did not come back within 5s",
        ),
    ];
    let mut builder = Host::builder()
        .socket(runtime.socket())
        .component(scene.component(GOOD, 50, "")?);
    for (index, (name, code, _)) in (10..).zip(faults) {
        builder = builder.component(scene.component(name, index, code)?);
    }
    let host = builder.start()?;
    serves(&runtime, "50-good").await?;
    for (name, _, reason) in faults {
        let status = host
            .wait_component(name, "failed with a reason", |component| {
                component.state == State::Failed && component.reason.is_some()
            })
            .await?;
        let told = status.reason.context("it has one")?;
        let library = format!("lib{name}.so: {reason} in its constructors");
        assert!(told.contains(&library), "{told}");
        let runs = scene.runs(name);
        assert!(runs.len() == 1 && runs[0] != host.pid(), "{name}: {runs:?}");
    }
    assert_eq!(children(host.pid())?, Vec::<String>::new());
    assert_eq!(runtime.active(), ["50-good"]);
    host.wait_state(GOOD, State::Active).await?;
    assert_eq!(scene.runs(GOOD).last(), Some(&host.pid()));
    Ok(())
}

#[tokio::test]
async fn one_that_hangs_in_the_host_is_held_against_its_own_component_alone() -> Result<()> {
    let scene = Scene::new()?;
    // Processes in which libraries are tried out have no such variable.
    let hangs = format!("if (getenv(\"IN_THE_HOST\")) {HANGS}");
    let good = scene.component(GOOD, 50, "")?;
    let library = scene.path("libgood.so");
    let whole = fs::read(&library)?;
    fs::write(&library, "comes later")?;
    let mut host = Host::builder()
        .env("IN_THE_HOST", "1")
        .component(scene.component("hangs", 10, &hangs)?)
        .component(good)
        .start()?;
    host.wait_state(GOOD, State::Failed).await?;
    host.wait_component("hangs", "in its constructors, in the host", |_| {
        scene.runs("hangs").contains(&host.pid())
    })
    .await?;
    fs::remove_file(&library)?;
    fs::write(&library, whole)?;
    let reset = host.run(&["reset", GOOD]).await?;
    assert_eq!(reset.code, Some(0), "{reset:?}");
    let told = |component: &ComponentStatus, words: &str| {
        component.reason.as_ref().is_some_and(|r| r.contains(words))
    };
    host.wait_component("hangs", "failed", |component| {
        component.state == State::Failed && told(component, "not back from the constructors")
    })
    .await?;
    host.wait_component(GOOD, "waiting for its turn", |component| {
        component.state == State::Waiting && told(component, "until others are loaded")
    })
    .await?;
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0), "{status}\n{}", host.log());
    Ok(())
}

/// Such constructors hold the lock of the dynamic loader, which the C library takes at times that do
/// not look like it.
#[tokio::test]
async fn one_that_hangs_in_the_host_makes_no_other_component_late() -> Result<()> {
    let scene = Scene::new()?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let hangs = format!("if (getenv(\"IN_THE_HOST\")) {HANGS}");
    let late = json!({ "on": { "CreateContainer": { "do": "hang" } } });
    let hanging = scene.component("hangs", 10, &hangs)?;
    let library = scene.path("libhangs.so");
    let whole = fs::read(&library)?;
    fs::write(&library, "comes later")?;
    let host = Host::builder()
        .env("IN_THE_HOST", "1")
        .socket(runtime.socket())
        .component(Component::faulty("late", 20, late).set("timeout", "300ms"))
        .component(scene.component(GOOD, 50, "")?)
        .component(hanging)
        .start()?;
    host.wait_state("hangs", State::Failed).await?;
    host.wait_state(GOOD, State::Active).await?;
    host.wait_state("late", State::Active).await?;
    fs::remove_file(&library)?;
    fs::write(&library, whole)?;
    host.run(&["reset", "hangs"]).await?;
    host.wait_component("hangs", "in its constructors, in the host", |_| {
        scene.runs("hangs").contains(&host.pid())
    })
    .await?;
    serves(&runtime, "50-good").await?;
    serves(&runtime, "20-late").await?;
    serves(&runtime, "20-late").await?;
    Ok(())
}

fn with_state(builder: Builder, state: &Path, component: Component) -> Builder {
    builder
        .set("state_dir", state.display().to_string())
        .component(component)
}

#[tokio::test]
async fn a_library_is_tried_out_at_first_sight_and_not_at_the_next_start() -> Result<()> {
    let scene = Scene::new()?;
    let state = scene.path("state");
    let component = scene.component(GOOD, 50, "")?;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let runtime = FakeRuntime::start(Profile::newest()).await?;
        let builder = Host::builder().socket(runtime.socket());
        let mut host = with_state(builder, &state, component.clone()).start()?;
        serves(&runtime, "50-good").await?;
        runs.push(host.pid());
        host.stop().await?;
    }
    let all = scene.runs(GOOD);
    let [probe, first, second] = all[..] else {
        panic!("{all:?}");
    };
    assert_eq!([first, second], runs[..]);
    assert!(!runs.contains(&probe));
    // Another file of that name is another library.
    let changed = scene.component(GOOD, 50, "if (getpid() == 0) abort();")?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let builder = Host::builder().socket(runtime.socket());
    let host = with_state(builder, &state, changed).start()?;
    serves(&runtime, "50-good").await?;
    let all = scene.runs(GOOD);
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(all[3] != host.pid() && all[4] == host.pid(), "{all:?}");
    Ok(())
}

#[tokio::test]
async fn where_nothing_can_be_kept_each_start_tries_the_library_out_and_says_so_once() -> Result<()>
{
    let scene = Scene::new()?;
    let state = scene.path("state");
    fs::write(&state, "is no folder")?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let builder = Host::builder().socket(runtime.socket());
    let host = with_state(builder, &state, scene.component(GOOD, 50, "")?)
        .component(scene.component("other", 60, "")?)
        .start()?;
    serves(&runtime, "50-good").await?;
    serves(&runtime, "60-other").await?;
    assert_eq!((scene.runs(GOOD).len(), scene.runs("other").len()), (2, 2));
    let told = "each start tries them out";
    host.logged(told).await?;
    assert_eq!(host.log().matches(told).count(), 1);
    Ok(())
}

/// Waits until a process that somebody else started has ended.
async fn ended(pid: u32) -> Result<()> {
    let is_alive = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The state follows the name, which is in parentheses.
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    patiently("the end of the probe", async {
        while is_alive() {
            sleep(POLL_INTERVAL).await;
        }
    })
    .await
}

#[tokio::test]
async fn the_host_does_not_wait_for_a_constructor_when_it_is_told_to_end() -> Result<()> {
    let scene = Scene::new()?;
    let mut host = Host::builder()
        .component(scene.component("hangs", 10, HANGS)?)
        .start()?;
    // The probe has begun, and is five seconds from its end.
    host.wait_component("hangs", "being tried out", |_| {
        !scene.runs("hangs").is_empty()
    })
    .await?;
    let (status, _) = host.stop().await?;
    assert_eq!(status.code(), Some(0), "{status}\n{}", host.log());
    assert!(
        !host.log().contains("did not stop in time"),
        "{}",
        host.log()
    );
    let probe = scene.runs("hangs")[0];
    ended(probe).await
}
