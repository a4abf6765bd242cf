//! `nri-host status`

mod details;
mod table;
mod watch;
mod words;

use std::io::Write;
use std::time::Duration;

use clap::Args;

use super::CommonArgs;
use super::daemon::{Daemon, give_up};
use super::output::{print, tell};
use super::terminal::{Screen, plain};
use crate::admin::client::ask_status;
use crate::admin::status::{ComponentStatus, State, Status};
use crate::exit::ExitReason;

/// The help of `status`.
pub(super) const ABOUT: &str = "\
Show the state of the running daemon and its components

A component is

  waiting      without a session; it gets one as soon as it can
  handshaking  being registered, configured or synchronized
  active       synchronized, and serves calls
  unsynced     serving calls, but it may have missed some
  overdue      not back from a call, and answered for meanwhile
  quarantined  not called for a time, as it failed too often, and answered for
  failed       without an instance
  disabled     switched off in the configuration

Of its CALLS since the start of the daemon, some FAILED, were LATE, or were decisions against a pod \
or container (REJ). After panics it was created again (RST). Half of the calls took no longer than P50, \
and 99 of 100 than P99.";

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub(super) struct StatusArgs {
    /// Show all that is known of this component; where two share the name, with the index before it
    name: Option<String>,
    /// Print JSON; with --watch, one line each time
    #[arg(long)]
    json: bool,
    /// Show it again every so many seconds, until Ctrl-C
    #[arg(
        short,
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        default_missing_value = "2",
        value_parser = interval
    )]
    watch: Option<Duration>,
    /// Say in one line whether all required components are active, or the component NAME is; end with 1
    /// if not
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    ready: bool,
}

/// Seconds from a tenth to an hour.
fn interval(text: &str) -> Result<Duration, &'static str> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a number of seconds from 0.1 to 3600; the NAME of a component goes before"),
    }
}

/// Shows the state of the daemon.
pub(super) fn status(common: &CommonArgs, args: &StatusArgs, out: &mut dyn Write) -> ExitReason {
    match show(common, args, out) {
        Ok(reason) | Err(reason) => reason,
    }
}

fn show(
    common: &CommonArgs,
    args: &StatusArgs,
    out: &mut dyn Write,
) -> Result<ExitReason, ExitReason> {
    let daemon = Daemon::of(common)?;
    if let Some(every) = args.watch {
        return watch::watch(&daemon, args, every, out);
    }
    let status = daemon
        .ask(async |host| ask_status(host).await)
        .map_err(|error| give_up(&error))?;
    let status = selected(status, args)?;
    if args.ready {
        let (is_ready, said) = readiness(&status, args);
        let printed = print(&format!("{said}\n"), out);
        return Ok(match is_ready {
            true => printed,
            false => ExitReason::Failure,
        });
    }
    let text = match args.json {
        true => serde_json::to_string_pretty(&status).expect("its keys are strings"),
        false => lines(&status, args, &Screen::of_stdout()).join("\n"),
    };
    Ok(print(&(text + "\n"), out))
}

/// The status with those components alone that were asked for.
fn selected(mut status: Status, args: &StatusArgs) -> Result<Status, ExitReason> {
    let Some(name) = &args.name else {
        return Ok(status);
    };
    let components: Vec<_> = status.named(name).cloned().collect();
    if components.is_empty() {
        tell(&format!("nri-host: {}\n", status.unknown(name)));
        return Err(ExitReason::Usage);
    }
    status.components = components;
    Ok(status)
}

/// What people are shown.
fn lines(status: &Status, args: &StatusArgs, screen: &Screen) -> Vec<String> {
    if args.name.is_none() {
        return table::table(status, screen);
    }
    let components = status.components.iter();
    components
        .flat_map(|component| details::details(component, status, screen))
        .collect()
}

/// Whether what was asked for is ready, and in words; if not, why.
fn readiness(status: &Status, args: &StatusArgs) -> (bool, String) {
    let asked_for = status.components.iter();
    let missing: Vec<String> = asked_for
        .filter(|component| component.required || args.name.is_some())
        .filter(|component| !component.is_active())
        .map(what_it_is)
        .collect();
    let is_ready = match args.name {
        Some(_) => missing.is_empty(),
        None => status.ready,
    };
    let said = match (is_ready, missing.is_empty()) {
        (true, _) => "ready".to_owned(),
        (false, true) => "not ready".to_owned(),
        (false, false) => format!("not ready: {}", missing.join("; ")),
    };
    (is_ready, said)
}

fn what_it_is(component: &ComponentStatus) -> String {
    let state = component.state.map_or("unknown", State::as_str);
    let is = format!("{} is {state}", component.plugin());
    let said = match &component.reason {
        Some(reason) => format!("{is}: {reason}"),
        None => is,
    };
    plain(&said).into_owned()
}
