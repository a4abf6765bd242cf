//! `nri-host status`

use std::io::Write;

use clap::Args;

use super::{CommonArgs, complain};
use crate::admin::socket::ask_status;
use crate::admin::status::Status;
use crate::exit::ExitReason;

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub(super) struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows the state of the daemon.
pub(super) fn status(common: &CommonArgs, args: &StatusArgs, out: &mut dyn Write) -> ExitReason {
    // A mistake elsewhere in the configuration must not hide the state of what runs.
    let host = common
        .load()
        .config
        .map(|config| config.host)
        .unwrap_or_default();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&error);
            return ExitReason::Failure;
        }
    };
    match runtime.block_on(ask_status(&host)) {
        Ok(status) => print(&status, args.json, out),
        Err(error) => {
            complain(&error);
            ExitReason::Unavailable
        }
    }
}

fn print(status: &Status, json: bool, out: &mut dyn Write) -> ExitReason {
    let text = match json {
        true => serde_json::to_string_pretty(status).expect("its keys are strings") + "\n",
        false => status.to_string(),
    };
    match out.write_all(text.as_bytes()) {
        Ok(()) => ExitReason::Done,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitReason::Done,
        Err(error) => {
            complain(&error);
            ExitReason::Failure
        }
    }
}
