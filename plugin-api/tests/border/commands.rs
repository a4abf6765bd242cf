//! Commands of a component's own.

use std::io::Write as _;

use nri_plugin_api::testing::{CommandOutcome, Value, commands, json, run_command};
use nri_plugin_api::{Command, CommandStatus, Component, Error, Host, NoConfig, Output};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    word: String,
}

struct Talker;

#[nri_plugin_api::component(id = "com.example.talker", no_export)]
impl Component for Talker {
    type Config = Settings;
    const COMMANDS: &'static [Command<Self>] = &[
        Command::new("say", "WORDS...: says them", say),
        Command::new("fill", "BYTES: writes so many", fill),
        Command::new("fail", "fails", |_, _, output| {
            write!(output, "so far")?;
            Err(Error::failed("as asked").context("failing"))
        }),
        Command::new("panic", "panics", |_, _, _| panic!("as asked")),
    ];

    fn create(_: Settings, _: Host) -> Result<Self, Error> {
        Err(Error::failed("no command needs an instance"))
    }
}

fn say(
    config: &Settings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    writeln!(output, "{} {}", config.word, args.join(" "))?;
    if args.is_empty() {
        output.complain("no words");
        writeln!(output, "usage")?;
        return Ok(CommandStatus::USAGE);
    }
    Ok(CommandStatus::new(7))
}

fn fill(_: &Settings, args: &[String], output: &mut Output<'_>) -> Result<CommandStatus, Error> {
    let mut left: usize = args[0].parse()?;
    while left > 0 {
        let some = left.min(1000);
        output.write_all(&vec![b'x'; some])?;
        left -= some;
    }
    Ok(CommandStatus::DONE)
}

fn run(args: &[&str]) -> CommandOutcome {
    run_command::<Talker>(&json!({ "word": "hello" }), args)
}

fn outcome(status: CommandStatus, output: &str, errors: &str) -> CommandOutcome {
    CommandOutcome {
        status,
        output: output.to_owned(),
        errors: errors.to_owned(),
    }
}

#[test]
fn commands_are_listed_in_order() {
    let names: Vec<String> = commands::<Talker>()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["say", "fill", "fail", "panic"]);
    assert_eq!(commands::<Talker>()[0].1, "WORDS...: says them");
}

#[test]
fn a_command_gets_the_configuration_and_its_arguments_and_tells_its_exit_status() {
    assert_eq!(
        run(&["say", "wide", "world"]),
        outcome(CommandStatus::new(7), "hello wide world\n", "")
    );
    assert_eq!(
        run(&["say"]),
        outcome(CommandStatus::USAGE, "hello \nusage\n", "no words\n")
    );
}

#[test]
fn long_output_arrives_whole() {
    let written = run(&["fill", "100001"]);
    assert_eq!(
        (written.status, written.output.len()),
        (CommandStatus::DONE, 100_001)
    );
}

#[test]
fn an_error_is_written_after_the_output_with_its_context() {
    assert_eq!(
        run(&["fail"]),
        outcome(CommandStatus::FAILED, "so far", "failing: as asked\n")
    );
}

#[test]
fn a_panic_is_a_failure() {
    assert_eq!(run(&["panic"]), outcome(CommandStatus::FAILED, "", ""));
}

#[test]
fn mistakes_in_the_configuration_are_told_by_key_before_the_command_runs() {
    let config: Value = json!({ "word": 5 });
    let refused = run_command::<Talker>(&config, &["say"]);
    assert_eq!(refused.status, CommandStatus::BAD_CONFIG);
    assert_eq!(refused.output, "");
    assert!(
        refused
            .errors
            .starts_with("the configuration is wrong: word: "),
        "{}",
        refused.errors
    );
}

#[test]
#[should_panic(expected = "there is no such command")]
fn another_name_is_no_command() {
    let _ = run(&["sing"]);
}

#[test]
fn a_component_without_commands_does_not_have_the_interface() {
    struct Silent;
    #[nri_plugin_api::component(id = "com.example.silent", no_export)]
    impl Component for Silent {
        type Config = NoConfig;
        fn create(_: NoConfig, _: Host) -> Result<Self, Error> {
            Ok(Self)
        }
    }
    assert!(commands::<Silent>().is_empty());
}
