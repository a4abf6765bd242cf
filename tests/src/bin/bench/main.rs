//! `make bench`: what a call costs through nri-host, as the runtime sees it.
//!
//! Everything is measured through the reference runtime library, in rounds in
//! which the contestants take turns, and told as the ratio to a bare responder:
//! the median over the rounds of p50 by its p50. So a busy or slow machine
//! changes the times, but hardly the ratios.
//!
//! The exit status is 1 if a target is missed.

mod contestant;
mod measure;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use nri_host_tests::reference::{self, Pace};

use contestant::Contestant;
use measure::Work;
use report::{Race, Report};

/// Between sparse calls: nearer to a node's life than calls in a row.
const SPARSE: Duration = Duration::from_millis(8);

#[derive(Parser)]
struct Args {
    /// Rounds in which each contestant has its turn.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Calls of a turn.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..))]
    calls: u16,
    /// Only the races that have this in their name, and nothing else.
    #[arg(long)]
    only: Option<String>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(reason) = reference::missing() {
        bail!("the reference runtime cannot be built: {reason}");
    }
    // The harness starts hosts through tokio; everything else here blocks.
    let tokio = tokio::runtime::Runtime::new()?;
    let _entered = tokio.enter();

    let mut races = races(usize::from(args.calls));
    if let Some(part) = &args.only {
        races.retain(|race| race.what.contains(part.as_str()));
    }
    let mut report = Report::new(races);
    for round in 0..usize::from(args.rounds) {
        eprint_round(round + 1, usize::from(args.rounds));
        report.add_round(round)?;
    }
    if args.only.is_none() {
        report.measure_memory()?;
        report.measure_reconnecting()?;
        report.measure_idleness()?;
    }
    print(&report);
    Ok(if report.all_met() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn races(calls: usize) -> Vec<Race> {
    use Contestant::{BuiltIn, Floor, FloorOfLogged, Go, Injectors, Loggers};
    let dense = Work::Calls(Pace {
        warmup: calls / 5,
        calls,
        pause: Duration::ZERO,
    });
    let sparse = Work::Calls(Pace {
        warmup: 20,
        calls: calls.div_ceil(5),
        pause: SPARSE,
    });
    let everyone = || vec![Floor, Go, Injectors];
    let state = Work::Synchronize {
        pods: 1000,
        containers: 2000,
    };
    vec![
        Race::new("CreateContainer, 1 plugin", dense, 1, everyone(), 1.15),
        Race::new("CreateContainer, 4 plugins", dense, 4, everyone(), 1.15),
        Race::new("CreateContainer, 8 plugins", dense, 8, everyone(), 1.15),
        Race::new(
            "the same, 1 plugin, 8 ms apart",
            sparse,
            1,
            everyone(),
            1.15,
        ),
        Race::new(
            "CreateContainer, 4 loggers",
            dense,
            4,
            vec![FloorOfLogged, Loggers],
            1.3,
        ),
        Race::new(
            "the same, 4 loggers, 8 ms apart",
            sparse,
            4,
            vec![FloorOfLogged, Loggers],
            1.3,
        ),
        Race::new(
            "CreateContainer, the 4 built-in",
            dense,
            4,
            vec![Floor, Go, BuiltIn],
            1.3,
        ),
        Race::new("Synchronize, 1000 pods", state, 1, everyone(), 1.3),
        Race::new(
            "Synchronize, 1000 pods, logger",
            state,
            1,
            vec![FloorOfLogged, Loggers],
            1.3,
        ),
    ]
}

#[expect(clippy::print_stderr, reason = "a command's progress")]
fn eprint_round(round: usize, rounds: usize) {
    eprintln!("round {round} of {rounds}");
}

#[expect(clippy::print_stdout, reason = "a command's output")]
fn print(report: &Report) {
    println!("\n{report}");
}
