//! The commands, one file each.

mod check;
mod component;
mod daemon;
mod doctor;
mod inspect;
mod log;
mod logging;
mod output;
mod reload;
mod reset;
mod run;
mod status;
mod terminal;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use crate::child;
use crate::config::{self, DEFAULT_CONFIG_FILE, Given, Overrides};
use crate::exit::ExitReason;

/// One process that connects to the container runtime as many NRI plugins.
#[derive(Debug, Parser)]
#[command(name = "nri-host", version, about, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Command,
}

/// What goes with every command.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// The configuration file; drop-ins are read from conf.d beside it
    #[arg(long, global = true, value_name = "FILE", env = "NRI_HOST_CONFIG", default_value = DEFAULT_CONFIG_FILE)]
    pub config: PathBuf,
    /// The runtime's NRI socket, instead of the configured one
    #[arg(long, global = true, value_name = "PATH", env = "NRI_HOST_SOCKET")]
    pub socket: Option<PathBuf>,
    /// What is logged: off, error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL", env = "NRI_HOST_LOG")]
    pub log: Option<LevelFilter>,
    /// `socket` is from the environment.
    #[arg(skip)]
    socket_from_environment: bool,
    /// `log` is from the environment.
    #[arg(skip)]
    log_from_environment: bool,
}

impl CommonArgs {
    /// Flags and variables look alike once they are read.
    fn note_origins(&mut self, matches: &ArgMatches) {
        let from_environment = |name| matches.value_source(name) == Some(ValueSource::EnvVariable);
        self.socket_from_environment = from_environment("socket");
        self.log_from_environment = from_environment("log");
    }

    /// What wins over the files.
    pub fn overrides(&self) -> Overrides {
        let by = |from_environment, variable, flag| match from_environment {
            true => variable,
            false => flag,
        };
        Overrides {
            socket: self.socket.clone().map(|value| Given {
                value,
                by: by(self.socket_from_environment, "NRI_HOST_SOCKET", "--socket"),
            }),
            log: self.log.map(|value| Given {
                value,
                by: by(self.log_from_environment, "NRI_HOST_LOG", "--log"),
            }),
        }
    }

    /// Reads the configuration.
    pub fn load(&self) -> config::Loaded {
        config::load(&self.config, &self.overrides())
    }

    /// Reads it, with what there is of it whatever is wrong.
    pub fn load_effective(&self) -> (config::Loaded, config::Effective) {
        config::load_effective(&self.config, &self.overrides())
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load the components and serve the container runtime
    Run,
    /// Check configuration and libraries; connect to nothing
    #[command(long_about = check::ABOUT)]
    Check(check::CheckArgs),
    /// Say what component files are, without running their code
    Inspect(inspect::InspectArgs),
    /// Show the state of the running daemon and its components
    #[command(long_about = status::ABOUT)]
    Status(status::StatusArgs),
    /// Show the last lines of the log about a component
    #[command(long_about = log::ABOUT)]
    Log(log::LogArgs),
    /// Look for what keeps components from working, and say what to do
    #[command(long_about = doctor::ABOUT)]
    Doctor(doctor::DoctorArgs),
    /// Read the files again, and run what they say by now
    #[command(long_about = reload::ABOUT)]
    Reload(reload::ReloadArgs),
    /// Call a component again that is in quarantine or could not be created
    Reset(reset::ResetArgs),
    /// Run a command that a component brings with it; without one, list those that it has
    #[command(long_about = component::ABOUT)]
    Component(component::ComponentArgs),
    /// What the program runs in a process apart; not for people
    #[command(hide = true)]
    Child(child::ChildArgs),
}

/// The command line, for what is made from it: manual pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command of this process' arguments.
pub fn main() -> ExitReason {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not mistakes. If nobody reads, nobody is to be told.
            let _ = error.print();
            return if error.use_stderr() {
                ExitReason::Usage
            } else {
                ExitReason::Done
            };
        }
    };
    let mut out = io::stdout().lock();
    let reason = match cli.command {
        Command::Run => run::run(&cli.common),
        Command::Check(args) => check::check(&cli.common, &args, &mut out),
        Command::Inspect(args) => inspect::inspect(&args, &mut out),
        Command::Status(args) => status::status(&cli.common, &args, &mut out),
        Command::Log(args) => log::log(&cli.common, &args, &mut out),
        Command::Doctor(args) => doctor::doctor(&cli.common, &args, &mut out),
        Command::Reload(args) => reload::reload(&cli.common, &args, &mut out),
        Command::Reset(args) => reset::reset(&cli.common, args, &mut out),
        Command::Component(args) => component::component(&cli.common, &args, &mut out),
        Command::Child(args) => child(&args),
    };
    match out.flush() {
        // A reader that went away, as in `nri-host status | head -1`, is no failure.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitReason::Failure,
        _ => reason,
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let matches = Cli::command().try_get_matches()?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.common.note_origins(&matches);
    Ok(cli)
}

fn child(args: &child::ChildArgs) -> ExitReason {
    match child::run(args) {
        Ok(()) => ExitReason::Done,
        Err(error) => {
            complain(&error);
            ExitReason::Failure
        }
    }
}

/// Says on standard error what went wrong.
#[expect(clippy::print_stderr, reason = "this is where commands report")]
fn complain(what: &dyn std::error::Error) {
    eprintln!("nri-host: {}", crate::chain(what));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }
}
