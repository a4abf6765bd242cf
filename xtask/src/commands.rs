//! The command line of `nri-host` as people see it.

use clap::Command;

/// The command line without hidden commands, which generators would write down.
pub(crate) fn for_people() -> Command {
    let all = nri_host::cli::command();
    let shown = all
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    Command::new("nri-host")
        // Of the workspace, as that of the host is.
        .version(env!("CARGO_PKG_VERSION"))
        .about(all.get_about().cloned().unwrap_or_default())
        .args(all.get_arguments())
        .subcommand_required(true)
        .subcommand_help_heading("COMMANDS")
        .subcommand_value_name("COMMAND")
        .subcommands(shown.cloned())
}
