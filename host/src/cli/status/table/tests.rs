use super::*;
use crate::component::counters::Counts;
use crate::component::last_errors::LastError;
use crate::component::latency::Latency;

const TERMINAL: Screen = Screen {
    width: Some(80),
    height: Some(24),
    colours: false,
};
const PIPE: Screen = Screen {
    width: None,
    height: None,
    colours: false,
};

fn component(name: &str, index: u8, state: State) -> ComponentStatus {
    ComponentStatus {
        name: Some(name.into()),
        index: Some(index),
        state: Some(state),
        since_seconds: Some(7500),
        counts: Some(Counts::default()),
        ..ComponentStatus::default()
    }
}

fn shown(components: Vec<ComponentStatus>, screen: &Screen) -> Vec<String> {
    let status = Status {
        version: "1.2.3".into(),
        pid: 7,
        ready: false,
        runtime: RuntimeStatus {
            socket: "/run/nri.sock".into(),
            trouble: Some("nobody listens".into()),
            ..RuntimeStatus::default()
        },
        components,
    };
    table(&status, screen)
}

/// What is shown below host and runtime.
fn rows(components: Vec<ComponentStatus>, screen: &Screen) -> Vec<String> {
    shown(components, screen).split_off(3)
}

#[test]
fn it_begins_with_the_host_and_what_is_in_the_way_to_the_runtime() {
    assert_eq!(
        shown(Vec::new(), &TERMINAL),
        [
            "nri-host 1.2.3 (pid 7), not ready",
            "runtime: /run/nri.sock: nobody listens",
            "",
            "IDX COMPONENT STATE        SINCE CALLS FAILED LATE  REJ  RST   P50   P99",
        ]
    );
}

#[test]
fn each_component_has_a_row_of_figures() {
    let mut gpu = component("gpu", 5, State::Active);
    gpu.counts = Some(Counts {
        calls: 1_234_567,
        failures: 12,
        late: 3,
        rejections: 12_345,
        recreated: 1,
        ..Counts::default()
    });
    gpu.latency = Some(Latency {
        p50_us: 95,
        p99_us: 1_250,
        max_us: 20_000,
    });
    let idle = component("device-injector", 10, State::Waiting);
    assert_eq!(
        rows(vec![gpu, idle], &TERMINAL),
        [
            "IDX COMPONENT       STATE        SINCE CALLS FAILED LATE  REJ  RST   P50   P99",
            " 05 gpu             active       2h05m 1234k     12    3  12k    1  95µs 1.2ms",
            " 10 device-injector waiting      2h05m     0      0    0    0    0     -     -",
        ]
    );
}

#[test]
fn below_its_row_stands_why_it_is_not_active() {
    let quarantined = ComponentStatus {
        reason: Some("5 of its calls failed".into()),
        last_errors: vec![LastError {
            seconds_ago: 7,
            text: "CreateContainer for the node: no".into(),
        }],
        quarantine_left_seconds: Some(592),
        ..component("gpu", 5, State::Quarantined)
    };
    assert_eq!(
        rows(vec![quarantined], &TERMINAL)[2..],
        [
            "    5 of its calls failed",
            "    not called for 9m52s more: `nri-host reset gpu` ends it",
            "    last error, 7s ago: CreateContainer for the node: no",
        ]
    );
}

#[test]
fn what_a_component_says_of_itself_is_shown_with_file_and_line() {
    let problem = |file: &str, line| HealthProblem {
        message: "no such stage".into(),
        file: Some(file.into()).filter(|file: &String| !file.is_empty()),
        line,
    };
    let component = ComponentStatus {
        health: Some(Health {
            summary: "11 hooks".into(),
            problems: [("/a.json", Some(7)), ("/b.json", None), ("", None)]
                .into_iter()
                .map(|(file, line)| problem(file, line))
                .cycle()
                .take(12)
                .collect(),
            problems_total: 120,
        }),
        ..component("hooks", 5, State::Active)
    };
    assert_eq!(
        rows(vec![component], &TERMINAL)[2..],
        [
            "    says: 11 hooks",
            "    /a.json:7: no such stage",
            "    /b.json: no such stage",
            "    no such stage",
            "    and 117 more",
        ]
    );
}

/// Long names, wide ones, long reasons, and words that would command the terminal.
fn awkward() -> Vec<ComponentStatus> {
    let reason = "gpu.toml:3: index: is missing, and so is much else; ".repeat(20);
    let mut components: Vec<_> = (0..8)
        .map(|n| ComponentStatus {
            reason: Some(reason.clone()),
            ..component(
                &format!("a-component-with-a-long-name-{n}"),
                n,
                State::Failed,
            )
        })
        .collect();
    components.push(ComponentStatus {
        name: Some("部品部品部品部品部品".into()),
        reason: Some("\x1b[2J\x1b[31m\r\nactive \u{202e}".into()),
        ..component("", 9, State::Failed)
    });
    components.push(ComponentStatus::default());
    components
}

#[test]
fn everything_fits_80_columns() {
    let lines = shown(awkward(), &TERMINAL);
    for line in &lines {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
        assert!(!line.contains(char::is_control), "{line:?}");
    }
    let row = |start: &str| lines.iter().find(|line| line.starts_with(start));
    assert!(row(" 00 a-component-with… failed ").is_some(), "{lines:?}");
    assert!(row(" 09 部品部品部品部品… failed ").is_some(), "{lines:?}");
    assert!(row(" -- (no name)         unknown ").is_some(), "{lines:?}");
    let escaped = "    \\u{1b}[2J\\u{1b}[31m\\r\\nactive \\u{202e}";
    assert!(lines.iter().any(|line| line == escaped), "{lines:?}");
    let cut = lines.iter().filter(|line| line.ends_with('…')).count();
    assert_eq!(cut, 8, "{lines:?}");
}

#[test]
fn a_narrow_terminal_gets_the_most_important_columns() {
    let screen = Screen {
        width: Some(50),
        ..TERMINAL
    };
    for line in shown(awkward(), &screen) {
        assert!(line.width() <= 50, "{line}");
    }
    assert_eq!(
        rows(vec![component("gpu", 5, State::Active)], &screen),
        [
            "IDX COMPONENT STATE        SINCE CALLS FAILED LATE",
            " 05 gpu       active       2h05m     0      0    0",
        ]
    );
}

#[test]
fn a_pipe_gets_every_word_in_one_line_each() {
    let components = awkward();
    let lines = rows(components.clone(), &PIPE);
    assert_eq!(lines.len(), 1 + components.len() + 9);
    for component in &components[..8] {
        assert!(
            lines
                .iter()
                .any(|l| l.contains(component.name.as_deref().unwrap()))
        );
        let reason = format!("    {}", component.reason.as_deref().unwrap());
        assert!(lines.contains(&reason), "{lines:?}");
    }
}

#[test]
fn colours_are_put_on_states_and_on_what_went_wrong_only() {
    let screen = Screen {
        colours: true,
        ..TERMINAL
    };
    let mut gpu = component("gpu", 5, State::Overdue);
    gpu.counts = Some(Counts {
        late: 3,
        ..Counts::default()
    });
    let rows = rows(vec![gpu], &screen);
    assert!(!rows[0].contains('\x1b'), "{rows:?}");
    assert_eq!(
        rows[1].replace("\x1b[0m", "|").replace('\x1b', "^"),
        " 05 gpu       ^[1m^[31moverdue    |  2h05m     0      0 ^[33m   3|    0    0     -     -"
    );
}
