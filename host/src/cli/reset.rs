//! `nri-host reset`

use std::io::Write;

use clap::Args;

use super::CommonArgs;
use super::daemon::ask;
use super::output::print;
use crate::admin::client::ask_reset;
use crate::exit::ExitReason;

/// Arguments of `reset`.
#[derive(Clone, Debug, Args)]
pub(super) struct ResetArgs {
    /// Its name in the configuration; where two share one, with the index of one: 10-device-injector
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Gives a component another chance.
pub(super) fn reset(common: &CommonArgs, args: ResetArgs, out: &mut dyn Write) -> ExitReason {
    let resets = match ask(common, async |host| ask_reset(host, args.name).await) {
        Ok(resets) => resets,
        Err(reason) => return reason,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&resets).expect("its keys are strings") + "\n",
        false => resets.iter().map(|reset| format!("{reset}\n")).collect(),
    };
    let printed = print(&text, out);
    match resets.iter().all(|reset| reset.problems.is_empty()) {
        true => printed,
        false => ExitReason::Failure,
    }
}
