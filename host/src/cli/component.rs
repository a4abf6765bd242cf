//! `nri-host component`

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use thiserror::Error;

use super::output::print;
use super::{CommonArgs, complain};
use crate::component::command::{CommandEnd, CommandHelp, Commands};
use crate::component::inspect::{InspectError, inspect};
use crate::component::load::{Libraries, Library, LoadError, Probe};
use crate::config::{BrokenComponent, ComponentConfig, Config, Loaded, nearest, plugin_name};
use crate::exit::ExitReason;

/// The help of `component`.
pub(super) const ABOUT: &str = "\
Run a command that a component brings with it; without one, list those that it has

The component's library is loaded into this process, apart from the daemon, which need not run. The
command gets the component's configuration and what follows its name; the exit status is its own.";

/// Arguments of `component`.
#[derive(Clone, Debug, Args)]
pub(super) struct ComponentArgs {
    /// Its name in the configuration; where two share one, with the index of one: 10-device-injector
    name: String,
    /// One of its commands, and what goes with it
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
}

/// Why a command was not run, or not to its end.
#[derive(Debug, Error)]
enum ComponentError {
    #[error("the configuration cannot be used:\n{0}")]
    Config(String),
    #[error("component {name:?} has mistakes in its configuration:\n{mistakes}")]
    Broken { name: String, mistakes: String },
    #[error("there is no component {name:?}{}", nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?")))]
    NoComponent {
        name: String,
        nearest: Option<String>,
    },
    #[error("{name:?} may be {}", plugins.join(" or "))]
    Ambiguous { name: String, plugins: Vec<String> },
    #[error("{library}")]
    Refused {
        library: String,
        #[source]
        source: InspectError,
    },
    #[error("{library}")]
    NotLoaded {
        library: String,
        #[source]
        source: Arc<LoadError>,
    },
    #[error("component {name:?} has no commands of its own")]
    NoCommands { name: String },
    #[error("component {name:?} has no command {command:?}; it has\n{list}")]
    NoCommand {
        name: String,
        command: String,
        list: String,
    },
    #[error("the command cannot be run")]
    Streams(#[from] std::io::Error),
}

impl ComponentError {
    fn exit_reason(&self) -> ExitReason {
        match self {
            Self::Config(_) | Self::Broken { .. } => ExitReason::BadConfig,
            Self::NoComponent { .. }
            | Self::Ambiguous { .. }
            | Self::NoCommands { .. }
            | Self::NoCommand { .. } => ExitReason::Usage,
            Self::Refused { .. } | Self::NotLoaded { .. } => ExitReason::BadFile,
            Self::Streams(_) => ExitReason::Failure,
        }
    }
}

/// Runs one of a component's own commands, or lists them.
///
/// This process is there for nothing else, so what the component's code does to it harms nobody:
/// there is no other process around it, signals reach it as they are, and the exit status is the
/// command's, also if it calls `exit`.
pub(super) fn component(
    common: &CommonArgs,
    args: &ComponentArgs,
    out: &mut dyn Write,
) -> ExitReason {
    run(common, args, out).unwrap_or_else(|error| {
        complain(&error);
        error.exit_reason()
    })
}

fn run(
    common: &CommonArgs,
    args: &ComponentArgs,
    out: &mut dyn Write,
) -> Result<ExitReason, ComponentError> {
    let loaded = common.load();
    let (config, component) = find(&loaded, &args.name)?;
    let library = load(config, &component.library)?;
    let name = args.name.clone();
    let commands = Commands::of(&library).ok_or(ComponentError::NoCommands { name })?;
    let Some(command) = args.command.first() else {
        return Ok(print(&table(&commands.list()), out));
    };
    Ok(
        match commands.run(&args.command, &component.config_json())? {
            CommandEnd::Exit(status) => ExitReason::Command(status),
            CommandEnd::Failed => ExitReason::Failure,
            // As with every command that is piped into `head`.
            CommandEnd::Unread => ExitReason::Done,
            CommandEnd::Unknown => {
                return Err(ComponentError::NoCommand {
                    name: args.name.clone(),
                    command: command.clone(),
                    list: table(&commands.list()).trim_end().to_owned(),
                });
            }
        },
    )
}

/// The component with this name, switched on or not. Mistakes elsewhere are no matter.
fn find<'a>(
    loaded: &'a Loaded,
    name: &str,
) -> Result<(&'a Config, &'a ComponentConfig), ComponentError> {
    let config = loaded
        .config
        .as_ref()
        .ok_or_else(|| ComponentError::Config(lines(&loaded.mistakes)))?;
    let name = name.to_owned();
    let is_meant = |broken: &&BrokenComponent| {
        let own = broken.name.as_deref().unwrap_or_default();
        own == name
            || broken
                .index
                .is_some_and(|index| plugin_name(index, own) == name)
    };
    // First, since it may be the one of two with this name that is meant.
    if let Some(broken) = loaded.broken.iter().find(is_meant) {
        let mistakes = lines(&broken.mistakes);
        return Err(ComponentError::Broken { name, mistakes });
    }
    let found: Vec<_> = config
        .components
        .iter()
        .filter(|component| component.name == name || component.plugin_name() == name)
        .collect();
    match found[..] {
        [component] => return Ok((config, component)),
        [] => {}
        _ => {
            let plugins = found.iter().map(|component| component.plugin_name());
            return Err(ComponentError::Ambiguous {
                name,
                plugins: plugins.collect(),
            });
        }
    }
    let names = config.components.iter().map(|other| other.name.as_str());
    let nearest = nearest(&name, names).map(str::to_owned);
    Err(ComponentError::NoComponent { name, nearest })
}

fn lines(mistakes: &[impl ToString]) -> String {
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Loads a library as the daemon would. It is tried out first: a constructor that never returns is
/// easier to understand with a word about it.
fn load(config: &Config, path: &Path) -> Result<Arc<Library>, ComponentError> {
    let library = path.display().to_string();
    let inspected = inspect(path).map_err(|source| ComponentError::Refused {
        library: library.clone(),
        source,
    })?;
    let state_dir = &config.host.state_dir;
    let probe = Probe::with_this_program().remembering(state_dir);
    Libraries::new(state_dir.clone(), probe)
        .load(&inspected)
        .map_err(|source| ComponentError::NotLoaded { library, source })
}

/// One line a command.
fn table(commands: &[CommandHelp]) -> String {
    let width = commands.iter().map(|command| command.name.len()).max();
    let width = width.unwrap_or(0);
    commands
        .iter()
        .map(|CommandHelp { name, help }| format!("{name:width$}  {help}\n"))
        .collect()
}
