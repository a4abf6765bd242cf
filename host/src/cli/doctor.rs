//! `nri-host doctor`

mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::output::print;
use super::terminal::Screen;
use super::{CommonArgs, complain};
use crate::doctor::examine;
use crate::exit::ExitReason;

/// The help of `doctor`.
pub(super) const ABOUT: &str = "\
Look for what keeps components from working, and say what to do

Looks at the configuration and libraries of nri-host, at the container runtimes of the node and
their configuration, at the socket between them, at the service and at the daemon, which need not
run. Nothing is changed. What is found is one of

  ok       as it should be
  unknown  it could not be looked at, and why
  warning  it works, and may not for ever or for everyone
  problem  it keeps components from working

The exit status is 1 if there is a problem, else 0.";

/// Arguments of `doctor`.
#[derive(Clone, Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Where the root folder of the node is seen: for the files of runtimes and of systemd, /proc and
    /// /sys. Files of nri-host and the socket are where they always are
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

/// Looks at everything and says what it found.
pub(super) fn doctor(common: &CommonArgs, args: &DoctorArgs, out: &mut dyn Write) -> ExitReason {
    let report = match examine(&common.load(), &common.config, &args.root) {
        Ok(report) => report,
        Err(error) => {
            complain(&error);
            return ExitReason::Usage;
        }
    };
    let text = match args.json {
        true => serde_json::to_string_pretty(&report).expect("its keys are strings") + "\n",
        false => text::text(&report, &Screen::of_stdout()),
    };
    match print(&text, out) {
        ExitReason::Done if report.has_problems() => ExitReason::Failure,
        reason => reason,
    }
}
