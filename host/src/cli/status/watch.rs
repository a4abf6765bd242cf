//! `--watch`: the status again and again, until somebody ends it.

use std::io::Write;
use std::thread;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;

use super::{StatusArgs, lines, selected};
use crate::admin::client::{AskError, ask_status};
use crate::admin::status::Status;
use crate::cli::daemon::Daemon;
use crate::cli::output::{print_part, tell};
use crate::cli::terminal::{BAD, Screen, UNIMPORTANT, plain};
use crate::exit::ExitReason;

/// To the upper left corner.
const HOME: &str = "\x1b[H";
/// Erases what stands in the line.
const ERASE_LINE: &str = "\x1b[2K";
/// Erases what stands behind the cursor and below it.
const ERASE_BELOW: &str = "\x1b[J";

/// Shows the status every so often; whether there is a daemon or not. It ends when nobody reads on, or
/// the component that was asked for is not there; Ctrl-C ends the process.
pub(super) fn watch(
    daemon: &Daemon,
    args: &StatusArgs,
    every: Duration,
    out: &mut dyn Write,
) -> Result<ExitReason, ExitReason> {
    let mut trouble = None;
    let mut is_first = true;
    loop {
        let asked = daemon.ask(async |host| ask_status(host).await);
        let asked = match asked {
            Ok(status) => Ok(selected(status, args)?),
            Err(error) => Err(error),
        };
        let screen = Screen::of_stdout();
        let text = match args.json {
            true => document(asked, &mut trouble),
            false => frame(asked, args, every, &screen, is_first),
        };
        print_part(&text, out)?;
        is_first = false;
        thread::sleep(every);
    }
}

/// A line of JSON; nothing while there is no daemon, which is told once.
fn document(asked: Result<Status, AskError>, trouble: &mut Option<String>) -> String {
    match asked {
        Ok(status) => {
            *trouble = None;
            serde_json::to_string(&status).expect("its keys are strings") + "\n"
        }
        Err(error) => {
            let error = crate::chain(&error);
            if trouble.as_ref() != Some(&error) {
                tell(&format!("nri-host: {error}\n"));
                *trouble = Some(error);
            }
            String::new()
        }
    }
}

fn frame(
    asked: Result<Status, AskError>,
    args: &StatusArgs,
    every: Duration,
    screen: &Screen,
    is_first: bool,
) -> String {
    let now = format_rfc3339_seconds(SystemTime::now());
    let title = format!("{now}, every {every:?}");
    let mut shown = vec![screen.paint(&title, UNIMPORTANT).into_owned()];
    match asked {
        Ok(status) => shown.extend(lines(&status, args, screen)),
        Err(error) => {
            let error = crate::chain(&error);
            let lines = screen.wrap(&plain(&error), "", 2, usize::MAX);
            shown.extend(
                lines
                    .iter()
                    .map(|line| screen.paint(line, BAD).into_owned()),
            );
        }
    }
    match screen.height {
        Some(height) => over_the_last(shown, height, is_first),
        None => shown.join("\n") + "\n\n",
    }
}

/// What puts lines in the place of what the terminal shows, in one go: nothing is blank in between.
/// Before the first ones, what stands there is scrolled out of the way.
fn over_the_last(mut lines: Vec<String>, height: usize, is_first: bool) -> String {
    // The cursor comes to stand in a line of its own.
    let room = height.saturating_sub(1).max(1);
    if lines.len() > room {
        let more = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(format!("… {more} lines more"));
    }
    let mut text = match is_first {
        true => "\n".repeat(room),
        false => String::new(),
    };
    text += HOME;
    let last = lines.pop().unwrap_or_default();
    for line in lines {
        text += &format!("{ERASE_LINE}{line}\n");
    }
    // A line break last: what follows it would be written apart.
    text + &format!("{ERASE_BELOW}{last}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_the_place_of_the_one_before_and_no_more_lines_than_there_are() {
        let lines = |count| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(
            over_the_last(lines(2), 4, false),
            "\x1b[H\x1b[2K0\n\x1b[J1\n"
        );
        assert_eq!(
            over_the_last(lines(2), 4, true),
            "\n\n\n\x1b[H\x1b[2K0\n\x1b[J1\n"
        );
        assert_eq!(
            over_the_last(lines(5), 4, false),
            "\x1b[H\x1b[2K0\n\x1b[2K1\n\x1b[J… 3 lines more\n"
        );
    }
}
