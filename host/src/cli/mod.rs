//! The commands, one file each.

mod check;
mod component;
mod daemon;
mod inspect;
mod logging;
mod output;
mod reset;
mod run;
mod status;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use crate::child;
use crate::config::{self, DEFAULT_CONFIG_FILE, Overrides};
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
}

impl CommonArgs {
    /// What wins over the files.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            socket: self.socket.clone(),
            log: self.log,
        }
    }

    /// Reads the configuration.
    pub fn load(&self) -> config::Loaded {
        config::load(&self.config, &self.overrides())
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load the components and serve the container runtime
    Run,
    /// Check configuration and libraries, which are loaded in a process apart; connect to nothing
    Check,
    /// Say what component files are, without running their code
    Inspect(inspect::InspectArgs),
    /// Show the state of the running daemon and its components
    #[command(long_about = status::ABOUT)]
    Status(status::StatusArgs),
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
    let cli = match Cli::try_parse() {
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
        Command::Check => check::check(&cli.common, &mut out),
        Command::Inspect(args) => inspect::inspect(&args, &mut out),
        Command::Status(args) => status::status(&cli.common, &args, &mut out),
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
