//! The component's own commands.

use std::io::Write as _;

use nri_plugin_api::{Command, CommandStatus, Error, Output};

use crate::{Faulty, Settings};

pub(crate) const COMMANDS: &[Command<Faulty>] = &[
    Command::new(
        "methods",
        "the methods that the configuration names",
        methods,
    ),
    Command::new("fail", "TEXT: fails with this text", fail),
    Command::new("panic", "panics", |_, _, _| panic!("as asked")),
];

fn methods(
    settings: &Settings,
    _args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    for method in settings.methods.iter().flatten() {
        writeln!(output, "{method}")?;
    }
    Ok(CommandStatus::DONE)
}

fn fail(
    _settings: &Settings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    let [text] = args else {
        output.complain("fail: one TEXT is needed");
        return Ok(CommandStatus::USAGE);
    };
    Err(Error::failed(text))
}
