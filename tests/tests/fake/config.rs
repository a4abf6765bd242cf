//! Configuration: what is good runs, what is not is said.

use std::fs;
use std::path::Path;

use anyhow::Result;
use nri_host_tests::artifacts::artifacts;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::{Builder, Component, Host, State};
use nri_host_tests::pods;
use serde_json::json;

use crate::record::Record;

/// Exit status of a configuration that cannot be used.
const BAD_CONFIGURATION: i32 = 78;

/// Replaces one text by another of the same length, wherever it is.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let positions: Vec<_> = (0..=bytes.len() - from.len())
        .filter(|&at| bytes[at..].starts_with(from))
        .collect();
    assert!(!positions.is_empty(), "nothing to replace");
    for at in positions {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// Names of components with files that are none, and words of the reason that each must get.
fn bad_files(folder: &Path) -> Result<Vec<(&'static str, &'static str)>> {
    let good = fs::read(artifacts()?.library("libnri_faulty.so")?)?;
    let mut other_machine = good.clone();
    // e_machine: 0x28 is 32-bit ARM.
    other_machine[18..20].copy_from_slice(&0x28_u16.to_le_bytes());
    let files: [(&str, Vec<u8>, &str); 7] = [
        (
            "text",
            b"#!/bin/sh\necho I am no library\n".to_vec(),
            "not an ELF file",
        ),
        ("empty", Vec::new(), "not an ELF file"),
        ("half", good[..good.len() / 2].to_vec(), "cut off"),
        ("header", good[..64].to_vec(), "cut off"),
        ("machine", other_machine, "machine arm"),
        (
            "note",
            replaced(&good, b"NRIHOST\0", b"NRIGUEST"),
            "no NRIHOST note",
        ),
        (
            "symbol",
            replaced(&good, b"nrih_component_v1", b"nrih_component_vx"),
            "nrih_component_v1",
        ),
    ];
    for (name, bytes, _) in &files {
        fs::write(folder.join(format!("lib{name}.so")), bytes)?;
    }
    Ok(files.map(|(name, _, words)| (name, words)).to_vec())
}

#[tokio::test]
async fn bad_files_are_refused_and_the_rest_is_loaded() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let mut builder = Host::builder().socket(runtime.socket());
    let bad = bad_files(builder.folder())?;
    for (index, (name, _)) in (10..).zip(&bad) {
        let path = builder.folder().join(format!("lib{name}.so"));
        builder = builder.component(Component::new(name, index, path));
    }
    let host = builder
        .component(Component::faulty("good", 50, json!({})))
        .start()?;
    runtime.plugin("50-good").await?;
    for (name, words) in &bad {
        let reason = host
            .wait_state(name, State::Failed)
            .await?
            .reason
            .unwrap_or_default();
        assert!(reason.contains(words), "{name}: {reason}");
    }
    assert_eq!(runtime.active(), ["50-good"]);
    Ok(())
}

#[tokio::test]
async fn four_instances_of_one_library_are_four_plugins_with_their_own_settings() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let builder = (1..=4).fold(Host::builder().socket(runtime.socket()), |builder, n| {
        let on =
            json!({ "CreateContainer": { "do": "annotate", "text": format!("from-{n}=yes") } });
        builder.component(Component::faulty(
            &format!("copy-{n}"),
            n * 10,
            json!({ "on": on }),
        ))
    });
    let host = builder.start()?;
    let names = ["10-copy-1", "20-copy-2", "30-copy-3", "40-copy-4"];
    runtime.plugins(&names).await?;
    let pod = pods::pod("web").build();
    let container = pods::container(&pod, "server").build();
    let replies = runtime.create_container(&pod, &container).await.replies()?;
    for ((plugin, reply), n) in replies.iter().zip(1..) {
        let annotations = &reply.adjust.annotations;
        assert_eq!(annotations.len(), 1, "{plugin}");
        assert_eq!(annotations[&format!("from-{n}")], "yes", "{plugin}");
    }
    assert_eq!(replies.len(), 4);
    let threads = host.resources()?.threads;
    for n in 1..=4 {
        assert!(threads.contains(&format!("nrih:copy-{n}")), "{threads:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_built_in_components_run_beside_each_other() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = Host::builder()
        .socket(runtime.socket())
        .component(Component::new(
            "device-injector",
            10,
            "libnri_device_injector.so",
        ))
        .component(Component::new("logger", 90, "libnri_logger.so"))
        .start()?;
    runtime
        .plugins(&["10-device-injector", "90-logger"])
        .await?;
    let status = host.wait_status("ready", |status| status.ready).await?;
    assert_eq!(status.components.len(), 2);
    Ok(())
}

/// A configuration with one mistake of each kind, and a good component.
fn full_of_mistakes(socket: &Path, record: &Record) -> Builder {
    let good = Component::faulty("good", 50, json!({ "record": record.path() }));
    let faulty = |name: &str, index| Component::faulty(name, index, json!({}));
    Host::builder()
        .socket(socket)
        .component(good)
        .component(faulty("unknown-key", 10).set("on_failrue", "fail"))
        .component(faulty("bad name", 11))
        .component(faulty("good", 50))
        .component(Component::new("missing-library", 12, "libno_such_thing.so"))
        .component(faulty("wrong-type", 13).set("timeout", 5))
        .text(
            "\n[[component]]\nname = \"bad-index\"\nindex = 100\nlibrary = \"libnri_faulty.so\"\n",
        )
        .drop_in("20-broken.toml", "this is not TOML\n")
}

#[tokio::test]
async fn check_reports_all_mistakes_at_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let builder = full_of_mistakes(Path::new("/nowhere.sock"), &record);
    let finished = builder.run(&["check"]).await?;
    assert_eq!(finished.code, Some(BAD_CONFIGURATION), "{finished:?}");
    let said = finished.stdout + &finished.stderr;
    for word in [
        "on_failrue",
        "on_failure",
        "bad name",
        "50-good",
        "libno_such_thing.so",
        "timeout",
        "index",
        "20-broken.toml:1",
        "nri-host.toml:",
    ] {
        assert!(said.contains(word), "nothing about {word:?} in:\n{said}");
    }
    // An instance was made for it, and served nobody.
    let methods: Vec<_> = record.lines().into_iter().map(|line| line.method).collect();
    assert_eq!(methods, ["create", "destroy"]);
    Ok(())
}

#[tokio::test]
async fn check_is_content_with_a_good_configuration() -> Result<()> {
    let builder = Host::builder().component(Component::faulty("good", 50, json!({})));
    let finished = builder.run(&["check"]).await?;
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("good"), "{finished:?}");
    Ok(())
}

#[tokio::test]
async fn check_says_which_of_file_environment_and_flag_a_value_comes_from() -> Result<()> {
    let builder = Host::builder()
        .socket(Path::new("/from/file.sock"))
        .set("log", "warn")
        .component(Component::faulty("good", 50, json!({ "create": "ok" })));
    let whence = async |builder: &Builder, arguments: &[&str], key: &str| {
        let arguments = [&["check", "--effective"], arguments].concat();
        let finished = builder.run(&arguments).await?;
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        let line = finished.stdout.lines().find(|line| line.starts_with(key));
        let words = line.unwrap_or_default().split_whitespace();
        anyhow::Ok(words.collect::<Vec<_>>().join(" "))
    };
    let config = builder.folder().join("nri-host.toml").display().to_string();
    let socket = whence(&builder, &[], "socket").await?;
    assert_eq!(socket, format!("socket = \"/from/file.sock\" # {config}:2"));
    let own = whence(&builder, &[], "create").await?;
    assert!(
        own.starts_with(&format!("create = \"ok\" # {config}:")),
        "{own}"
    );

    let builder = builder
        .env("NRI_HOST_SOCKET", "/from/env.sock")
        .env("NRI_HOST_LOG", "debug");
    for (arguments, key, line) in [
        (
            &[][..],
            "socket",
            "socket = \"/from/env.sock\" # NRI_HOST_SOCKET",
        ),
        (&[], "log", "log = \"debug\" # NRI_HOST_LOG"),
        (
            &["--socket", "/from/flag.sock"],
            "socket",
            "socket = \"/from/flag.sock\" # --socket",
        ),
        (&["--log", "off"], "log", "log = \"off\" # --log"),
        (&[], "required", "required = false # default"),
    ] {
        assert_eq!(whence(&builder, arguments, key).await?, line);
    }
    Ok(())
}

#[tokio::test]
async fn run_runs_what_is_good_and_says_what_is_not() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let record = Record::new(folder.path());
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = full_of_mistakes(runtime.socket(), &record).start()?;
    runtime.plugin("50-good").await?;
    assert_eq!(runtime.active(), ["50-good"]);
    for name in ["unknown-key", "missing-library", "wrong-type", "bad-index"] {
        let component = host.wait_state(name, State::Failed).await?;
        assert!(
            component.reason.is_some_and(|reason| !reason.is_empty()),
            "{name}"
        );
    }
    host.logged("20-broken.toml").await
}

#[tokio::test]
async fn a_mistake_in_the_host_s_own_sections_stops_it() -> Result<()> {
    for text in ["\n[runtiem]\n", "\nthis is not TOML\n"] {
        let mut host = Host::builder()
            .component(Component::faulty("good", 50, json!({})))
            .text(text)
            .start()?;
        let status = host.ended().await?;
        assert_eq!(
            status.code(),
            Some(BAD_CONFIGURATION),
            "{text:?}\n{}",
            host.log()
        );
        assert!(host.log().contains("nri-host.toml:"), "{}", host.log());
    }
    Ok(())
}

#[tokio::test]
async fn a_drop_in_adds_a_component_and_switches_one_off() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = Host::builder()
        .socket(runtime.socket())
        .component(Component::faulty("first", 10, json!({})))
        .component(Component::faulty("second", 20, json!({})))
        .drop_in(
            "10-more.toml",
            "[[component]]\nname = \"third\"\nindex = 30\nlibrary = \"libnri_faulty.so\"\n",
        )
        .drop_in(
            "20-less.toml",
            "[[component]]\nname = \"second\"\nenabled = false\n",
        )
        .start()?;
    runtime.plugins(&["10-first", "30-third"]).await?;
    host.wait_state("second", State::Disabled).await?;
    Ok(())
}

#[tokio::test]
async fn flags_win_over_the_environment_and_that_over_the_file() -> Result<()> {
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let socket = runtime.socket().display().to_string();
    let host = Host::builder()
        .socket(Path::new("/nowhere.sock"))
        .env("NRI_HOST_SOCKET", &socket)
        .component(Component::faulty("subject", 10, json!({})))
        .start()?;
    runtime.plugin("10-subject").await?;
    assert_eq!(host.status().await?.runtime.socket, socket);
    Ok(())
}

#[tokio::test]
async fn status_without_a_daemon_says_so() -> Result<()> {
    let finished = Host::builder().run(&["status"]).await?;
    assert_eq!(finished.code, Some(69), "{finished:?}");
    assert!(!finished.stderr.is_empty());
    Ok(())
}

#[tokio::test]
async fn an_unknown_command_is_a_usage_error() -> Result<()> {
    let finished = Host::builder().run(&["frobnicate"]).await?;
    assert_eq!(finished.code, Some(64), "{finished:?}");
    Ok(())
}
