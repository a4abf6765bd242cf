//! `nri-host status`

use std::io::Write;

use clap::Args;

use super::CommonArgs;
use super::daemon::ask;
use super::output::print;
use crate::admin::client::ask_status;
use crate::exit::ExitReason;

/// The help of `status`.
pub(super) const ABOUT: &str = "\
Show the state of the running daemon and its components

A component is

  waiting      without a session, and gets one as soon as it can
  handshaking  being registered, configured or synchronized
  active       synchronized, and serves calls
  unsynced     serving calls, but it may have missed some
  overdue      not back from a call; its calls are answered for it
  quarantined  not called for a time, as it failed too often; its calls are answered for it
  failed       without an instance
  disabled     switched off in the configuration";

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub(super) struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows the state of the daemon.
pub(super) fn status(common: &CommonArgs, args: &StatusArgs, out: &mut dyn Write) -> ExitReason {
    let status = match ask(common, async |host| ask_status(host).await) {
        Ok(status) => status,
        Err(reason) => return reason,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&status).expect("its keys are strings") + "\n",
        false => status.to_string(),
    };
    print(&text, out)
}
