//! `nri-host reload`

use std::io::Write;

use clap::Args;

use super::CommonArgs;
use super::daemon::ask;
use super::output::print;
use crate::admin::client::ask_reload;
use crate::exit::ExitReason;

/// The help of `reload`.
pub(super) const ABOUT: &str = "\
Read the configuration and the libraries again, and run what they say by now

Waits until that is done, and says what became of each component:

  unchanged  it goes on
  changed    it goes on under other rules, such as another timeout
  restarted  its [component.config] or its library is another: a new instance has taken its place
  added      it is new
  removed    it is gone, or switched off
  failed     what the files say is not how it is, for the reason told; what ran before goes on

A mistake in the main file outside [[component]] changes nothing at all. SIGHUP does the same without
an answer.";

/// Arguments of `reload`.
#[derive(Clone, Debug, Args)]
pub(super) struct ReloadArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Has the daemon bring about what the files say by now.
pub(super) fn reload(common: &CommonArgs, args: &ReloadArgs, out: &mut dyn Write) -> ExitReason {
    let report = match ask(common, async |host| ask_reload(host).await) {
        Ok(report) => report,
        Err(reason) => return reason,
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&report).expect("its keys are strings") + "\n",
        false => report.to_string(),
    };
    let printed = print(&text, out);
    match report.is_complete() {
        true => printed,
        false => ExitReason::Failure,
    }
}
