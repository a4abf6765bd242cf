//! The promise as a table: what the runtime gets for each call, whatever the component does in it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nri_host_tests::artifacts::c_component;
use nri_host_tests::fake_runtime::{CallError, Failure, FakeRuntime, Plugin, Profile, Reply};
use nri_host_tests::host::{Component, ComponentStatus, Host, State};
use nri_host_tests::pods;
use nri_plugin_api::abi::Status;
use nri_plugin_api::api::{self, Container, PodSandbox};
use protobuf::Message;
use serde_json::json;

use crate::callbacks::{CALLBACKS, Callback, all_methods};
use crate::deadlines::Gate;

/// Everything but a decision about the pod becomes an empty answer, save that a check which was not
/// made has not passed.
const IGNORE: &str = "
                              answer   reject    error    panic  garbage  nothing     5MiB     null   double   thread    after    token   status    reply     hang
RunPodSandbox                  empty    error    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
UpdatePodSandbox               empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
PostUpdatePodSandbox           empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
CreateContainer                empty    error    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
PostCreateContainer            empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
StartContainer                 empty    error    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
PostStartContainer             empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
UpdateContainer                empty    error    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
PostUpdateContainer            empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
StopContainer                  empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
RemoveContainer                empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
ValidateContainerAdjustment    empty  verdict    error    error    error    error    error    error    empty    error    error    error    error    error    error
StopPodSandbox                 empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
RemovePodSandbox               empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
counted as rejections              0       14        0        0        0        0        0        0        0        0        0        0        0        0        0
counted as failures                0        0       14       14       14       14       14       14        0       14       14       14       14       14       14
";

/// A failure becomes an error where a pod or container comes into being or changes.
const FAIL: &str = "
                              answer   reject    error    panic  garbage  nothing     5MiB     null   double   thread    after    token   status    reply     hang
RunPodSandbox                  empty    error    error    error    error    error    error    error    empty    error    error    error    error    error    error
UpdatePodSandbox               empty    empty    error    error    error    error    error    error    empty    error    error    error    error    error    error
PostUpdatePodSandbox           empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
CreateContainer                empty    error    error    error    error    error    error    error    empty    error    error    error    error    error    error
PostCreateContainer            empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
StartContainer                 empty    error    error    error    error    error    error    error    empty    error    error    error    error    error    error
PostStartContainer             empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
UpdateContainer                empty    error    error    error    error    error    error    error    empty    error    error    error    error    error    error
PostUpdateContainer            empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
StopContainer                  empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
RemoveContainer                empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
ValidateContainerAdjustment    empty  verdict    error    error    error    error    error    error    empty    error    error    error    error    error    error
StopPodSandbox                 empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
RemovePodSandbox               empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty    empty
counted as rejections              0       14        0        0        0        0        0        0        0        0        0        0        0        0        0
counted as failures                0        0       14       14       14       14       14       14        0       14       14       14       14       14       14
";

/// Synchronize itself is never failed: the component is out of step, or still in the call.
const SYNCHRONIZE: &str = "
                              answer   reject    error    panic  garbage  nothing     5MiB     null   double   thread    after    token   status    reply     hang
Synchronize                   active unsynced unsynced unsynced unsynced unsynced unsynced unsynced   active unsynced unsynced unsynced unsynced unsynced  overdue
";

/// Nobody can go on after these: the process ends, the next one serves.
const FATAL: &str = "
                               abort     exit
RunPodSandbox                   ends     ends
UpdatePodSandbox                ends     ends
PostUpdatePodSandbox            ends     ends
CreateContainer                 ends     ends
PostCreateContainer             ends     ends
StartContainer                  ends     ends
PostStartContainer              ends     ends
UpdateContainer                 ends     ends
PostUpdateContainer             ends     ends
StopContainer                   ends     ends
RemoveContainer                 ends     ends
ValidateContainerAdjustment     ends     ends
StopPodSandbox                  ends     ends
RemovePodSandbox                ends     ends
";

/// Something that a component does in a call.
struct Fault {
    /// Head of its column; also the component's name.
    name: &'static str,
    by: By,
}

/// Which component does it, and by what word of its configuration.
enum By {
    Faulty(&'static str),
    Raw(&'static str),
}

const FAULTS: [Fault; 15] = [
    fault("answer", By::Faulty("answer")),
    fault("reject", By::Faulty("reject")),
    fault("error", By::Faulty("error")),
    fault("panic", By::Faulty("panic")),
    fault("garbage", By::Raw("garbage")),
    fault("nothing", By::Raw("none")),
    fault("5MiB", By::Raw("too_large")),
    fault("null", By::Raw("null_with_length")),
    fault("double", By::Raw("double_reply")),
    // A reply from another thread, during the next call or when the instance was destroyed.
    fault("thread", By::Raw("late_reply")),
    fault("after", By::Raw("reply_after_destroy")),
    // For a request that never was; unknown statuses of the call and of the reply.
    fault("token", By::Raw("stale_token")),
    fault("status", By::Raw("unknown")),
    fault("reply", By::Raw("reply_unknown")),
    fault("hang", By::Faulty("hang")),
];

const fn fault(name: &'static str, by: By) -> Fault {
    Fault { name, by }
}

impl Fault {
    /// A component with this fault in some methods, which are all that it wants. What hangs is let
    /// go when the gate opens.
    fn component(&self, index: u8, methods: &[&str], gate: &Path) -> Result<Component> {
        let component = match self.by {
            By::Faulty(action) => {
                let behaviour = json!({ "do": action, "until": gate });
                let on = methods
                    .iter()
                    .map(|&method| (method.to_owned(), behaviour.clone()))
                    .collect::<serde_json::Map<_, _>>();
                Component::faulty(self.name, index, json!({ "methods": methods, "on": on }))
            }
            By::Raw(word) => Component::new(self.name, index, c_component("raw_faults")?)
                .config(json!({ "fault": word, "on": methods })),
        };
        if !self.is_hang() {
            // All the time that there is: a slow machine must not look like a fault.
            return Ok(component);
        }
        Ok(component
            .set("timeout", "250ms")
            .set("sync_timeout", "250ms"))
    }

    fn is_hang(&self) -> bool {
        matches!(self.by, By::Faulty("hang"))
    }
}

/// A line of a table, as wide as its cells need.
fn line(head: &str, cells: impl IntoIterator<Item = impl ToString>) -> String {
    let cells = cells.into_iter().fold(String::new(), |mut line, cell| {
        let _ = write!(line, " {:>8}", cell.to_string());
        line
    });
    format!("{head:27}{cells}\n")
}

fn heads() -> String {
    format!("\n{}", line("", FAULTS.map(|fault| fault.name)))
}

/// The word for what a runtime gets for a call that fails.
pub(crate) fn word_of_failure(callback: &Callback, on_failure: &str) -> &'static str {
    let validation = callback.event == api::Event::VALIDATE_CONTAINER_ADJUSTMENT;
    // Nothing may keep a pod from stopping, and what only tells cannot undo what it tells of.
    let changes = callback.decides || callback.event == api::Event::UPDATE_POD_SANDBOX;
    if validation || changes && on_failure == "fail" {
        "error"
    } else {
        "empty"
    }
}

/// What a runtime got, in one word; only an error with all names in it is one.
pub(crate) fn word(
    plugin: &Plugin,
    callback: &Callback,
    (pod, container): (&PodSandbox, &Container),
    answer: Result<Reply<Vec<u8>>, CallError>,
) -> String {
    let names_all = |text: &str| {
        text.contains(plugin.name())
            && text.contains(&pod.name)
            && (!callback.has_container || text.contains(&container.name))
    };
    match answer {
        Ok(reply) if reply.message.is_empty() => "empty".to_owned(),
        Ok(reply) if callback.event == api::Event::VALIDATE_CONTAINER_ADJUSTMENT => {
            let verdict =
                api::ValidateContainerAdjustmentResponse::parse_from_bytes(&reply.message);
            match verdict {
                Ok(verdict) if verdict.reject && names_all(&verdict.reason) => "verdict".to_owned(),
                other => format!("{other:?}"),
            }
        }
        Ok(reply) => format!("{:?}", reply.message),
        Err(error) => match error.status() {
            Some((_, text)) if names_all(text) => "error".to_owned(),
            _ => format!("{:?}", error.failure),
        },
    }
}

fn failures(component: &ComponentStatus) -> u64 {
    ["failures", "late", "missed"]
        .iter()
        .filter_map(|key| component.count(key))
        .sum()
}

/// Makes each call to a component with each fault, under one policy.
async fn table(on_failure: &str, namespace: &str) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut builder = Host::builder().socket(runtime.socket());
    for (fault, index) in FAULTS.iter().zip(10..) {
        let component = fault
            .component(index, &all_methods(), &gate)?
            .set("on_failure", on_failure)
            .never_quarantined();
        builder = builder.component(component);
    }
    let host = builder.start()?;
    let mut plugins = Vec::new();
    for (fault, index) in FAULTS.iter().zip(10..) {
        plugins.push(runtime.plugin(&format!("{index}-{}", fault.name)).await?);
    }
    let pod = pods::pod("web-0").namespace(namespace).build();
    let container = pods::container(&pod, "server").build();

    let mut table = heads();
    for callback in &CALLBACKS {
        let mut cells = Vec::new();
        for (fault, plugin) in FAULTS.iter().zip(&plugins) {
            let answer = callback.tell(plugin, &pod, &container).await;
            cells.push(word(plugin, callback, (&pod, &container), answer));
            if fault.is_hang() {
                host.wait_state(fault.name, State::Overdue).await?;
                Gate(&gate).open();
                host.wait_state(fault.name, State::Active).await?;
                Gate(&gate).shut();
            }
        }
        table += &line(callback.method, cells);
    }
    let (mut rejections, mut failed) = (Vec::new(), Vec::new());
    for (fault, plugin) in FAULTS.iter().zip(&plugins) {
        // The answer goes out before it is counted; the last call was made to all.
        let counted = |component: &ComponentStatus| {
            let count = component.count("rejections").unwrap_or_default() + failures(component);
            count == 14 || matches!(fault.name, "answer" | "double")
        };
        let status = host.wait_component(fault.name, "counted", counted).await?;
        rejections.push(status.count("rejections").unwrap_or_default());
        failed.push(failures(&status));
        assert!(
            plugin.is_connected(),
            "{} has lost its connection",
            fault.name
        );
        assert_eq!(status.count("sessions"), Some(1), "{}", fault.name);
    }
    table += &line("counted as rejections", rejections);
    table += &line("counted as failures", failed);
    // The owed replies were given, and were told why nobody takes them.
    for status in [Status::STALE, Status::DEAD] {
        let line = format!("a reply from another thread: reply returned {}", status.0);
        host.logged(&line).await?;
    }
    Ok(table)
}

#[expect(clippy::print_stdout, reason = "the table is for people, too")]
fn assert_is(what: &str, table: &str, expected: &str) {
    println!("{what}:{table}");
    assert_eq!(table, expected, "{what}: expected{expected}found{table}");
}

#[tokio::test]
async fn failures_are_ignored_and_rejections_decide() -> Result<()> {
    let found = table("ignore", "shop").await?;
    assert_is("on_failure = \"ignore\"", &found, IGNORE);
    Ok(())
}

#[tokio::test]
async fn failures_are_errors_where_a_pod_comes_into_being_or_changes() -> Result<()> {
    let found = table("fail", "shop").await?;
    assert_is("on_failure = \"fail\"", &found, FAIL);
    Ok(())
}

#[tokio::test]
async fn pods_of_exempt_namespaces_fail_only_by_decision() -> Result<()> {
    let found = table("fail", "kube-system").await?;
    assert_is(
        "on_failure = \"fail\" in an exempt namespace",
        &found,
        IGNORE,
    );
    Ok(())
}

#[tokio::test]
async fn a_failed_synchronization_leaves_the_component_connected_and_shown() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let gate = folder.path().join("gate");
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut builder = Host::builder().socket(runtime.socket());
    for (fault, index) in FAULTS.iter().zip(10..) {
        let component = fault.component(index, &["Synchronize"], &gate)?;
        builder = builder.component(component.set("on_failure", "fail"));
    }
    let host = builder.start()?;
    for (fault, index) in FAULTS.iter().zip(10..) {
        let plugin = runtime.plugin(&format!("{index}-{}", fault.name)).await?;
        assert_eq!(plugin.synchronized().updates, [], "{}", fault.name);
    }
    let status = host
        .wait_status("settled", |status| {
            // A component that is created again is overdue for a moment, too.
            let settled = |component: &ComponentStatus| match component.state {
                State::Waiting | State::Handshaking => false,
                state => (state == State::Overdue) == (component.name.as_deref() == Some("hang")),
            };
            status.components.iter().all(settled)
        })
        .await?;
    let states = status
        .components
        .iter()
        .map(|component| format!("{:?}", component.state).to_lowercase());
    let found = heads() + &line("Synchronize", states);
    assert_is("Synchronize", &found, SYNCHRONIZE);
    Ok(())
}

/// A host that ends in each call for a pod with a certain name, again and again.
async fn ends(action: &str) -> Result<Vec<&'static str>> {
    let folder = tempfile::tempdir()?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let start = || {
        let behaviour = json!({ "do": action, "for": { "pod_name_prefix": "bad" } });
        let on = all_methods()
            .into_iter()
            .map(|method| (method.to_owned(), behaviour.clone()))
            .collect::<serde_json::Map<_, _>>();
        let subject = Component::faulty("subject", 10, json!({ "on": on }));
        Host::builder()
            .socket(runtime.socket())
            .set("state_dir", folder.path().display().to_string())
            .component(subject.never_quarantined())
            .start()
    };
    let [bad, good] = ["bad", "good"].map(|name| pods::pod(name).build());
    let container = pods::container(&bad, "server").build();
    let mut host = start()?;
    let mut plugin = runtime.plugin("10-subject").await?;
    let mut cells = Vec::new();
    for callback in &CALLBACKS {
        let answer = callback.tell(&plugin, &bad, &container).await;
        let failure = answer.map_err(|error| error.failure).err();
        ensure!(
            matches!(failure, Some(Failure::ConnectionLost(_))),
            "{} with {action}: {failure:?}",
            callback.method
        );
        let status = host.ended().await?;
        ensure!(!status.success(), "{} with {action}", callback.method);
        host = start()?;
        plugin = runtime.reconnected(&plugin).await?;
        let served = callback.tell(&plugin, &good, &container).await;
        served.with_context(|| format!("{} after {action}", callback.method))?;
        cells.push("ends");
    }
    Ok(cells)
}

#[tokio::test]
async fn a_component_that_ends_the_process_is_served_by_the_next_one() -> Result<()> {
    let (abort, exit) = tokio::try_join!(ends("abort"), ends("exit"))?;
    let mut found = format!("\n{}", line("", ["abort", "exit"]));
    for (callback, cells) in CALLBACKS.iter().zip(abort.into_iter().zip(exit)) {
        found += &line(callback.method, [cells.0, cells.1]);
    }
    assert_is("the end of the process", &found, FATAL);
    Ok(())
}
