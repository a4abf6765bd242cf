use std::sync::Arc;
use std::time::Duration;

use nri_plugin_api::abi::Method;
use nri_plugin_api::api;
use protobuf::Message as _;

use super::super::doing::Identity;
use super::super::record::Crash;
use super::*;
use crate::component::inspect::Digest;
use crate::runtime::session::{Call, Dialect};
use crate::runtime::traffic::Traffic;

const SEGV: Cause = Cause::Signal("SIGSEGV", Some(0xbeef));

fn call(namespace: &str, pod: &str, container: &str) -> Call {
    let mut request = api::CreateContainerRequest::new();
    let sandbox = request.pod.mut_or_insert_default();
    sandbox.namespace = namespace.into();
    sandbox.name = pod.into();
    request.container.mut_or_insert_default().name = container.into();
    Call {
        number: 3,
        method: Method::CreateContainer,
        dialect: Dialect::Dedicated,
        payload: request.write_to_bytes().unwrap(),
        time: Duration::from_secs(2),
        under_way: Arc::new(Traffic::default()).begin(),
    }
}

fn identity() -> Identity {
    Identity::new("10-gpu".to_owned(), &Digest::of(b"library"), "{}")
}

fn report<'a>(doing: Option<&'a Doing<'a>>, cause: Cause) -> Report<'a> {
    Report {
        doing,
        cause,
        thread: "nrih:gpu",
        only_library: None,
        time: 1_800_000_000,
    }
}

fn line(report: Report<'_>) -> String {
    let mut text = Text::<2048>::new();
    report.line(&mut text);
    String::from_utf8(text.as_bytes().to_vec()).unwrap()
}

fn record(report: Report<'_>) -> Crash {
    let mut text = Text::<3072>::new();
    report.record(&mut text);
    let (mut crashes, damaged) = Crash::read_all(text.as_bytes());
    assert!(!damaged && crashes.len() == 1, "{text:?}");
    crashes.remove(0)
}

#[test]
fn the_line_says_who_in_what_for_whom_and_how() {
    let (identity, create) = (identity(), call("shop", "web-0", "server"));
    for (step, cause, said) in [
        (
            Step::Handle(&create),
            SEGV,
            "crashed in CreateContainer for container server of pod shop/web-0: SIGSEGV at \
             address 0xbeef",
        ),
        (
            Step::Load,
            Cause::Signal("SIGABRT", None),
            "crashed in the constructors of its library: SIGABRT",
        ),
        (
            Step::Destroy,
            Cause::Exit(-1),
            "ended the process in destroy: exit(-1)",
        ),
    ] {
        let doing = Doing::Component(&identity, step);
        let expected = format!("nri-host: component 10-gpu {said}\n");
        assert_eq!(line(report(Some(&doing), cause)), expected);
    }
    let host = line(report(Some(&Doing::Host), SEGV));
    assert!(host.contains("the host itself"), "{host}");
    let only = Report {
        only_library: Some("/lib/libgpu.so"),
        ..report(None, SEGV)
    };
    assert!(line(only).contains("\"nrih:gpu\" that is not the host's; the only library"));
    assert!(line(report(None, SEGV)).contains("is not known"));
}

#[test]
fn a_record_is_read_back_as_it_was_meant() {
    let (identity, create) = (identity(), call("shop", "web-0", "server"));
    let doing = Doing::Component(&identity, Step::Handle(&create));
    let crash = record(report(Some(&doing), SEGV));
    let expected = Crash {
        time: 1_800_000_000,
        component: "10-gpu".into(),
        fingerprint: identity.fingerprint.clone(),
        step: "CreateContainer".into(),
        namespace: "shop".into(),
        pod: "web-0".into(),
        container: "server".into(),
        thread: "nrih:gpu".into(),
        cause: "SIGSEGV at address 0xbeef".into(),
    };
    assert_eq!(crash, expected);
    assert_eq!(record(report(None, SEGV)).component, "");
}

#[test]
fn names_from_outside_break_neither_line_nor_record() {
    let identity = identity();
    let quotes = "\"\\".repeat(1000);
    for name in ["a\nb\x1b[31m\0", "\"},{\"", &quotes, "ä\u{85}"] {
        let create = call(name, name, name);
        let doing = Doing::Component(&identity, Step::Handle(&create));
        let line = line(report(Some(&doing), SEGV));
        let inside = line.strip_suffix('\n').unwrap();
        assert!(!inside.bytes().any(|byte| byte < 0x20), "{line:?}");
        let crash = record(report(Some(&doing), SEGV));
        assert!(crash.pod.len() <= MAX_NAME);
        assert!(!crash.pod.contains(char::is_control));
        assert_eq!(crash.cause, "SIGSEGV at address 0xbeef");
    }
}

#[test]
fn a_text_that_is_full_still_ends_its_line() {
    let identity = identity();
    let doing = Doing::Component(&identity, Step::Create);
    let mut text = Text::<20>::new();
    report(Some(&doing), SEGV).line(&mut text);
    assert_eq!(text.as_bytes(), b"nri-host: component\n");
}

#[test]
fn numbers_are_written_as_elsewhere() {
    for number in [0, 9, 10, 4096, u64::MAX] {
        let mut text = Text::<64>::new();
        text.push_decimal(number);
        text.push(" ");
        text.push_hexadecimal(usize::try_from(number).unwrap());
        let expected = format!("{number} {number:x}");
        assert_eq!(text.as_bytes(), expected.as_bytes());
    }
}
