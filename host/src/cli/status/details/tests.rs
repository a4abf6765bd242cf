use unicode_width::UnicodeWidthStr;

use super::*;
use crate::admin::status::{RuntimeStatus, State};
use crate::component::health::{Health, HealthProblem};
use crate::component::last_errors::LastError;
use crate::component::latency::Latency;
use crate::component::outbox::UpdateCounts;

const TERMINAL: Screen = Screen {
    width: Some(80),
    height: None,
    colours: false,
};

fn shown(component: &ComponentStatus, screen: &Screen) -> String {
    let status = Status {
        version: "1.2.3".into(),
        pid: 7,
        ready: true,
        runtime: RuntimeStatus {
            socket: "/run/nri.sock".into(),
            name: Some("containerd".into()),
            version: Some("2.4.2".into()),
            nri_version: Some("0.12.3".into()),
            request_timeout_ms: Some(2500),
            ..RuntimeStatus::default()
        },
        components: Vec::new(),
    };
    details(component, &status, screen).join("\n")
}

fn gpu() -> ComponentStatus {
    let error = |seconds_ago, text: &str| LastError {
        seconds_ago,
        text: text.into(),
    };
    ComponentStatus {
        name: Some("gpu".into()),
        index: Some(5),
        state: Some(State::Active),
        since_seconds: Some(7500),
        required: true,
        library: Some("/usr/lib/nri-host/components/libgpu.so".into()),
        digest: Some("0123456789abcdef".repeat(4)),
        id: Some("com.acme.gpu".into()),
        version: Some("1.4.0".into()),
        events: Some(0b1001),
        last_errors: vec![
            error(7, "CreateContainer: no"),
            error(192, "StopContainer: no"),
        ],
        health: Some(Health {
            summary: "3 of 4 devices".into(),
            problems: vec![HealthProblem {
                message: "no such field".into(),
                file: Some("/etc/gpu.json".into()),
                line: Some(12),
            }],
            problems_total: 1,
        }),
        counts: Some(Counts {
            calls: 12_345,
            calls_by_method: [("CreateContainer".to_owned(), 12_345)].into(),
            failures: 3,
            failures_by_kind: FailureCounts {
                errors: 2,
                panics: 1,
                ..FailureCounts::default()
            },
            connections: 3,
            sessions: 2,
            created_while_away: 1,
            ..Counts::default()
        }),
        latency: Some(Latency {
            p50_us: 95,
            p99_us: 1_250,
            max_us: 20_000,
        }),
        updates: Some(UpdateCounts::default()),
        ..ComponentStatus::default()
    }
}

#[test]
fn all_that_is_known_is_told() {
    let expected = "\
05-gpu: active for 2h05m
  required    yes: the host is not ready while it is not active
  runtime     containerd 2.4.2 (NRI 0.12.3) at /run/nri.sock; waits 2s 500ms for
              an answer
  library     /usr/lib/nri-host/components/libgpu.so
  sha256      0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  is          com.acme.gpu 1.4.0
  events      RunPodSandbox, CreateContainer
  calls       12345 (CreateContainer 12345)
  latency     half of the calls within 95µs, 99 % within 1.2ms, all within 20ms
  failed      3 (errors 2, panics 1)
  sessions    2 (of 3 connections)
  late        0
  missed      0
  unseen      1 (containers created while it had no session)
  ignored     0
  rejected    0
  restarts    0
  updates     0 queued, 0 sent, 0 failed, 0 dropped
  says        3 of 4 devices
              /etc/gpu.json:12: no such field
  last errors 7s ago: CreateContainer: no
              3m12s ago: StopContainer: no";
    assert_eq!(shown(&gpu(), &TERMINAL), expected);
}

#[test]
fn of_one_that_is_not_run_there_is_the_reason() {
    let broken = ComponentStatus {
        name: Some("gpu".into()),
        state: Some(State::Failed),
        reason: Some("gpu.toml:3: index: is missing".into()),
        ..ComponentStatus::default()
    };
    let expected = "\
gpu: failed
  reason      gpu.toml:3: index: is missing
  required    no
  runtime     containerd 2.4.2 (NRI 0.12.3) at /run/nri.sock; waits 2s 500ms for
              an answer";
    assert_eq!(shown(&broken, &TERMINAL), expected);
}

#[test]
fn nothing_is_cut_and_everything_fits_80_columns() {
    let reason = "gpu.toml:3: index: is missing, and so is much else; ".repeat(20);
    let library = "/x".repeat(200);
    let component = ComponentStatus {
        reason: Some(reason.clone()),
        library: Some(library.clone()),
        ..gpu()
    };
    let text = shown(&component, &TERMINAL);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert!(words(&text).contains(&words(&reason)), "{text}");
    assert!(words(&text).contains(&library), "{text}");
}
